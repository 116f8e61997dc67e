"""Depth of what stands still, steadied by the moments around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, njit, over_rows
from wideflow.geometry import relative_pose
from wideflow.types import View

Floats = NDArray[np.float32]
_MOVING = 0.3  # chance of moving from which a pixel keeps its own depth, and tells others nothing
_FEWEST = 2  # other moments: of two that differ nobody can tell which is right
_SURFACE = 0.05  # share of depth within which four neighbours are one surface, and may be interpolated
_SAME = np.float32(0.03)  # share of depth about which moments agree
ALIKE, _WINDOW = 20, 5  # of 255, by which the colour of a point may change over time; px that are averaged
_DOUBTFUL = np.float32(0.02)  # weight of a depth that nothing speaks for
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
    first, end, depth, confidence, moving, picture, inverse, confidences, movings, pictures, ways, steady
):
    count, _, width = inverse.shape
    claims, weights = np.empty((count + 1, width), np.float32), np.empty((count + 1, width), np.float32)
    room = np.empty((4, width), np.float32)
    for y in range(first, end):
        _agree_row(
            depth, confidence, moving, picture, inverse, confidences, movings, pictures, ways, steady,
            np.int64(y), claims, weights, room,
        )  # fmt: skip


@kernel()
def _agree_row(
    depth, confidence, moving, picture, inverse, confidences, movings, pictures, ways, steady,
    y, claims, weights, room,
):  # fmt: skip
    """A row; ``claims`` and ``weights`` (N, W) and ``room`` (4, W) are room to work in.

    A claim is a depth over the pixel's own; where a moment claims nothing, its weight is 0.
    """
    count, height, width = inverse.shape
    one = np.float32(1)
    own, sure = claims[0], weights[0]
    for x in range(width):
        own[x], sure[x] = one, _DOUBTFUL + confidence[y, x]
    for i in range(count):
        way, claim, weight = ways[i], claims[i + 1], weights[i + 1]
        surface, moved, known, shown = inverse[i], movings[i], confidences[i], pictures[i]
        for x in range(width):
            claim[x], weight[x] = one, 0
            z = depth[y, x]
            if not (z > 0 and moving[y, x] < _MOVING):
                continue
            there_z = (way[2, 0] * x + way[2, 1] * y + way[2, 2]) * z + way[2, 3]
            if not there_z > 0:
                continue
            u = ((way[0, 0] * x + way[0, 1] * y + way[0, 2]) * z + way[0, 3]) / there_z
            v = ((way[1, 0] * x + way[1, 1] * y + way[1, 2]) * z + way[1, 3]) / there_z
            if not (0 <= u < width - 1 and 0 <= v < height - 1):
                continue
            near_x, near_y = np.uint32(u + 0.5), np.uint32(v + 0.5)
            if moved[near_y, near_x] >= _MOVING:
                continue
            if _difference(picture, y, x, shown, near_y, near_x) > ALIKE:
                continue
            there = _on_surface(surface, u, v)
            if there > 0:
                claim[x] = one / np.float32(there * there_z)
                weight[x] = _DOUBTFUL + known[near_y, near_x]
    _join_claims(claims, weights, room)
    agreed = room[0]
    for x in range(width):
        z = depth[y, x]
        if z > 0 and moving[y, x] < _MOVING:
            steady[y, x] = z * agreed[x]


@kernel()
def _join_claims(claims, weights, room):
    """The weighted median of what is claimed of each pixel, then the mean of what lies near it: room[0].

    All pixels of a row side by side.
    """
    count, width = claims.shape
    one, half = np.float32(1), np.float32(0.5)
    for last in range(count - 1, 0, -1):  # into order
        for k in range(last):
            low, high, of_low, of_high = claims[k], claims[k + 1], weights[k], weights[k + 1]
            for x in range(width):
                ordered = low[x] <= high[x]
                first, second, of_first, of_second = low[x], high[x], of_low[x], of_high[x]
                low[x], high[x] = (first if ordered else second), (second if ordered else first)
                of_low[x] = of_first if ordered else of_second
                of_high[x] = of_second if ordered else of_first
    found, total, below, mean = room[0], room[1], room[2], room[3]
    for x in range(width):
        total[x], below[x], found[x] = 0, 0, one
    for i in range(count):
        weight = weights[i]
        for x in range(width):
            total[x] += weight[x]
    for i in range(count):
        claim, weight = claims[i], weights[i]
        for x in range(width):
            before, middle = below[x], half * total[x]
            below[x] = before + weight[x]
            found[x] = claim[x] if (before < middle) & (below[x] >= middle) else found[x]
    for _ in range(_ROUNDS):
        for x in range(width):
            total[x], mean[x] = 0, 0
        for i in range(count):
            claim, weight = claims[i], weights[i]
            for x in range(width):
                near = (claim[x] - found[x]) / (_SAME * found[x])
                # nearly the exponential of -near**2, at a tenth of its price
                q = half * near * near
                like = one / (one + q + half * q * q)
                share = weight[x] * like * like
                total[x] += share
                mean[x] += share * claim[x]
        for x in range(width):
            found[x] = mean[x] / total[x]


@njit(inline="always")
def _difference(one, y, x, other, there_y, there_x):
    """The largest of those of red, green and blue."""
    largest = np.int64(0)
    for k in range(3):
        step = np.int64(one[y, x, k]) - np.int64(other[there_y, there_x, k])
        largest = max(largest, abs(step))
    return largest


@njit(inline="always")
def _on_surface(values, u, v):
    """Interpolated value; 0 where the four around it are not of one surface, or one is unknown."""
    x, y, one = np.uint32(u), np.uint32(v), np.uint32(1)
    a, b, c, d = values[y, x], values[y, x + one], values[y + one, x], values[y + one, x + one]
    least, most = min(min(a, b), min(c, d)), max(max(a, b), max(c, d))
    if not (least > 0 and most - least < _SURFACE * least):
        return 0.0
    s, t = u - x, v - y
    return (1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * c + s * d)
