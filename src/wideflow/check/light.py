"""Exposure: what is white or black, and how brightness differs between pictures of the same things."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.check.agreement import Agreement
from wideflow.check.moments import Still

_WHITE, _BLACK = 250, 6  # of 255: beyond them nothing is told apart
_GAMMA = 2.2  # of videos: stops are counted in light, not in code values
_USABLE = (16, 240)  # code values of points that brightness is compared at
_FEWEST = 12


@dataclass(frozen=True)
class Light:
    """Exposure of one clip.

    Attributes
    ----------
    white, black : float
        Share of the picture that is over- and under-exposed, mean over the pictures looked at.
    drift : float
        Stops between the brightest and the darkest picture, by points that are the same.
    tint : float
        Stops by which red gains over blue between the coldest and the warmest picture, by the same points.
    """

    white: float
    black: float
    drift: float
    tint: float = 0.0


def light(stills: list[Still], steps: list[Agreement]) -> Light:
    """Exposure of pictures of one camera, in the order of time, and of those compared over time."""
    white = float(np.mean([np.mean(still.grey >= _WHITE) for still in stills]))
    black = float(np.mean([np.mean(still.grey <= _BLACK) for still in stills]))
    changes = {step.first.index: step for step in reversed(steps)}  # with the next picture, not the last
    each = [changes[still.index] for still in stills if still.index in changes]
    drift, tint = (_range([of(step) or 0.0 for step in each]) for of in (stops_between, warmer_by))
    return Light(white, black, drift, tint)


def _range(steps: list[float]) -> float:
    """Between the highest and the lowest of levels that follow each other by these steps."""
    return float(np.ptp(np.cumsum([0.0, *steps])))


def stops_between(same: Agreement) -> float | None:
    """Stops by which the second picture is brighter, at points that agree; None where they are too few."""
    change = _changes(same, same.first.grey, same.second.grey)
    return None if change is None else _GAMMA * float(np.median(change))


def warmer_by(same: Agreement) -> float | None:
    """Stops by which red gains over blue in the second picture; None where points are too few."""
    change = _changes(same, same.first.rgb, same.second.rgb)
    return None if change is None else _GAMMA * float(np.median(change[:, 0] - change[:, 2]))


def _changes(
    same: Agreement, first: NDArray[np.uint8], second: NDArray[np.uint8]
) -> NDArray[np.float64] | None:
    """Logarithm (n,) or (n, 3) of how much code values change at points that agree; None for too few."""
    one, two = _around(first, same.x[same.on_lines]), _around(second, same.y[same.on_lines])
    inside = (np.minimum(one, two) > _USABLE[0]) & (np.maximum(one, two) < _USABLE[1])
    usable = np.flatnonzero(inside.reshape(len(one), -1).min(axis=1))
    if len(usable) < _FEWEST:
        return None
    return np.log2(two[usable] / one[usable])


def _around(picture: NDArray[np.uint8], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the surroundings of some points, in each channel."""
    smooth = cv2.GaussianBlur(picture.astype(np.float32), (0, 0), 3.0)
    height, width = smooth.shape[:2]
    x, y = np.clip(points.round().astype(int), 0, (width - 1, height - 1)).T
    return smooth[y, x].astype(np.float64)
