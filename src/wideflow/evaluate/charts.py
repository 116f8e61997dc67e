"""Line and bar charts as SVG text, for pages and papers: no script, no font file, no plotting library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#a8322d", "#2b5fa3", "#2c7d4f", "#8a5a00", "#6a3d9a", "#3b3b3b")
_HEIGHT = 280.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 16.0, 34.0, 46.0
_FOOT = _HEIGHT - 10  # height of the line with label and key
_LETTER = 6.5  # width of one, about
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Chart:
    """One pair of axes.

    Attributes
    ----------
    title, x_label, y_label : str
    x : sequence of float or of str
        Places of the values; texts stand side by side.
    lines : mapping of str to sequence of float
        Values of each line, one a place; NaN leaves a gap.
    bars : bool
        Draw bars beside each other instead of lines.
    marks : sequence of float
        Heights at which a dashed line is drawn, such as a limit.
    zero : bool
        Let the heights start at zero.
    """

    title: str
    x_label: str
    y_label: str
    x: Sequence[float] | Sequence[str]
    lines: Mapping[str, Sequence[float]]
    bars: bool = False
    marks: Sequence[float] = ()
    zero: bool = True


def draw(charts: Sequence[Chart], columns: int = 2, width: float = 460.0) -> str:
    """The charts side by side as the text of an SVG file; each has this width."""
    columns = max(1, min(columns, len(charts)))
    one = _HEIGHT + max((_sag(chart, width) for chart in charts), default=0.0)
    parts = []
    for number, chart in enumerate(charts):
        row, column = divmod(number, columns)
        place = f"translate({column * width:g} {row * one:g})"
        parts.append(f'<g transform="{place}">{_draw(chart, width)}</g>')
    whole, height = columns * width, math.ceil(len(charts) / columns) * one
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole:g}" height="{height:g}" '
        f'viewBox="0 0 {whole:g} {height:g}" font-family="sans-serif" font-size="12" fill="#222">'
        f'<rect width="{whole:g}" height="{height:g}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


@dataclass(frozen=True)
class _Frame:
    """Where values lie in a chart of some width."""

    width: float
    span: tuple[float, float]
    ticks: Sequence[float]

    def x(self, value: float) -> float:
        return _LEFT + (self.right - _LEFT) * (value - self.span[0]) / (self.span[1] - self.span[0])

    def y(self, value: float) -> float:
        share = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share

    @property
    def right(self) -> float:
        return self.width - _RIGHT


def _sag(chart: Chart, width: float) -> float:
    """Room that names need below a chart where they do not fit side by side and are turned; 0 if they fit."""
    longest = max((_LETTER * len(x) for x in chart.x if isinstance(x, str)), default=0.0)
    return 0.0 if longest < (width - _LEFT - _RIGHT) / max(len(chart.x), 1) else 0.8 * longest


def _draw(chart: Chart, width: float) -> str:
    texts = any(isinstance(value, str) for value in chart.x)
    places = [float(i) for i in range(len(chart.x))] if texts else [float(value) for value in chart.x]
    frame = _frame(chart, places, texts, width)
    names = [(t, f"{t:g}") for t in _x_ticks(places)]
    if texts:
        names = [(place, str(name)) for place, name in zip(places, chart.x, strict=True)]
    middle, sag = (_LEFT + frame.right) / 2, _sag(chart, width)
    foot, below = _FOOT + sag, _HEIGHT - _BOTTOM + 16
    out = [_text(middle, 18, chart.title, "middle", "font-weight='bold'")]
    out += [_rule(frame, tick, f"{tick:g}") for tick in frame.ticks]
    for place, name in names:
        x = frame.x(place) + (5 if sag else 0)
        turned = f"transform='rotate(-50 {x:.1f} {below:g})'" if sag else ""
        out.append(_text(x, below, name, "end" if sag else "middle", turned))
    keyed = len(chart.lines) > 1  # the key shares the line of the label
    out.append(_text(_LEFT if keyed else middle, foot, chart.x_label, "start" if keyed else "middle"))
    turn = f"transform='rotate(-90 14 {_HEIGHT / 2:g})'"
    out.append(_text(14, _HEIGHT / 2, chart.y_label, "middle", turn))
    out += [_rule(frame, mark, "", "#666' stroke-dasharray='5 4") for mark in chart.marks]
    for number, line in enumerate(chart.lines.values()):
        points = [(frame.x(a), frame.y(b)) for a, b in zip(places, line, strict=True) if math.isfinite(b)]
        colour = COLOURS[number % len(COLOURS)]
        if chart.bars:
            room = 0.8 * (frame.right - _LEFT) / max(len(places), 1)
            out.append(_bars(points, frame.y(0), room, number, len(chart.lines), colour))
        else:
            out.append(_line(points, colour))
    if keyed:
        out.append(_key(frame, list(chart.lines), foot))
    return "".join(out)


def _frame(chart: Chart, places: Sequence[float], texts: bool, width: float) -> _Frame:
    values = [v for line in chart.lines.values() for v in line if math.isfinite(v)] + list(chart.marks)
    low, high = min(values, default=0.0), max(values, default=1.0)
    if chart.zero or chart.bars:
        low, high = min(0.0, low), max(0.0, high)
    if texts:
        span = (-0.5, len(places) - 0.5)
    elif min(places) < max(places):
        span = (min(places), max(places))
    else:
        span = (places[0] - 1, places[0] + 1)
    room = 1e-6 * max(abs(low), abs(high), 1e-3)  # a flat line has no scale of its own
    return _Frame(width, span, _ticks(low, high if high - low > room else low + max(1.0, 2 * room)))


def _line(points: Sequence[tuple[float, float]], colour: str) -> str:
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>{dots}'


def _bars(
    points: Sequence[tuple[float, float]], foot: float, room: float, number: int, count: int, colour: str
) -> str:
    width = room / count
    return "".join(
        f'<rect x="{a - room / 2 + number * width:.1f}" y="{min(b, foot):.1f}" width="{0.9 * width:.1f}" '
        f'height="{abs(foot - b):.1f}" fill="{colour}"/>'
        for a, b in points
    )


def _key(frame: _Frame, names: Sequence[str], foot: float) -> str:
    """Names and colours of the lines, from the right end of the chart's foot to the left."""
    out, right = [], frame.right
    for number in reversed(range(len(names))):
        colour = COLOURS[number % len(COLOURS)]
        out.append(f'<rect x="{right - 10:g}" y="{foot - 9:g}" width="10" height="10" fill="{colour}"/>')
        out.append(_text(right - 15, foot, names[number], "end"))
        right -= 28 + _LETTER * len(names[number])
    return "".join(out)


def _rule(frame: _Frame, value: float, name: str, stroke: str = "#ddd") -> str:
    y = frame.y(value)
    line = f"<line x1='{_LEFT:g}' x2='{frame.right:g}' y1='{y:.1f}' y2='{y:.1f}' stroke='{stroke}'/>"
    return line + (_text(_LEFT - 6, y + 4, name, "end") if name else "")


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(text)}</text>'


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from below the lowest value to above the highest."""
    step = (high - low) / 5 or 1.0
    power = 10.0 ** math.floor(math.log10(step))
    step = next(power * factor for factor in _STEPS if power * factor >= step * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]


def _x_ticks(places: Sequence[float]) -> list[float]:
    if len(places) <= 8:
        return list(places)
    return [t for t in _ticks(min(places), max(places)) if min(places) <= t <= max(places)]
