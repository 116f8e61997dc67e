"""When by geometry: a moving point meets its epipolar line at the moment when both cameras saw it.

A frame of A is matched to a frame of B, of any time. What stands still gives the fundamental matrix, however
the cameras move. The matched points of B are then followed some frames back and forth: a still point stays
on its line, a moving one crosses it just when B sees what A saw. Each crossing votes for an offset, to a
fraction of a frame; true ones agree, wrong matches do not.
"""

from __future__ import annotations

from collections.abc import Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import sampson_distance
from wideflow.sync.fundamental import fit_fundamental

Grey = NDArray[np.uint8]
Points = NDArray[np.float64]
_FEWEST = 16  # still points below which a fundamental matrix is chance
_INLIER = 1.5  # px
_STILL = 2.0  # px: a point that stays this near to its line does not move
_SLOWEST = 0.5  # px a frame at which a line must be crossed
_WINDOW = (15, 15)
_LEVELS = 3


def follow(window: Mapping[int, Grey], anchor: int, reach: int, points: NDArray[np.float32]) -> Points:
    """Points of the frame ``anchor`` in the frames around it: (2 reach + 1, N, 2), NaN when lost."""
    tracks = np.full((2 * reach + 1, len(points), 2), np.nan)
    tracks[reach] = points
    if len(points) == 0:
        return tracks
    for direction in (1, -1):
        current, alive = points.copy(), np.ones(len(points), np.bool_)
        for step in range(1, reach + 1):
            here, there = anchor + direction * (step - 1), anchor + direction * step
            if here not in window or there not in window or not alive.any():
                break
            moved, ahead, _ = cv2.calcOpticalFlowPyrLK(
                window[here], window[there], current, None, winSize=_WINDOW, maxLevel=_LEVELS
            )
            returned, behind, _ = cv2.calcOpticalFlowPyrLK(
                window[there], window[here], moved, None, winSize=_WINDOW, maxLevel=_LEVELS
            )
            alive &= (ahead.ravel() > 0) & (behind.ravel() > 0)
            alive &= np.linalg.norm(returned - current, axis=1) < 0.5
            tracks[reach + direction * step, alive] = moved[alive]
            current = moved
    return tracks


def crossings(x: Points, tracks: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """When moving points cross their epipolar lines.

    Parameters
    ----------
    x : (N, 2) float64
        Points of a frame of A.
    tracks : (T, N, 2) float64
        Their matches in T successive frames of B, matched in the middle one.

    Returns
    -------
    step, slope : (M,) float64
        Of each moving point: position in 0..T-1 at which it meets its line, and how fast it crosses it in
        pixels per frame. None where too little stands still to tell.
    """
    middle = len(tracks) // 2
    if len(x) < _FEWEST:
        return None
    try:
        F, _ = cv2.findFundamentalMat(x, tracks[middle], cv2.USAC_MAGSAC, 1.0, 0.999, 5000)
    except cv2.error:  # matches that agree with no model at all
        return None
    if F is None or F.shape != (3, 3) or not np.isfinite(F).all():
        return None
    inlier = np.abs(sampson_distance(F, x, tracks[middle])) < _INLIER
    if np.count_nonzero(inlier) < max(_FEWEST, 0.25 * len(x)):
        return None
    still = inlier
    distance = _line_distance(x, tracks, still)
    steady = inlier & (_largest(distance) < _STILL)
    if np.count_nonzero(steady) >= _FEWEST:
        still = steady
        distance = _line_distance(x, tracks, still)
        still = inlier & (_largest(distance) < _STILL)
    return _zero_crossings(distance[:, ~still])


def _line_distance(x: Points, tracks: Points, still: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Signed distance (T, N) in px of every track from its line, of one sign on either side of it."""
    F = fit_fundamental(x[still], tracks[:, still])
    lines = np.concatenate([x, np.ones((len(x), 1))], axis=1) @ F.transpose(0, 2, 1)
    normals = lines[..., :2] / np.maximum(np.linalg.norm(lines[..., :2], axis=2, keepdims=True), 1e-12)
    # a fundamental matrix has no sign of its own: take the one of the frame before
    turn = np.where(np.median((normals[1:] * normals[:-1]).sum(axis=2), axis=1) < 0, -1.0, 1.0)
    sign = np.concatenate([[1.0], np.cumprod(turn)])
    return sampson_distance(F, x, tracks) * sign[:, None]


def _largest(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.max(np.abs(np.nan_to_num(distance, nan=0.0)), axis=0)


def _zero_crossings(distance: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Place and slope of the only zero of each column (T, M), from a line through the values about it."""
    steps = len(distance)
    with np.errstate(invalid="ignore"):
        crossing = distance[:-1] * distance[1:] <= 0
    columns = np.flatnonzero((crossing.sum(axis=0) == 1) & (np.isfinite(distance).sum(axis=0) >= 4))
    at = crossing[:, columns].argmax(axis=0)
    rows = at + np.arange(-2, 4)[:, None]
    values = distance[np.clip(rows, 0, steps - 1), columns]
    known = np.isfinite(values) & (rows >= 0) & (rows < steps)
    weight, values = known.astype(float), np.where(known, values, 0.0)
    count = np.maximum(weight.sum(axis=0), 1)
    mean_row, mean_value = (weight * rows).sum(axis=0) / count, values.sum(axis=0) / count
    spread = (weight * (rows - mean_row) ** 2).sum(axis=0)
    slope = (weight * (rows - mean_row) * (values - mean_value)).sum(axis=0) / np.maximum(spread, 1e-9)
    safe = np.where(np.abs(slope) > 1e-9, slope, 1.0)
    place = mean_row - mean_value / safe
    good = (np.abs(slope) >= _SLOWEST) & (place > at - 0.7) & (place < at + 1.7)
    return place[good], np.abs(slope[good])
