"""Partial Cholesky factorisation of a dense matrix.

Own loops instead of LAPACK: they let go of Python's lock, so that two parts of a picture are eliminated at
the same time, and their result does not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, njit

_PANEL = 32  # columns factored together
_ROWS = 128  # rows whose finished columns stay in the cache while others are updated


@njit()
def eliminate(front: NDArray[Any], count: int) -> bool:
    """Factor the first ``count`` columns of a symmetric matrix and take them out of the others.

    Parameters
    ----------
    front : (M, M) float64, columns contiguous
        Only its lower triangle is read and changed: to L in the first ``count`` columns, to the Schur
        complement in the others.
    count : int
        How many columns to eliminate.

    Returns
    -------
    bool
        False if the matrix is not positive definite.
    """
    size = front.shape[0]
    for first in range(0, count, _PANEL):
        last = min(first + _PANEL, count)
        _subtract(front, first, first, last)
        for k in range(first, last):
            for p in range(first, k):
                factor = front[k, p]
                for i in range(k, size):
                    front[i, k] -= factor * front[i, p]
            if not front[k, k] > 0:
                return False
            scale = 1 / np.sqrt(front[k, k])
            for i in range(k, size):
                front[i, k] *= scale
    _subtract(front, count, count, size)
    return True


@kernel()
def _subtract(front: NDArray[Any], done: int, first: int, last: int) -> None:
    """Columns first..last less what the ``done`` finished ones contribute, four of those at a time."""
    size = front.shape[0]
    for top in range(first, size, _ROWS):
        bottom = min(top + _ROWS, size)
        for j in range(first, min(last, bottom), 2):
            pair = j + 1 < min(last, bottom)
            second = j + 1 if pair else j
            start = max(top, j)
            k = 0
            while k + 4 <= done:
                a0, a1, a2, a3 = front[j, k], front[j, k + 1], front[j, k + 2], front[j, k + 3]
                if pair:
                    b0, b1 = front[second, k], front[second, k + 1]
                    b2, b3 = front[second, k + 2], front[second, k + 3]
                    for i in range(start, bottom):
                        p, q, r, s = front[i, k], front[i, k + 1], front[i, k + 2], front[i, k + 3]
                        front[i, j] -= a0 * p + a1 * q + a2 * r + a3 * s
                        front[i, second] -= b0 * p + b1 * q + b2 * r + b3 * s
                else:
                    for i in range(start, bottom):
                        p, q, r, s = front[i, k], front[i, k + 1], front[i, k + 2], front[i, k + 3]
                        front[i, j] -= a0 * p + a1 * q + a2 * r + a3 * s
                k += 4
            for k_rest in range(k, done):
                for column in range(j, second + 1):
                    factor = front[column, k_rest]
                    for i in range(start, bottom):
                        front[i, column] -= factor * front[i, k_rest]
