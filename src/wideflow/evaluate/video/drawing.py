"""Pictures of a scored clip, and the figure of all."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.panels import stack
from wideflow.evaluate.table import Row
from wideflow.evaluate.video.found import Answer
from wideflow.files import write_bytes
from wideflow.handheld.clip import Clip
from wideflow.report.colours import depth_colours
from wideflow.synth.video_suite import HALVES

_FULL = 0.1  # relative error of depth that is drawn in full red
_BARS = (("seen", "off5"), ("hidden", "off10"), ("moving", "off5"), ("static", "flicker_95"))
_TITLES = {
    "off5": "off by > 5 %",
    "off10": "off by > 10 %",
    "flicker_95": "flicker, 95th percentile",
}


def clip_panels(clip: Clip, answer: Answer, frames: list[int]) -> NDArray[np.uint8]:
    """For up to three moments: true depth, found depth, its error, its confidence.

    Errors are black where there is none, red from 10 % on, blue where nothing was found; grey is the sky.
    Hidden pixels are drawn lighter.
    """
    chosen = sorted({frames[0], frames[len(frames) // 2], frames[-1]})
    rows = []
    for frame in chosen:
        truth, found = clip.truth(frame), answer.read(frame)
        known = np.isfinite(truth.depth)
        ratio = found.depth / truth.depth
        there = np.isfinite(ratio) & known
        scale = float(np.median(ratio[there])) if there.any() else 1.0
        near, far = (float(value) for value in np.percentile(truth.depth[known], [1, 99]))
        error = error_colours(ratio / scale, known, truth.stereo_visible)
        sure = np.zeros(known.shape) if found.confidence is None else np.nan_to_num(found.confidence)
        grey = np.repeat(np.rint(255 * sure).astype(np.uint8)[..., None], 3, axis=2)
        rows.append(
            [
                depth_colours(truth.depth, near, far),
                depth_colours(found.depth / scale, near, far),
                error,
                grey,
            ]
        )
    return stack(rows)


def error_colours(
    ratio: NDArray[np.float64], known: NDArray[np.bool_], seen: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """(H, W, 3) of found over true depth."""
    level = np.clip(np.nan_to_num(np.abs(ratio - 1)) / _FULL, 0, 1)
    red = np.rint(255 * np.sqrt(level))
    base = np.where(seen, 0, 60)
    colours = np.stack([np.maximum(red, base), base * (1 - level), base * (1 - level)], axis=2)
    colours[~np.isfinite(ratio)] = (40, 60, 200)
    colours[~known] = 120
    return colours.astype(np.uint8)


def _half(scene: str) -> str:
    return next((half for half in HALVES if scene == half or scene.startswith(f"{half}-")), "all")


def _short(scene: str) -> str:
    """Its name without its half, which the colour tells."""
    return scene.removeprefix(f"{_half(scene)}-")


def _halves(values: dict[str, float]) -> dict[str, list[float]]:
    """A line for each half that has scenes, with gaps at those of the others."""
    halves = sorted({_half(scene) for scene in values})
    return {half: [v if _half(s) == half else math.nan for s, v in values.items()] for half in halves}


def write_figure(path: Path, rows: list[Row]) -> None:
    """``figure.svg``: the headline errors of every clip, and how true the confidence is."""
    scenes = [str(scene) for scene in dict.fromkeys(row["scene"] for row in rows)]
    table = {(row["scene"], row["class"]): row for row in rows}
    charts = []
    for kind, column in _BARS:
        values = {scene: float(table.get((scene, kind), {}).get(column, "nan")) for scene in scenes}
        if any(value == value for value in values.values()):
            title = f"{kind}: {_TITLES[column]}"
            charts.append(
                Chart(title, "", "per cent", [_short(s) for s in scenes], _halves(values), bars=True)
            )
    tenths = [name for _, name in table if str(name).startswith("confidence ") and " to " in str(name)]
    levels = sorted({str(name) for name in tenths})
    if levels:
        last = scenes[-1]
        chosen = [table.get((last, name), {}) for name in levels]
        lines = {
            "claimed": [float(row.get("claimed", "nan")) for row in chosen],
            "within 1 %": [100 - float(row.get("off1", "nan")) for row in chosen],
        }
        places = [100 * (i + 0.5) / len(levels) for i in range(len(levels))]
        charts.append(Chart(f"Confidence ({last})", "claimed, per cent", "per cent", places, lines))
    if charts:
        write_bytes(path, draw(charts, columns=2, width=520.0).encode())
