"""The parts of the page that do not change with the moment: verdict, cameras, errors, times, settings."""

from __future__ import annotations

import math
import re
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.report.charts import bars, flattened, line_chart, series_words, table
from wideflow.storage.result import Result
from wideflow.verdict import Verdict
from wideflow.verdict.judge import Shares

_MARKS = {"good": "✓", "weak": "!", "poor": "✕"}
# what `wideflow.demo.score.DemoScore` measures
_TRUTH = {
    "sync_milliseconds": ("Error of the synchronisation", "ms"),
    "rotation_degrees": ("Median error of the rotation between the cameras", "degrees"),
    "focal_percent": ("Errors of the focal lengths of A and B", "%"),
    "depth_percent": ("Median error of depth, where both see", "%"),
    "depth_off_by_1_percent": ("Depth wrong by more than 1 %, where both see", "% of pixels"),
    "motion_median": ("Median error of 3D motion", "m"),
    "trusted_percent": ("Trusted pixels", "%"),
    "trusted_off_by_1_percent": ("Depth of trusted pixels wrong by more than 1 %", "% of them"),
}


def verdict_section(verdict: Verdict) -> str:
    """The headline and a line for each finding."""
    items = "".join(
        f'<li class="{finding.grade}"><span class="mark" aria-hidden="true">{_MARKS[finding.grade]}</span>'
        f'<div><h3>{escape(finding.topic)} <span class="grade">{finding.grade}</span></h3>'
        f"<p>{escape(finding.sentence)}</p>"
        + (f'<p class="remedy"><b>What to do:</b> {_prose(finding.remedy)}</p>' if finding.remedy else "")
        + "</div></li>"
        for finding in verdict.findings
    )
    headline = f'<h2 class="headline {verdict.grade}">{escape(verdict.headline)}</h2>'
    return f'{headline}<ul class="findings">{items}</ul>'


def _prose(text: str) -> str:
    """Escaped, with options of the command line set apart."""
    return re.sub(r"--[a-z][a-z-]*", r"<code>\g<0></code>", escape(text))


def camera_section(distance: NDArray[np.float64], angle: NDArray[np.float64], shares: Shares) -> str:
    """Baseline, angle and trust over time."""
    if len(distance) == 1 and len(shares.moments) > 1:  # cameras that stand
        distance, angle = np.repeat(distance, 2), np.repeat(angle, 2)
        frames = np.array([0.0, float(shares.moments[-1])])
    else:
        frames = np.arange(len(distance), dtype=np.float64)
    charts = []
    for name, unit, x, y in (
        ("Baseline", "world units", frames, distance),
        ("Angle between the cameras", "degrees", frames, angle),
        ("Trusted", "% of the picture", shares.moments.astype(np.float64), 100 * shares.trusted),
    ):
        charts.append(line_chart(name, unit, x.tolist(), y.tolist(), series_words(name, y.tolist(), unit)))
    return '<div class="charts">' + "".join(charts) + "</div>"


def truth_section(truth: Any) -> str:
    """Errors against the ground truth, if there is any."""
    if not isinstance(truth, dict) or not truth:
        return ""
    rows = []
    for name, value in flattened(truth):
        label, unit = _TRUTH.get(name, (name.replace("_", " ").replace(".", ": "), ""))
        rows.append((label, f"{value} {unit}".strip()))
    text = "<p>The scene was rendered, so the right answer is known.</p>"
    return f'<section id="truth"><h2>Errors against the truth</h2>{text}{table(rows)}</section>'


def time_section(timings: dict[str, Any], moments: int) -> str:
    """Seconds of each stage."""
    seconds = timings.get("seconds")
    if not isinstance(seconds, dict):
        return ""
    rows = [(str(stage), float(value)) for stage, value in seconds.items() if _is_time(value)]
    if not rows:
        return ""
    total = sum(value for _, value in rows)
    text = f"{_duration(total)} in all, {_duration(total / max(moments, 1))} a moment."
    frames = timings.get("frames")
    if isinstance(frames, list):
        sums = [
            sum(float(value) for key, value in frame.items() if key != "index" and _is_time(value))
            for frame in frames
            if isinstance(frame, dict)
        ]
        if sums:
            text += f" The slowest moment took {_duration(max(sums))}."
    return f'<section id="time"><h2>Time</h2><p>{text}</p>{bars(rows, "s")}</section>'


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def facts_section(summary: dict[str, Any], result: Result) -> str:
    """Inputs, settings and versions."""
    (wa, ha), (wb, hb) = result.size_a, result.size_b
    general = [
        ("moments", str(len(result))),
        ("pictures of A", f"{wa} x {ha}"),
        ("pictures of B", f"{wb} x {hb}"),
    ]
    inputs = summary.get("inputs")
    if isinstance(inputs, dict):
        general = [(f"clip {name.upper()}", str(value)) for name, value in inputs.items()] + general
    parts = [table(general)]
    for key, title in (
        ("sync", "Synchronisation"),
        ("calibration", "Calibration"),
        ("settings", "Settings"),
        ("versions", "Versions"),
    ):
        values = summary.get(key)
        if isinstance(values, dict) and values:
            # doubts are part of the verdict
            short = {k: value for k, value in values.items() if k != "doubts" and not _is_series(value)}
            parts.append(f"<details><summary>{title}</summary>{table(flattened(short))}</details>")
    return '<section id="facts"><h2>Settings and versions</h2>' + "".join(parts) + "</section>"


def _is_series(value: Any) -> bool:
    """A number for every frame: drawn above, too long for a table."""
    return isinstance(value, list) and len(value) > 4
