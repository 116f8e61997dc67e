"""Solve a picture's system by Cholesky factorisation, block by block (the multifrontal method).

Each block of a `Dissection` gathers its own rows and what the blocks before it left over into one dense
matrix, eliminates its pixels from it, and hands the rest to the line where its part of the picture ends.
Nearly all work is in dense products. The right-hand sides are rows of these matrices, so that A = L L^T and
L^-1 times them come out of the same products.

The factor of a large picture does not fit in memory. Of its smaller parts only what they leave to the lines
around them is kept; once the flow on those is known, the parts are factored a second time. They are most of
the factor's size, but the lines have their share of the work, so that this costs less than twice the time.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.errors import InputError
from wideflow.filling.dense import eliminate
from wideflow.filling.dissection import dissect
from wideflow.filling.laplacian import REACH, SIDE

Floats = NDArray[np.float64]
_PARTS = 16  # of the picture at least, which are eliminated side by side
_LARGEST = 1 << 17  # pixels of a part: about 0.2 GB of factor
_THREADS = min(os.cpu_count() or 1, 8)  # each holds a part


def solve(stencils: Floats, numbers: NDArray[np.int64], right: Floats, keep_limit: int) -> Floats:
    """x with A x = ``right``, for a symmetric positive definite A.

    Parameters
    ----------
    stencils : (N, 25) float64
        Rows of A as `matting_stencils` gives them.
    numbers : (H + 4, W + 4) int64
        The pixels' numbers, of `number_pixels`.
    right : (N, C) float64
        Right-hand sides.
    keep_limit : int
        Pixels up to which the whole factor is kept in memory.

    Returns
    -------
    (N, C) float64
        The same bits for any number of threads.
    """
    elimination = _Elimination(stencils, numbers, right)
    order, kept = elimination.order, right.shape[0] <= keep_limit
    parts, top = order.groups(max(_PARTS, right.shape[0] // _LARGEST + 1))
    with ThreadPoolExecutor(_THREADS) as pool:
        waiting, running = deque(parts), deque[tuple[int, Future[None]]]()
        for number in [*top, len(order.parents)]:
            # a line as soon as its parts are done: what those leave is large, and must not pile up
            while True:
                while waiting and len(running) < 2 * _THREADS:
                    part = waiting.popleft()
                    running.append((part[-1], pool.submit(elimination.eliminate, part, kept)))
                if not running or running[0][0] > number:
                    break
                running.popleft()[1].result()
            if number < len(order.parents):
                elimination.eliminate([number], True)
        elimination.substitute(top[::-1])
        for _ in pool.map(elimination.substitute, (part[::-1] for part in parts)):
            pass
    x = np.empty_like(right)
    x[order.pixels] = elimination.x
    return x


class _Elimination:
    """The blocks' columns of L, and in ``x``, in the order of elimination, L^-1 b and then the solution."""

    def __init__(self, stencils: Floats, numbers: NDArray[np.int64], right: Floats) -> None:
        ys, xs = np.nonzero(numbers >= 0)
        self.order = dissect(ys, xs)
        places = np.empty(ys.size, np.int64)
        places[self.order.pixels] = np.arange(ys.size)
        self._system = (ys, xs, numbers, places, stencils)
        self.x: Floats = right[self.order.pixels]
        self._columns: dict[int, NDArray[np.float32]] = {}  # own rows, then those of later pixels
        self._rests: dict[int, NDArray[np.int64]] = {}  # places of these later pixels
        self._updates: dict[int, Floats] = {}  # what a block leaves to its parent
        self._children: list[list[int]] = [[] for _ in self.order.parents]
        for number, parent in enumerate(self.order.parents):
            if parent >= 0:
                self._children[parent].append(number)

    def eliminate(self, numbers: Iterable[int], kept: bool) -> None:
        """Factor some blocks, a whole part of the picture or a line, and keep their columns or not."""
        self._factor(numbers, self.x.shape[1], kept)

    def substitute(self, numbers: Iterable[int]) -> None:
        """Solve L^T x = x for blocks in the opposite order; those around them must be known."""
        numbers = list(numbers)
        if any(number not in self._columns for number in numbers):
            self._factor(numbers[::-1], 0, True)
            self._updates.pop(numbers[0], None)
        for number in numbers:
            _substitute(self._columns.pop(number), self.order.starts[number], self._rests.pop(number), self.x)

    def _factor(self, numbers: Iterable[int], sides: int, kept: bool) -> None:
        """Factor blocks with the first ``sides`` right-hand sides, which makes those L^-1 b."""
        size = self.order.pixels.size
        local = np.empty(size + sides, np.int64)
        extra = np.arange(size, size + sides)  # they take the places after the last pixel
        for number in numbers:
            start, stop = self.order.starts[number : number + 2]
            own, count = self.order.pixels[start:stop], stop - start
            children = self._children[number]
            near = _later_neighbours(own, *self._system[:4], stop)
            left = (self._rests[child] for child in children)
            rest = np.unique(np.concatenate([near, extra, *(places[places >= stop] for places in left)]))
            local[start:stop] = np.arange(count)
            local[rest] = np.arange(count, count + rest.size)
            front = np.zeros((count + rest.size,) * 2, order="F")
            _gather_rows(front, own, *self._system, local, start)
            pixels = count + rest.size - sides
            front[pixels:, :count] = self.x[start:stop, :sides].T
            for child in children:  # in this order, whichever was finished first
                _gather_update(front, local, self._rests[child], self._updates.pop(child))
            if not eliminate(front, count):
                raise InputError(
                    "the flow cannot be completed: its system of equations is not positive definite"
                )
            self.x[start:stop, :sides] = front[pixels:, :count].T
            if kept:
                self._columns[number] = front[:pixels, :count].astype(np.float32, order="F")
            self._rests[number] = rest
            if self.order.parents[number] >= 0:
                self._updates[number] = front[count:, count:].copy(order="F")


@njit(nogil=True)
def _substitute(columns: NDArray[Any], start: int, rest: NDArray[Any], x: NDArray[Any]) -> None:
    """Solve L^T x = x for a block's pixels."""
    count = columns.shape[1]
    for c in range(x.shape[1]):
        for k in range(count - 1, -1, -1):
            value = x[start + k, c]
            for i in range(count, columns.shape[0]):
                value -= columns[i, k] * x[rest[i - count], c]
            for i in range(k + 1, count):
                value -= columns[i, k] * x[start + i, c]
            x[start + k, c] = value / columns[k, k]


@njit(nogil=True)
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


@njit(nogil=True)
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


@njit(nogil=True)
def _gather_update(
    front: NDArray[Any], local: NDArray[Any], rows: NDArray[Any], update: NDArray[Any]
) -> None:
    """Add what an earlier block left, lower triangle."""
    for column in range(rows.size):
        for row in range(column, rows.size):
            front[local[rows[row]], local[rows[column]]] += update[row, column]
