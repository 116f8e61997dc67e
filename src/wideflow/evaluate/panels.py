"""A picture of what was found beside what is true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wideflow.evaluate.datasets.sample import Field, Sample
from wideflow.evaluate.stage_result import StageResult
from wideflow.report.colours import depth_colours, flow_colours

_WIDTH = 480  # px of one panel at most
_WRONG = 10.0  # px of error that are drawn in full red
Pixels = NDArray[np.uint8]


def panels(sample: Sample, results: Sequence[StageResult]) -> Pixels:
    """For each flow: the truth and what each result has; below, the picture and how wrong each is.

    Errors are black where there is none, red from 10 px on, blue where nothing was found; grey has no truth.
    """
    rows = []
    for name in ("stereo", "optical"):
        truth = getattr(sample, name)
        found = [getattr(result, name) for result in results]
        if truth is None or all(flow is None for flow in found):
            continue
        nothing = np.full_like(truth, np.nan)  # a method need not have both flows
        flows = [nothing if flow is None else flow for flow in found]
        top = float(np.nanpercentile(np.linalg.norm(truth, axis=2), 99)) or 1.0
        rows.append([flow_colours(field, top) for field in (truth, *flows)])
        rows.append([as_bytes(sample.pictures[0]), *(error_colours(flow, truth) for flow in flows)])
    return stack(rows)


def depth_panels(sample: Sample, results: Sequence[StageResult]) -> Pixels:
    """The true depth and that of each result, on one scale."""
    known = sample.depth[np.isfinite(sample.depth)] if sample.depth is not None else np.ones(1)
    near, far = (float(value) for value in np.percentile(known, [2, 98]))
    depths = [sample.depth, *(result.depth for result in results)]
    return stack([[depth_colours(depth, near, far) for depth in depths if depth is not None]])


def error_colours(flow: Field, truth: Field) -> Pixels:
    """(H, W, 3): black where right, red where wrong, blue where nothing was found, grey without truth."""
    error = np.linalg.norm(flow - truth, axis=2)
    level = np.clip(error / _WRONG, 0, 1)
    red = np.rint(255 * np.sqrt(np.nan_to_num(level))).astype(np.uint8)
    colours = np.stack([red, (red.astype(int) ** 2 // 600).astype(np.uint8), np.zeros_like(red)], axis=2)
    colours[np.isnan(flow).any(axis=2)] = (40, 60, 200)
    colours[np.isnan(truth).any(axis=2)] = 90
    return colours


def as_bytes(picture: Field) -> Pixels:
    """A picture in 0..1 as uint8."""
    return np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)


def stack(rows: Sequence[Sequence[Pixels]], width: int = _WIDTH) -> Pixels:
    """Pictures of one size, side by side and one below the other, none wider than ``width`` px."""
    import cv2

    shape = rows[0][0].shape
    scale = min(1.0, width / shape[1])
    size = (max(1, round(scale * shape[1])), max(1, round(scale * shape[0])))
    return np.vstack(
        [np.hstack([cv2.resize(panel, size, interpolation=cv2.INTER_AREA) for panel in row]) for row in rows]
    )
