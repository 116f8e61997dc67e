"""Solve the system of a picture: by one factorisation, or, if it is large, by conjugate gradients.

A factor grows faster than the picture. Conjugate gradients only need factors of tiles, which together are
nearly as good as the whole if the tiles are large.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from wideflow.filling.cholesky import Factor
from wideflow.filling.laplacian import REACH, SIDE, number_pixels

Floats = NDArray[np.float64]
_TILE = 384  # px: larger tiles need fewer iterations and more memory
_MOST = 1000  # iterations


def solve(
    stencils: Floats,
    numbers: NDArray[np.int64],
    right: Floats,
    start: Floats,
    direct_limit: int,
    tolerance: float = 3e-4,
) -> Floats:
    """x with A x = ``right``.

    Parameters
    ----------
    stencils : (N, 25) float64
        Rows of A, symmetric positive definite, as `matting_stencils` gives them.
    numbers : (H + 4, W + 4) int64
        The pixels' numbers.
    right, start : (N, C) float64
        Right-hand sides, and a guess of x for the conjugate gradients.
    direct_limit : int
        Pixels up to which the whole of A is factored.
    tolerance : float
        Largest correction, in the unit of x, at which the conjugate gradients stop.
    """
    if stencils.shape[0] <= direct_limit:
        return Factor(stencils, numbers).solve(right)
    tiles = _factor_tiles(stencils, numbers)
    x = start.copy()
    residual = right - product(stencils, numbers, x)
    step = correction = _apply(tiles, residual)
    energy = np.einsum("nc,nc->c", residual, correction)
    calm = 0
    for _ in range(_MOST):
        image = product(stencils, numbers, step)
        length = energy / np.maximum(np.einsum("nc,nc->c", step, image), 1e-300)
        x += length * step
        residual -= length * image
        correction = _apply(tiles, residual)
        calm = calm + 1 if np.abs(correction).max() < tolerance else 0
        if calm == 3:  # a small correction may be chance, three in a row are not
            break
        old, energy = energy, np.einsum("nc,nc->c", residual, correction)
        step = correction + energy / np.maximum(old, 1e-300) * step
    return x


def product(stencils: Floats, numbers: NDArray[np.int64], x: Floats) -> Floats:
    """A x, (N, C)."""
    ys, xs = np.nonzero(numbers >= 0)
    return _product(stencils, ys, xs, numbers, x)


def _factor_tiles(stencils: Floats, numbers: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], Factor]]:
    """Pixels and factor of each tile, as if nothing lay around it."""
    inner = numbers[REACH:-REACH, REACH:-REACH]
    tiles = []
    for top in range(0, inner.shape[0], _TILE):
        for left in range(0, inner.shape[1], _TILE):
            part = inner[top : top + _TILE, left : left + _TILE]
            pixels = part[part >= 0]
            if pixels.size:
                tiles.append((pixels, Factor(stencils[pixels], number_pixels(part >= 0), np.float32)))
    return tiles


def _apply(tiles: list[tuple[NDArray[np.int64], Factor]], residual: Floats) -> Floats:
    correction = np.empty_like(residual)
    for pixels, factor in tiles:
        correction[pixels] = factor.solve(residual[pixels])
    return correction


@njit(cache=True, parallel=True)
def _product(
    stencils: NDArray[Any], ys: NDArray[Any], xs: NDArray[Any], numbers: NDArray[Any], x: NDArray[Any]
) -> Any:
    result = np.empty_like(x)
    for i in prange(ys.size):
        for c in range(x.shape[1]):
            total = 0.0
            for k in range(SIDE * SIDE):
                j = numbers[ys[i] + k // SIDE - REACH, xs[i] + k % SIDE - REACH]
                if j >= 0:
                    total += stencils[i, k] * x[j, c]
            result[i, c] = total
    return result
