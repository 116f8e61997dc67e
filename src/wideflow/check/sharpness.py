"""Blur: how wide edges are, from the slopes of the picture smoothed a little and smoothed more.

An ideal edge that was blurred by sigma has, after smoothing by s, a slope proportional to 1 / sqrt(sigma^2 +
s^2) at its middle. The ratio of two slopes gives sigma, whatever the contrast (Zhuo and Sim 2011).
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

_FINE, _COARSE = 1.0, 2.0  # px of smoothing
_SLOPE = 1.5  # of 255 a px, after smoothing: weaker edges are noise
_DIRECTIONS = 4
_FEWEST = 100  # edge pixels of a direction
_STRONGEST = 0.3  # share of the edges that counts: weak ones are often soft by themselves
_CENTRAL = np.array([[-0.5, 0.0, 0.5]], np.float32)
_DIFFERENCE = 1 / 3  # square px by which the central difference itself blurs: a box of 2 px


def edge_blur(grey: NDArray[np.uint8]) -> float:
    """Standard deviation, px, of the blur of the strong edges, in the direction in which they are softest.

    Motion blurs only the edges across it, so each direction is measured alone; an edge that motion has made
    a ramp of many pixels counts as even softer than its standard deviation. Near 0 where texture is finer
    than an edge; NaN where the picture has too few edges.
    """
    picture = grey.astype(np.float32)
    fine, angle = _slope(picture, _FINE)
    coarse, _ = _slope(picture, _COARSE)
    y, x = _crests(fine, angle)
    strength = fine[y, x]
    squared = np.maximum(strength / np.maximum(coarse[y, x], 1e-6), 1.001) ** 2
    variance = (_COARSE**2 - squared * _FINE**2) / (squared - 1) - _DIFFERENCE
    sigma = np.sqrt(np.maximum(variance, 0.0))
    direction = (angle[y, x] / np.pi * _DIRECTIONS + 0.5).astype(int) % _DIRECTIONS
    found = []
    for k in range(_DIRECTIONS):
        here = np.flatnonzero(direction == k)
        if len(here) >= _FEWEST:
            strong = here[strength[here] > np.quantile(strength[here], 1 - _STRONGEST)]
            found.append(float(np.median(sigma[strong])))
    return max(found, default=float("nan"))


def _slope(picture: NDArray[np.float32], sigma: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Length of the gradient, and its direction in 0 .. pi, of a smoothed picture."""
    smooth = cv2.GaussianBlur(picture, (0, 0), sigma)
    dx, dy = (cv2.filter2D(smooth, -1, kernel) for kernel in (_CENTRAL, _CENTRAL.T))
    return np.hypot(dx, dy), np.arctan2(dy, dx) % np.float32(np.pi)


def _crests(
    slope: NDArray[np.float32], angle: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns where the slope is steeper than on either side across the edge."""
    y, x = np.nonzero(slope[1:-1, 1:-1] > _SLOPE)
    y, x = y + 1, x + 1
    across_x, across_y = (np.rint(part).astype(int) for part in (np.cos(angle[y, x]), np.sin(angle[y, x])))
    here = slope[y, x]
    crest = (here >= slope[y + across_y, x + across_x]) & (here >= slope[y - across_y, x - across_x])
    return y[crest], x[crest]
