"""Depth of what stands still, steadied by the moments around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.geometry import relative_pose
from wideflow.types import View

Floats = NDArray[np.float32]
_MOVING = 0.3  # chance of moving from which a pixel keeps its own depth, and tells others nothing
_FEWEST = 2  # other moments: of two that differ nobody can tell which is right
_SURFACE = 0.05  # share of depth within which four neighbours are one surface, and may be interpolated
_SAME = 0.03  # share of depth about which moments agree
_DOUBTFUL = 0.02  # weight of a depth that nothing speaks for
_ROUNDS = 3  # of the mean of those that agree


@dataclass(frozen=True, eq=False)
class FoundDepth:
    """What a moment knows of the depth of its pixels (H, W), as in `SceneFlow`."""

    depth: Floats
    confidence: Floats
    moving: Floats


def steady_depth(view: View, own: FoundDepth, others: Sequence[tuple[View, FoundDepth]]) -> Floats:
    """Depth (H, W) of a picture on which it and the pictures around it agree, where nothing moves.

    Each pixel is looked up at its place in the other moments. Of the depths that they claim for it, and its
    own, the weighted median is taken, and then the mean of those near it; weights are confidences. The errors
    of a pair of pictures change from moment to moment, and the mean has less of them.

    Parameters
    ----------
    view : View
        That of the picture, pinhole.
    own : FoundDepth
        What it knows by itself. Pixels that move, or that no other moment knows, keep their depth.
    others : sequence of (View, FoundDepth)
        Of the same camera at other moments; if that is only one, nothing changes.
    """
    if len(others) < _FEWEST:
        return own.depth
    lens = view.camera.K
    ways = np.empty((len(others), 3, 4))
    for way, (other, _) in zip(ways, others, strict=True):
        pose = relative_pose(view, other)
        way[:, :3] = other.camera.K @ pose[:, :3] @ np.linalg.inv(lens)
        way[:, 3] = other.camera.K @ pose[:, 3]
    steady = own.depth.copy()
    with np.errstate(divide="ignore"):
        inverse = np.stack([np.nan_to_num(1 / found.depth) for _, found in others])
    _agree(
        own.depth,
        own.confidence,
        own.moving,
        inverse,
        np.stack([found.confidence for _, found in others]),
        np.stack([found.moving for _, found in others]),
        ways,
        steady,
    )
    return steady


@njit(parallel=True)
def _agree(
    depth: NDArray[Any],
    confidence: NDArray[Any],
    moving: NDArray[Any],
    inverse: NDArray[Any],
    confidences: NDArray[Any],
    movings: NDArray[Any],
    ways: NDArray[Any],
    steady: NDArray[Any],
) -> None:
    count, height, width = inverse.shape
    for y in numba.prange(height):
        claims, weights = np.empty(count + 1), np.empty(count + 1)  # logarithms of claimed over own depth
        for x in range(width):
            z = depth[y, x]
            if not (z > 0 and moving[y, x] < _MOVING):
                continue
            claims[0], weights[0] = 0.0, _DOUBTFUL + confidence[y, x]
            known = 1
            for i in range(count):
                way = ways[i]
                there_z = (way[2, 0] * x + way[2, 1] * y + way[2, 2]) * z + way[2, 3]
                if not there_z > 0:
                    continue
                u = ((way[0, 0] * x + way[0, 1] * y + way[0, 2]) * z + way[0, 3]) / there_z
                v = ((way[1, 0] * x + way[1, 1] * y + way[1, 2]) * z + way[1, 3]) / there_z
                if not (0 <= u < width - 1 and 0 <= v < height - 1):
                    continue
                near_x, near_y = int(u + 0.5), int(v + 0.5)
                if movings[i, near_y, near_x] >= _MOVING:
                    continue
                claim = _on_surface(inverse[i], u, v)
                if claim > 0:
                    claims[known] = -math.log(claim * there_z)
                    weights[known] = _DOUBTFUL + confidences[i, near_y, near_x]
                    known += 1
            if known > 1:
                steady[y, x] = z * math.exp(_consensus(claims[:known], weights[:known]))


@njit()
def _on_surface(values: NDArray[Any], u: float, v: float) -> float:
    """Interpolated value; 0 where the four around it are not of one surface, or one is unknown."""
    x, y = int(u), int(v)
    a, b, c, d = values[y, x], values[y, x + 1], values[y + 1, x], values[y + 1, x + 1]
    least, most = min(min(a, b), min(c, d)), max(max(a, b), max(c, d))
    if not (least > 0 and most - least < _SURFACE * least):
        return 0.0
    s, t = u - x, v - y
    return (1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * c + s * d)


@njit()
def _consensus(values: NDArray[Any], weights: NDArray[Any]) -> float:
    """The weighted median, then the mean of what lies near it."""
    for i in range(1, len(values)):
        value, weight, k = values[i], weights[i], i
        while k > 0 and values[k - 1] > value:
            values[k], weights[k] = values[k - 1], weights[k - 1]
            k -= 1
        values[k], weights[k] = value, weight
    half, below, middle = weights.sum() / 2, 0.0, 0
    for i in range(len(values)):
        below += weights[i]
        if below >= half:
            middle = i
            break
    found = values[middle]
    for _ in range(_ROUNDS):
        total, mean = 0.0, 0.0
        for i in range(len(values)):
            near = (values[i] - found) / _SAME
            share = weights[i] * math.exp(-near * near)
            total += share
            mean += share * values[i]
        found = mean / total
    return found
