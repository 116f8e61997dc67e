"""Depth of what stands still, steadied by the moments around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit, over_rows
from wideflow.geometry import relative_pose
from wideflow.types import View

Floats = NDArray[np.float32]
_MOVING = 0.3  # chance of moving from which a pixel keeps its own depth, and tells others nothing
_FEWEST = 2  # other moments: of two that differ nobody can tell which is right
_SURFACE = 0.05  # share of depth within which four neighbours are one surface, and may be interpolated
_SAME = 0.03  # share of depth about which moments agree
ALIKE, _WINDOW = 20, 5  # of 255, by which the colour of a point may change over time; px that are averaged
_DOUBTFUL = 0.02  # weight of a depth that nothing speaks for
_ROUNDS = 3  # of the mean of those that agree


@dataclass(frozen=True, eq=False)
class FoundDepth:
    """What a moment knows of the depth of its pixels (H, W), as in `SceneFlow`."""

    depth: Floats
    confidence: Floats
    moving: Floats
    source: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class SeenMoment:
    """A camera at a moment, pinhole, with its picture (H, W, 3), 8 bits, and what is known of its depth."""

    view: View
    picture: NDArray[np.uint8]
    found: FoundDepth


def steady_depth(own: SeenMoment, others: Sequence[SeenMoment]) -> Floats:
    """Depth (H, W) of a picture on which it and the pictures around it agree, where nothing moves.

    Each pixel is looked up at its place in the other moments, whose pictures must show about its colour
    there. Of the depths that they claim for it, and its own, the weighted median is taken, and then the mean
    of those near it; weights are confidences. The errors of a pair of pictures change from moment to moment,
    and the mean has less of them.

    Parameters
    ----------
    own : SeenMoment
        Pixels that move, or that no other moment knows, keep their depth.
    others : sequence of SeenMoment
        The same camera at other moments; if that is only one, nothing changes.
    """
    if len(others) < _FEWEST:
        return own.found.depth
    ways = np.empty((len(others), 3, 4))
    for way, other in zip(ways, others, strict=True):
        pose, lens = relative_pose(own.view, other.view), other.view.camera.K
        way[:, :3] = lens @ pose[:, :3] @ np.linalg.inv(own.view.camera.K)
        way[:, 3] = lens @ pose[:, 3]
    steady = own.found.depth.copy()
    with np.errstate(divide="ignore"):
        inverse = np.stack([np.nan_to_num(1 / other.found.depth) for other in others])
    _agree(
        len(steady),
        own.found.depth,
        own.found.confidence,
        own.found.moving,
        smooth(own.picture),
        inverse,
        np.stack([other.found.confidence for other in others]),
        np.stack([other.found.moving for other in others]),
        np.stack([smooth(other.picture) for other in others]),
        ways,
        steady,
    )
    return steady


def smooth(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """So that a pixel of misalignment at an edge is no other colour."""
    return np.asarray(cv2.blur(picture, (_WINDOW, _WINDOW)), np.uint8)


@over_rows()
def _agree(
    first: int,
    end: int,
    depth: NDArray[Any],
    confidence: NDArray[Any],
    moving: NDArray[Any],
    picture: NDArray[Any],
    inverse: NDArray[Any],
    confidences: NDArray[Any],
    movings: NDArray[Any],
    pictures: NDArray[Any],
    ways: NDArray[Any],
    steady: NDArray[Any],
) -> None:
    count, height, width = inverse.shape
    for y in range(first, end):
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
                if _difference(picture[y, x], pictures[i, near_y, near_x]) > ALIKE:
                    continue
                claim = _on_surface(inverse[i], u, v)
                if claim > 0:
                    claims[known] = -math.log(claim * there_z)
                    weights[known] = _DOUBTFUL + confidences[i, near_y, near_x]
                    known += 1
            if known > 1:
                steady[y, x] = z * math.exp(_consensus(claims[:known], weights[:known]))


@njit()
def _difference(one: NDArray[Any], other: NDArray[Any]) -> float:
    """The largest of those of red, green and blue."""
    largest = 0.0
    for k in range(len(one)):
        largest = max(largest, abs(float(one[k]) - float(other[k])))  # unsigned bytes would wrap
    return largest


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
