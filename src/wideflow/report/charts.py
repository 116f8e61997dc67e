"""Small charts and tables as HTML and SVG, without a script; every text from outside is escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

_WIDTH, _HEIGHT = 420.0, 150.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 48.0, 12.0, 12.0, 26.0


def line_chart(title: str, unit: str, x: Sequence[float], y: Sequence[float], alternative: str) -> str:
    """A line over moments, with a mark that the page moves to the moment it shows.

    Parameters
    ----------
    title, unit : str
        What is drawn, and in what.
    x, y : sequence of float
        Moment and value.
    alternative : str
        The chart in words, for those who do not see it.
    """
    low, high = _limits(y)
    last = max(float(x[-1]), 1.0)
    inner = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    points = [
        (_LEFT + inner[0] * a / last, _TOP + inner[1] * (1 - (b - low) / (high - low)))
        for a, b in zip(x, y, strict=True)
        if math.isfinite(b)
    ]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    dots = (
        "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5"/>' for a, b in points) if len(points) < 40 else ""
    )
    ticks = "".join(
        f'<line class="rule" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{b:.1f}" y2="{b:.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{b + 4:.1f}" text-anchor="end">{_short(value)}</text>'
        for value, b in ((low, _TOP + inner[1]), ((low + high) / 2, _TOP + inner[1] / 2), (high, _TOP))
    )
    foot = "".join(
        f'<text x="{_LEFT + inner[0] * a / last:.1f}" y="{_HEIGHT - 8}" text-anchor="{anchor}">{a:g}</text>'
        for a, anchor in ((0.0, "start"), (last, "end"))
    )
    return (
        f'<figure class="chart"><figcaption><b>{escape(title)}</b> <span>{escape(unit)}</span></figcaption>'
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(alternative)}" '
        f'data-left="{_LEFT:g}" data-inner="{inner[0]:g}" data-last="{last:g}">{ticks}{foot}'
        f'<line class="cursor" x1="{_LEFT}" x2="{_LEFT}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        f'<polyline points="{line}"/>{dots}</svg></figure>'
    )


def _limits(y: Sequence[float]) -> tuple[float, float]:
    finite = [value for value in y if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    # a trembling line must not look like an earthquake: the scale spans at least a tenth of the value
    room = max(0.1 * (high - low), 0.05 * abs(high), 1e-9)
    return low - room if low - room > 0 or low < 0 else 0.0, high + room


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def bars(rows: Sequence[tuple[str, float]], unit: str) -> str:
    """Named lengths, longest possible line for the largest."""
    largest = max((value for _, value in rows), default=0) or 1
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="number">{_short(value)} {escape(unit)}</td>'
        f'<td class="bar" aria-hidden="true"><i style="width:{100 * value / largest:.1f}%"></i></td></tr>'
        for name, value in rows
    )
    return f'<table class="bars">{lines}</table>'


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values."""
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows
    )
    return f'<table class="facts">{lines}</table>'


def flattened(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """A nested dictionary as rows: ``match.particles``, ``3``."""
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            rows += flattened(value, f"{name}.")
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(_text(item) for item in value)))
        else:
            rows.append((name, _text(value)))
    return rows


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "none" if value is None else str(value)


def series_words(name: str, values: Sequence[float], unit: str) -> str:
    """A series in words: from the first value to the last, and its range."""
    finite = np.array([value for value in values if math.isfinite(value)] or [0.0])
    return (
        f"{name} over time: starts at {finite[0]:.3g} {unit}, ends at {finite[-1]:.3g} {unit}, "
        f"between {finite.min():.3g} and {finite.max():.3g} {unit}"
    )
