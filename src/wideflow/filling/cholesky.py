"""Sparse Cholesky factorisation of a picture's system, block by block (the multifrontal method).

Each block of a `Dissection` gathers its own rows and what the blocks before it left over into one dense
matrix, eliminates its pixels from it, and hands the rest to the line where its part of the picture ends.
Nearly all work is in dense products.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.filling.dense import eliminate
from wideflow.filling.dissection import Dissection, dissect
from wideflow.filling.laplacian import REACH, SIDE

Floats = NDArray[np.float64]
_GROUPS = 16  # parts of the picture that are eliminated side by side
_THREADS = os.cpu_count() or 1


class Factor:
    """L with A = L L^T, for a symmetric positive definite A.

    Parameters
    ----------
    stencils : (N, 25) float64
        Rows of A as `matting_stencils` gives them.
    numbers : (H + 4, W + 4) int64
        The pixels' numbers, of `number_pixels`.
    kept : type
        Precision in which L is kept; float32 halves the memory of a factor that only preconditions.
    """

    def __init__(
        self, stencils: Floats, numbers: NDArray[np.int64], kept: type[np.floating[Any]] = np.float64
    ) -> None:
        ys, xs = np.nonzero(numbers >= 0)
        self._kept = kept
        self.order: Dissection = dissect(ys, xs)
        places = np.empty(ys.size, np.int64)
        places[self.order.pixels] = np.arange(ys.size)
        self._system = (ys, xs, numbers, places, stencils)
        blocks = len(self.order.parents)
        self.columns: list[NDArray[Any]] = [np.empty((0, 0))] * blocks  # of L: own rows, then later ones
        self.rests: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * blocks
        self._updates: list[Floats] = [np.empty((0, 0))] * blocks  # what a block leaves to its parent
        self._children: list[list[int]] = [[] for _ in range(blocks)]
        for number, parent in enumerate(self.order.parents):
            if parent >= 0:
                self._children[parent].append(number)
        groups, top = self.order.groups(_GROUPS)
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(self._factor_blocks, groups):
                pass
        self._factor_blocks(top)
        del self._system, self._updates, self._children

    def _factor_blocks(self, numbers: Iterable[int]) -> None:
        local = np.empty(self.order.pixels.size, np.int64)
        for number in numbers:
            self._factor_block(number, local)

    def _factor_block(self, number: int, local: NDArray[np.int64]) -> None:
        start, stop = self.order.starts[number : number + 2]
        own, children = self.order.pixels[start:stop], self._children[number]
        near = _later_neighbours(own, *self._system[:4], stop)
        rest = np.unique(np.concatenate([near, *(self.rests[c][self.rests[c] >= stop] for c in children)]))
        count = stop - start
        local[start:stop] = np.arange(count)
        local[rest] = np.arange(count, count + rest.size)
        front = np.zeros((count + rest.size,) * 2, order="F")
        _gather_rows(front, own, *self._system, local, start)
        for child in children:  # in this order, whichever was finished first
            _gather_update(front, local, self.rests[child], self._updates[child])
            self._updates[child] = np.empty((0, 0))
        if not eliminate(front, count):
            raise InputError("the flow cannot be completed: its system of equations is not positive definite")
        self.columns[number], self.rests[number] = front[:, :count].astype(self._kept, order="F"), rest
        self._updates[number] = front[count:, count:].copy(order="F")

    def solve(self, right: Floats) -> Floats:
        """x with A x = ``right``, (N, C) each."""
        x = right[self.order.pixels]
        starts = self.order.starts
        for number, rest in enumerate(self.rests):
            _substitute(self.columns[number], starts[number], rest, x)
        for number in range(len(self.rests) - 1, -1, -1):
            _substitute_back(self.columns[number], starts[number], self.rests[number], x)
        solution = np.empty_like(x)
        solution[self.order.pixels] = x
        return solution


@njit(cache=True, nogil=True)
def _substitute(columns: NDArray[Any], start: int, rest: NDArray[Any], x: NDArray[Any]) -> None:
    """Solve L x = x for a block's pixels, and take them out of the later ones."""
    count = columns.shape[1]
    for c in range(x.shape[1]):
        for k in range(count):
            value = x[start + k, c] / columns[k, k]
            x[start + k, c] = value
            for i in range(k + 1, count):
                x[start + i, c] -= columns[i, k] * value
            for i in range(rest.size):
                x[rest[i], c] -= columns[count + i, k] * value


@njit(cache=True, nogil=True)
def _substitute_back(columns: NDArray[Any], start: int, rest: NDArray[Any], x: NDArray[Any]) -> None:
    """Solve L^T x = x for a block's pixels, once the later ones are known."""
    count = columns.shape[1]
    for c in range(x.shape[1]):
        for k in range(count - 1, -1, -1):
            value = x[start + k, c]
            for i in range(rest.size):
                value -= columns[count + i, k] * x[rest[i], c]
            for i in range(k + 1, count):
                value -= columns[i, k] * x[start + i, c]
            x[start + k, c] = value / columns[k, k]


@njit(cache=True, nogil=True)
def _later_neighbours(
    own: NDArray[Any],
    ys: NDArray[Any],
    xs: NDArray[Any],
    numbers: NDArray[Any],
    places: NDArray[Any],
    stop: int,
) -> NDArray[Any]:
    found = np.empty(own.size * SIDE * SIDE, np.int64)
    count = 0
    for i in own:
        for k in range(SIDE * SIDE):
            j = numbers[ys[i] + k // SIDE - REACH, xs[i] + k % SIDE - REACH]
            if j >= 0 and places[j] >= stop:
                found[count] = places[j]
                count += 1
    return np.unique(found[:count])


@njit(cache=True, nogil=True)
def _gather_rows(
    front: NDArray[Any],
    own: NDArray[Any],
    ys: NDArray[Any],
    xs: NDArray[Any],
    numbers: NDArray[Any],
    places: NDArray[Any],
    stencils: NDArray[Any],
    local: NDArray[Any],
    start: int,
) -> None:
    """Add the rows of A, lower triangle."""
    for column in range(own.size):
        i = own[column]
        for k in range(SIDE * SIDE):
            j = numbers[ys[i] + k // SIDE - REACH, xs[i] + k % SIDE - REACH]
            if j >= 0 and places[j] >= start + column:
                front[local[places[j]], column] += stencils[i, k]


@njit(cache=True, nogil=True)
def _gather_update(
    front: NDArray[Any], local: NDArray[Any], rows: NDArray[Any], update: NDArray[Any]
) -> None:
    """Add what an earlier block left, lower triangle."""
    for column in range(rows.size):
        for row in range(column, rows.size):
            front[local[rows[row]], local[rows[column]]] += update[row, column]
