"""How much of two pictures one geometry explains: a homography, or the epipolar geometry of two places."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from wideflow.check.moments import Still
from wideflow.geometry import sampson_distance
from wideflow.geometry.features import match_features

Points = NDArray[np.float64]
_NEAR = 1.5  # px off its line at which a match still agrees
_PLANE = 1 / 640  # of the picture's longer side that a match may be off its place, and at least:
_FINEST = 0.6  # px
_FEWEST = 16  # matches below which nothing is fitted
_SAMPLE = 7  # matches that a fundamental matrix always fits
_GRID = 8  # cells along each side of the picture
_TRIES = 5000
_CHANCE = -3.0  # decimal logarithm of the number of false alarms below which an agreement is no chance


@dataclass(frozen=True, eq=False)
class Agreement:
    """Matches of two pictures and the geometries that fit most of them.

    Attributes
    ----------
    first, second : Still
    x, y : (N, 2) float64
        Pixels in the first and second picture.
    on_lines : (N,) bool
        Agree with the epipolar geometry.
    on_plane : (N,) bool
        Agree with the homography: seen from one place, or on one plane.
    homography : (3, 3) float64
        Its upper left part says how the picture has grown and turned.
    """

    first: Still
    second: Still
    x: Points
    y: Points
    on_lines: NDArray[np.bool_]
    on_plane: NDArray[np.bool_]
    homography: NDArray[np.float64]

    @property
    def by_chance(self) -> bool:
        """Whether so many of wrong matches could lie on some epipolar geometry (Moisan and Stival 2004)."""
        n, k = len(self.x), int(np.count_nonzero(self.on_lines))
        height, width = self.second.grey.shape
        near = min(1.0, 2 * _NEAR * np.hypot(width, height) / (width * height))
        if k <= _SAMPLE:
            return True
        tests = np.log(n - _SAMPLE) + _log_choose(n, k) + _log_choose(k, _SAMPLE)
        return bool((tests + (k - _SAMPLE) * np.log(near)) / np.log(10) > _CHANCE)

    def covered(self, chosen: NDArray[np.bool_]) -> float:
        """Share of the first picture's area, in cells, where most matches, and two at least, are chosen."""
        good, every = self._cells(chosen)
        return float(np.mean((good >= 2) & (good > 0.5 * every)))

    def share(self, chosen: NDArray[np.bool_]) -> float:
        """Share of the cells with matches in which at least half of them are chosen.

        Cells and not matches are counted, as texture is dense here and sparse there.
        """
        good, every = self._cells(chosen)
        seen = every >= 2
        return float(np.mean(good[seen] >= 0.5 * every[seen])) if seen.any() else 0.0

    def _cells(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Chosen matches, and all of them, in each cell of the grid."""
        height, width = self.first.grey.shape
        column, row = np.clip((self.x + 0.5) / (width, height) * _GRID, 0, _GRID - 1).astype(np.int64).T
        cell = row * _GRID + column
        return np.bincount(cell, chosen, minlength=_GRID**2), np.bincount(cell, minlength=_GRID**2)


def compare(first: Still, second: Still) -> Agreement | None:
    """Match two pictures; None where too few points are alike, or no geometry holds them together."""
    pairs = match_features(first.points, second.points)
    if len(pairs) < _FEWEST:
        return None
    x = first.points.xy[pairs[:, 0]].astype(np.float64)
    y = second.points.xy[pairs[:, 1]].astype(np.float64)
    tight = max(_FINEST, _PLANE * max(first.grey.shape))
    try:
        F, _ = cv2.findFundamentalMat(x, y, cv2.USAC_MAGSAC, 1.0, 0.999, _TRIES)
        H, _ = cv2.findHomography(x, y, cv2.USAC_MAGSAC, tight, maxIters=_TRIES, confidence=0.999)
    except cv2.error:  # OpenCV 5 ends so where it finds no model at all
        return None
    if F is None or F.shape != (3, 3) or H is None or not np.isfinite(F).all() or not np.isfinite(H).all():
        return None
    on_lines = np.abs(sampson_distance(F, x, y)) < _NEAR
    return Agreement(first, second, x, y, on_lines, _transfer_error(H, x, y) < tight, H)


def compare_along(stills: list[Still]) -> list[Agreement]:
    """Pictures of one camera, in the order of time: each with the next, and the first with the last."""
    couples = [*pairwise(stills)]
    if len(stills) > 2:
        couples.append((stills[0], stills[-1]))
    found = (compare(first, second) for first, second in couples)
    return [one for one in found if one is not None and not one.by_chance]


def _transfer_error(H: NDArray[np.float64], x: Points, y: Points) -> NDArray[np.float64]:
    moved = x @ H[:, :2].T + H[:, 2]
    depth = np.where(np.abs(moved[:, 2:]) < 1e-12, np.nan, moved[:, 2:])
    return np.nan_to_num(np.linalg.norm(moved[:, :2] / depth - y, axis=1), nan=np.inf)


def _log_choose(n: int, k: int) -> float:
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
