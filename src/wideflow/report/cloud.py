"""The points of one moment as few bytes: a depth map is smaller than positions, and the page lifts it itself.

Depth is kept as its logarithm in steps of 0.03 %, a fifth of what a pixel spans at usual focal lengths.
Numbers are replaced by their difference from the left neighbour, split into bytes, and deflated.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.storage.result import Result
from wideflow.types import View

DEPTH_STEP = 3e-4  # of the natural logarithm
CONFIDENCE_STEPS = 50
VECTOR_GRID = 5  # motion is kept for every fifth point in x and y: every 25th
_MOTION_LEVELS = 2000  # levels on either side of 0


def moment_cloud(result: Result, t: int, most_points: int, centre: NDArray[np.float64]) -> dict[str, Any]:
    """What the page needs to draw moment t: depth, confidence, motion and cameras, ready for JSON.

    Parameters
    ----------
    result : Result
        Where it is read from.
    t : int
        Number of the moment.
    most_points : int
        Every n-th pixel in x and y is left out beyond this.
    centre : (3,) float64
        World point that coordinates are relative to: single precision is then enough in the page.
    """
    stride = point_stride(result.size_a, most_points)
    offset = stride // 2
    cut = np.s_[offset::stride, offset::stride]
    depth = np.asarray(result.depth(t)[cut])
    known = np.isfinite(depth) & (depth > 0)
    logs = np.log(np.where(known, depth, 1).astype(np.float64))
    lowest = float(logs[known].min()) if known.any() else 0.0
    levels = np.minimum(np.rint((logs - lowest) / DEPTH_STEP) + 1, 65535)
    confidence = np.clip(np.nan_to_num(result.confidence(t)[cut]), 0, 1)
    return {
        "width": depth.shape[1],
        "height": depth.shape[0],
        "stride": stride,
        "offset": offset,
        "lowest": lowest,
        "step": DEPTH_STEP,
        "depth": pack(np.where(known, levels, 0).astype(np.uint16)),
        "confidence": pack(np.rint(confidence * CONFIDENCE_STEPS).astype(np.uint16)),
        "confidenceSteps": CONFIDENCE_STEPS,
        "motion": _motion(np.asarray(result.motion(t)[cut])) if t < len(result) - 1 else None,
        "views": [_view(view, centre) for view in result.frame(t).views],
    }


def point_stride(size: tuple[int, int], most_points: int) -> int:
    """The smallest step in x and y that leaves at most that many points."""
    stride = max(1, math.isqrt(size[0] * size[1] // max(most_points, 1)))
    while -(-size[0] // stride) * -(-size[1] // stride) > most_points:
        stride += 1
    return stride


def _motion(motion: NDArray[np.float32]) -> dict[str, Any]:
    part = motion[VECTOR_GRID // 2 :: VECTOR_GRID, VECTOR_GRID // 2 :: VECTOR_GRID]
    part = np.where(np.isfinite(part).all(axis=2, keepdims=True), part, 0)
    largest = float(np.abs(part).max(initial=0)) or 1.0
    levels = np.rint(part / largest * _MOTION_LEVELS).astype(np.int16)
    return {
        "width": part.shape[1],
        "height": part.shape[0],
        "grid": VECTOR_GRID,
        "scale": largest / _MOTION_LEVELS,
        "planes": [pack(np.ascontiguousarray(levels[:, :, axis]).view(np.uint16)) for axis in range(3)],
    }


def _view(view: View, centre: NDArray[np.float64]) -> dict[str, Any]:
    """A pixel (x, y) at depth z is ``centre + z * ray (x, y, 1)``; ray row by row."""
    return {
        "centre": (view.centre - centre).tolist(),
        "ray": (view.R.T @ np.linalg.inv(view.camera.K)).ravel().tolist(),
        "size": list(view.camera.size),
        "focal": float(view.camera.K[0, 0]),
    }


def pack(levels: NDArray[np.uint16]) -> str:
    """(H, W) uint16 as text: differences along rows, zigzag, high bytes before low bytes, deflate, base64."""
    change = np.diff(levels, axis=1, prepend=np.uint16(0)).view(np.int16)
    change[:, 0] = np.diff(levels[:, 0], prepend=np.uint16(0)).view(np.int16)  # down the first column
    zigzag = ((change << 1) ^ (change >> 15)).view(np.uint16)
    planes = np.stack([zigzag >> 8, zigzag & 255]).astype(np.uint8)
    return base64.b64encode(zlib.compress(planes.tobytes(), 7)).decode()
