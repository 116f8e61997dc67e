"""Distance of two DAISY descriptors, as a function that the kernels of matching inline.

Descriptors are (rows, columns, BINS * n) uint8, byte ``k * n + h`` being bin k of histogram h of n, so that
the histograms are compared side by side in vector registers.
"""

import numpy as np

from wideflow.compiled import njit
from wideflow.descriptors.eight import EIGHT, eight_apart

BINS = 8  # H: orientations in a histogram, a constant of the compiled loops
SAME = 64  # weight of a histogram that counts as much as the mean of its descriptor


@njit(inline="always")
def daisy_distance(a, y, x, b, ty, tx, cap):
    """Sum over the histograms of two pixels of their squared distance, each at most ``cap`` (int32).

    The cap keeps a descriptor useful where a part of it lies across an occlusion edge or the border.
    """
    # whole numbers add up the same in any order, so that histograms are summed side by side; the casts keep
    # Numba from widening to 64 bits, which would halve the speed
    n = a.shape[2] // BINS
    total = np.int32(0)
    for h in range(n):
        s = np.int32(0)
        for k in range(BINS):
            d = np.int32(np.int32(a[y, x, k * n + h]) - np.int32(b[ty, tx, k * n + h]))
            s = np.int32(s + np.int32(d * d))
        total = np.int32(total + min(s, cap))
    return total


@njit(inline="always")
def weighted_distance(a, y, x, b, ty, tx, cap):
    """The same with a weight for each histogram, which ``a`` has behind its histograms (n bytes).

    `SAME` is the weight of one that counts as in `daisy_distance`: the sum is so many times larger.
    """
    n = b.shape[2] // BINS
    if n == EIGHT and 0 <= cap < 65536:
        return eight_apart(a, y, x, b, ty, tx, cap)
    behind = np.uint64(BINS) * np.uint64(n)  # cannot be negative, else weights are looked up one by one
    total = np.int32(0)
    for h in range(n):
        s = np.int32(0)
        for k in range(BINS):
            d = np.int32(np.int32(a[y, x, k * n + h]) - np.int32(b[ty, tx, k * n + h]))
            s = np.int32(s + np.int32(d * d))
        total = np.int32(total + np.int32(min(s, cap) * np.int32(a[y, x, behind + np.uint64(h)])))
    return total
