"""Which frame of B goes with each frame of A."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FramePairs:
    """Frames of A with their nearest of B.

    Attributes
    ----------
    a, b : (N,) int64
        Indices of the frames; those of A that lie before or after B are left out.
    error : (N,) float64
        Seconds by which the frame of B was taken later than that of A: what synchronisation cannot mend.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    error: NDArray[np.float64]


def pair_frames(
    times_a: NDArray[np.float64], times_b: NDArray[np.float64], offset: float, rate: float = 1.0
) -> FramePairs:
    """Pair each frame of A with the nearest of B on A's clock, where B's time t is ``offset + rate * t``.

    Parameters
    ----------
    times_a, times_b : (n,), (m,) float64
        Increasing, in seconds of each camera's own clock.
    offset : float
        Seconds by which B started later.
    rate : float
        Seconds of A that pass in one of B.
    """
    on_a = offset + rate * np.asarray(times_b, np.float64)
    times_a = np.asarray(times_a, np.float64)
    right = np.clip(np.searchsorted(on_a, times_a), 1, max(len(on_a) - 1, 1))
    left = right - 1
    right = np.minimum(right, len(on_a) - 1)
    nearest = np.where(times_a - on_a[left] <= on_a[right] - times_a, left, right)
    # half a frame beyond B's first and last frames still counts as common
    half = 0.5 * float(np.median(np.diff(on_a))) if len(on_a) > 1 else 0.0
    inside = (times_a >= on_a[0] - half - 1e-9) & (times_a <= on_a[-1] + half + 1e-9)
    a = np.flatnonzero(inside)
    b = nearest[a]
    return FramePairs(a, b, on_a[b] - times_a[a])
