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
    """

    white: float
    black: float
    drift: float


def light(stills: list[Still], steps: list[Agreement]) -> Light:
    """Exposure of pictures of one camera, in the order of time, and of those compared over time."""
    white = float(np.mean([np.mean(still.grey >= _WHITE) for still in stills]))
    black = float(np.mean([np.mean(still.grey <= _BLACK) for still in stills]))
    changes = {step.first.index: step for step in reversed(steps)}  # with the next picture, not the last
    level, levels = 0.0, [0.0]
    for still in stills:
        level += (stops_between(changes[still.index]) or 0.0) if still.index in changes else 0.0
        levels.append(level)
    return Light(white, black, float(np.ptp(levels)))


def stops_between(same: Agreement) -> float | None:
    """Stops by which the second picture is brighter, at points that agree; None where they are too few."""
    one = _around(same.first, same.x[same.on_lines])
    two = _around(same.second, same.y[same.on_lines])
    usable = (np.minimum(one, two) > _USABLE[0]) & (np.maximum(one, two) < _USABLE[1])
    if np.count_nonzero(usable) < _FEWEST:
        return None
    return _GAMMA * float(np.median(np.log2(two[usable] / one[usable])))


def _around(still: Still, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean brightness of the surroundings of some points."""
    smooth = cv2.GaussianBlur(still.grey.astype(np.float32), (0, 0), 3.0)
    height, width = smooth.shape
    x, y = np.clip(points.round().astype(int), 0, (width - 1, height - 1)).T
    return smooth[y, x].astype(np.float64)
