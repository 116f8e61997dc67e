"""The matting Laplacian: flow as a locally linear function of colour (paper, equations 7 to 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, njit, over_rows

REACH = 2  # px: two pixels share a 3x3 window if they are at most this far apart
SIDE = 2 * REACH + 1
_CENTRE = SIDE * SIDE // 2
_ROUNDS = 8  # of relaxation


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
    picture: NDArray[np.float32],
    numbers: NDArray[np.int64],
    epsilon: float,
    weights: NDArray[np.float32] | None = None,
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
    weights : (H, W) float32, optional
        Of the windows, at their centres; 1 unless given.

    Returns
    -------
    (N, 25) float64
        Entry (dy + 2) * 5 + dx + 2 of row i couples pixel i with the one dy below and dx to its right.
    """
    stencils = np.zeros((int(numbers.max(initial=-1)) + 1, SIDE * SIDE))
    if weights is None:
        weights = np.ones(picture.shape[:2], np.float32)
    picture = np.ascontiguousarray(picture)
    # windows three rows apart share no pixel, so threads never write to the same row of L
    for top in range(1, 4):
        count = (picture.shape[0] - 2 - top) // 3 + 1
        _add_windows(count, picture, numbers, epsilon, weights, stencils, top)
    return stencils


def window_models(
    picture: NDArray[np.float32], numbers: NDArray[np.int64], epsilon: float, values: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What flow is of colour in each window: its best B and b, and what these leave of equation 8.

    The arrays are those of `matting_stencils`; ``values`` (N, C) are the pixels' flow.

    Returns
    -------
    (H, W, C, 4) float32
        At the windows' centres, the three factors of the colours and what is added; 0 where no window lies in
        the region.
    (H, W) float32
        What the window adds to the energy, in squared units of the values; 0 likewise.
    """
    models = np.zeros((*picture.shape[:2], values.shape[1], 4), np.float32)
    misfits = np.zeros(picture.shape[:2], np.float32)
    _fit_windows(
        np.ascontiguousarray(picture), numbers, epsilon, np.ascontiguousarray(values), models, misfits
    )
    return models, misfits


def relax(
    stencils: NDArray[np.float64],
    numbers: NDArray[np.int64],
    unknown: NDArray[np.bool_],
    x: NDArray[np.float64],
) -> None:
    """Some rounds of Gauss-Seidel on the unknown pixels, in place: they mend what is wrong in the small.

    Parameters
    ----------
    stencils, numbers
        Of `matting_stencils`, for the unknown pixels and all that they are coupled with.
    unknown : (H, W) bool
        Pixels to change.
    x : (N, C) float64
        A solution that is right in the large.
    """
    ys, xs = np.nonzero(unknown)
    rows = np.searchsorted(ys, np.arange(unknown.shape[0] + 1))
    # rows three apart are not coupled, so that threads never read what another one writes
    for turn in range(3 * _ROUNDS):
        top = turn % 3
        _relax((unknown.shape[0] - 1 - top) // 3 + 1, stencils, numbers, rows, xs, x, top)


def product(
    stencils: NDArray[np.float64],
    numbers: NDArray[np.int64],
    where: NDArray[np.bool_],
    x: NDArray[np.float64],
) -> NDArray[np.float64]:
    """A x, (N, C), of the matrix A whose rows are stencils, in the rows of some pixels (H, W); else 0."""
    ys, xs = np.nonzero(where)
    result = np.zeros_like(x)
    _product(len(ys), stencils, ys, xs, numbers, x, result)
    return result


@over_rows()
def _add_windows(
    first: int,
    end: int,
    picture: NDArray[Any],
    numbers: NDArray[Any],
    epsilon: float,
    weights: NDArray[Any],
    stencils: NDArray[Any],
    top: int,
) -> None:
    """Of every third row of windows, from ``top`` on."""
    members = np.empty(9, np.int64)
    d = np.empty((9, 3))
    q = np.empty((9, 3))
    for row in range(first, end):
        y = top + 3 * row
        for x in range(1, picture.shape[1] - 1):
            if _find_members(numbers, y, x, members):
                _solve_window(picture, y, x, epsilon, d, q)
                _add_window(members, d, q, weights[y, x], stencils)


@kernel()
def _add_window(
    members: NDArray[Any], d: NDArray[Any], q: NDArray[Any], weight: float, stencils: NDArray[Any]
) -> None:
    for k in range(9):
        for m in range(9):
            value = (k == m) - 1 / 9 - (q[k, 0] * d[m, 0] + q[k, 1] * d[m, 1] + q[k, 2] * d[m, 2])
            place = (m // 3 - k // 3 + REACH) * SIDE + m % 3 - k % 3 + REACH
            stencils[members[k], place] += weight * value


@njit()
def _fit_windows(
    picture: NDArray[Any],
    numbers: NDArray[Any],
    epsilon: float,
    values: NDArray[Any],
    models: NDArray[Any],
    misfits: NDArray[Any],
) -> None:
    height, width = picture.shape[:2]
    members = np.empty(9, np.int64)
    d = np.empty((9, 3))
    q = np.empty((9, 3))
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            if not _find_members(numbers, y, x, members):
                continue
            _solve_window(picture, y, x, epsilon, d, q)
            misfit = 0.0
            for c in range(values.shape[1]):
                mean = b0 = b1 = b2 = 0.0
                for k in range(9):
                    value = values[members[k], c]
                    mean += value / 9
                    b0, b1, b2 = b0 + q[k, 0] * value, b1 + q[k, 1] * value, b2 + q[k, 2] * value
                for k in range(9):
                    change = values[members[k], c] - mean
                    misfit += change * (change - b0 * d[k, 0] - b1 * d[k, 1] - b2 * d[k, 2])
                # d is the colour less its mean, so that any pixel of the window tells this mean
                r, g, v = picture[y, x, 0] - d[4, 0], picture[y, x, 1] - d[4, 1], picture[y, x, 2] - d[4, 2]
                models[y, x, c, 0], models[y, x, c, 1], models[y, x, c, 2] = b0, b1, b2
                models[y, x, c, 3] = mean - b0 * r - b1 * g - b2 * v
            misfits[y, x] = max(misfit, 0.0)


@kernel()
def _find_members(numbers: NDArray[Any], y: int, x: int, members: NDArray[Any]) -> bool:
    """The pixels of the window around (y, x); False if some are not in the region."""
    inside = True
    for k in range(9):
        members[k] = numbers[y + k // 3 - 1 + REACH, x + k % 3 - 1 + REACH]
        inside = inside and members[k] >= 0
    return inside


@kernel()
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


@over_rows()
def _product(
    first: int,
    end: int,
    stencils: NDArray[Any],
    ys: NDArray[Any],
    xs: NDArray[Any],
    numbers: NDArray[Any],
    x: NDArray[Any],
    result: NDArray[Any],
) -> None:
    for place in range(first, end):
        i = numbers[ys[place] + REACH, xs[place] + REACH]
        for c in range(0, x.shape[1], 2):
            d = min(c + 1, x.shape[1] - 1)
            result[i, c], result[i, d] = _row_times(stencils, numbers, i, ys[place], xs[place], x, c, d)


@over_rows()
def _relax(
    first: int,
    end: int,
    stencils: NDArray[Any],
    numbers: NDArray[Any],
    rows: NDArray[Any],
    xs: NDArray[Any],
    x: NDArray[Any],
    top: int,
) -> None:
    """A round of every third row, from ``top`` on."""
    for row in range(first, end):
        y = top + 3 * row
        for place in range(rows[y], rows[y + 1]):
            i = numbers[y + REACH, xs[place] + REACH]
            centre = stencils[i, _CENTRE]
            if centre <= 0:
                continue
            for c in range(0, x.shape[1], 2):
                d = min(c + 1, x.shape[1] - 1)
                a, b = _row_times(stencils, numbers, i, y, xs[place], x, c, d)
                x[i, c] -= a / centre
                if d > c:
                    x[i, d] -= b / centre


@kernel()
def _row_times(
    stencils: NDArray[Any], numbers: NDArray[Any], i: int, y: int, left: int, x: NDArray[Any], c: int, d: int
) -> Any:
    """A row of A, of the pixel i at (y, left), times two columns: one waits less for itself than for two."""
    a = b = 0.0
    for r in range(SIDE):
        j = numbers[y + r, left]
        if j >= 0 and numbers[y + r, left + SIDE - 1] == j + SIDE - 1:  # as nearly everywhere: no gaps
            for k in range(SIDE):
                value = stencils[i, SIDE * r + k]
                a, b = a + value * x[j + k, c], b + value * x[j + k, d]
        else:
            for k in range(SIDE):
                j = numbers[y + r, left + k]
                if j >= 0:
                    value = stencils[i, SIDE * r + k]
                    a, b = a + value * x[j, c], b + value * x[j, d]
    return a, b
