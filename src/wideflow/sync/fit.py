"""A straight line through points of which some are wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 10


def robust_line(x: NDArray[np.float64], y: NDArray[np.float64], tolerance: float) -> tuple[float, float]:
    """Slope and value at zero of the line that most points agree with.

    Starts at the median of the slopes between points far apart (Theil and Sen), then weighs every point by
    how near it lies: 1 on the line, 1/2 at ``tolerance``.
    """
    i, j = np.triu_indices(len(x), k=1)
    far = np.abs(x[j] - x[i]) > 0.3 * np.ptp(x)
    slope = float(np.median((y[j] - y[i])[far] / (x[j] - x[i])[far]))
    start = float(np.median(y - slope * x))
    for _ in range(_ROUNDS):
        weight = 1 / (1 + ((y - slope * x - start) / tolerance) ** 2)
        total = weight.sum()
        mean_x, mean_y = (weight * x).sum() / total, (weight * y).sum() / total
        slope = float((weight * (x - mean_x) * (y - mean_y)).sum() / (weight * (x - mean_x) ** 2).sum())
        start = float(mean_y - slope * mean_x)
    return slope, start
