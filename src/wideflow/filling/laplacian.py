"""The matting Laplacian: flow as a locally linear function of colour (paper, equations 7 to 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

REACH = 2  # px: two pixels share a 3x3 window if they are at most this far apart
SIDE = 2 * REACH + 1


def number_pixels(region: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number the pixels of a region row by row.

    Returns
    -------
    (H + 4, W + 4) int64
        -1 outside the region, and in a frame of `REACH` pixels around the picture that spares the kernels
        every test for its border.
    """
    numbers = np.full((region.shape[0] + 2 * REACH, region.shape[1] + 2 * REACH), -1, np.int64)
    numbers[REACH:-REACH, REACH:-REACH][region] = np.arange(np.count_nonzero(region))
    return numbers


def matting_stencils(
    picture: NDArray[np.float32], numbers: NDArray[np.int64], epsilon: float
) -> NDArray[np.float64]:
    """Rows of the matting Laplacian L of the 3x3 windows that lie in a region (equation 9).

    Parameters
    ----------
    picture : (H, W, 3) float32
        Colours in 0..1.
    numbers : (H + 4, W + 4) int64
        Of `number_pixels`.
    epsilon : float
        Weight of the norm of B (equation 8).

    Returns
    -------
    (N, 25) float64
        Entry (dy + 2) * 5 + dx + 2 of row i couples pixel i with the one dy below and dx to its right.
    """
    stencils = np.zeros((int(numbers.max(initial=-1)) + 1, SIDE * SIDE))
    _add_windows(np.ascontiguousarray(picture), numbers, epsilon, stencils)
    return stencils


@njit(cache=True)
def _add_windows(
    picture: NDArray[Any], numbers: NDArray[Any], epsilon: float, stencils: NDArray[Any]
) -> None:
    height, width = picture.shape[:2]
    members = np.empty(9, np.int64)
    d = np.empty((9, 3))
    q = np.empty((9, 3))
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            inside = True
            for k in range(9):
                members[k] = numbers[y + k // 3 - 1 + REACH, x + k % 3 - 1 + REACH]
                inside = inside and members[k] >= 0
            if not inside:
                continue
            _solve_window(picture, y, x, epsilon, d, q)
            for k in range(9):
                for m in range(9):
                    value = (k == m) - 1 / 9 - (q[k, 0] * d[m, 0] + q[k, 1] * d[m, 1] + q[k, 2] * d[m, 2])
                    place = (m // 3 - k // 3 + REACH) * SIDE + m % 3 - k % 3 + REACH
                    stencils[members[k], place] += value


@njit(cache=True)
def _solve_window(
    picture: NDArray[Any], y: int, x: int, epsilon: float, d: NDArray[Any], q: NDArray[Any]
) -> None:
    """Colours less their mean, d, and those times the inverse of their regularised scatter, q."""
    m0 = m1 = m2 = 0.0
    for k in range(9):
        py, px = y + k // 3 - 1, x + k % 3 - 1
        d[k, 0], d[k, 1], d[k, 2] = picture[py, px, 0], picture[py, px, 1], picture[py, px, 2]
        m0, m1, m2 = m0 + d[k, 0] / 9, m1 + d[k, 1] / 9, m2 + d[k, 2] / 9
    a = e = i = epsilon
    b = c = f = 0.0
    for k in range(9):
        r, g, v = d[k, 0] - m0, d[k, 1] - m1, d[k, 2] - m2
        d[k, 0], d[k, 1], d[k, 2] = r, g, v
        a, b, c, e, f, i = a + r * r, b + r * g, c + r * v, e + g * g, f + g * v, i + v * v
    # the inverse of the symmetric [[a, b, c], [b, e, f], [c, f, i]] by its cofactors
    ca, cb, cc = e * i - f * f, c * f - b * i, b * f - c * e
    ce, cf, ci = a * i - c * c, b * c - a * f, a * e - b * b
    scale = 1 / (a * ca + b * cb + c * cc)
    for k in range(9):
        r, g, v = d[k, 0] * scale, d[k, 1] * scale, d[k, 2] * scale
        q[k, 0] = ca * r + cb * g + cc * v
        q[k, 1] = cb * r + ce * g + cf * v
        q[k, 2] = cc * r + cf * g + ci * v
