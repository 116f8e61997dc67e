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

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.errors import InputError
from wideflow.filling.dense import eliminate
from wideflow.filling.dissection import Dissection, dissect
from wideflow.filling.laplacian import REACH, SIDE
from wideflow.threads import thread_count

Floats = NDArray[np.float64]
_PARTS = 16  # of the picture at least, which are eliminated side by side
_LARGEST = 1 << 17  # pixels of a part: about 0.2 GB of factor
_MOST_THREADS = 8  # each holds a part


class Plan:
    """In which order the pixels of a region are eliminated, and what that fills: the same for every system.

    Parameters
    ----------
    numbers : (H + 4, W + 4) int64
        The pixels' numbers, of `number_pixels`.
    """

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        ys, xs = np.nonzero(numbers >= 0)
        self.order: Dissection = dissect(ys, xs)
        places = np.empty(ys.size, np.int64)
        places[self.order.pixels] = np.arange(ys.size)
        starts, parents = np.array(self.order.starts), np.array(self.order.parents, np.int64)
        self.children, self.siblings = _families(parents)
        pixels = self.order.pixels, ys, xs, numbers, places
        # of each block, the places of the later pixels that it is coupled with once those before are gone
        self.rests, ends = _find_rests(starts, self.children, self.siblings, *pixels)
        self.tables = starts, parents, self.children, self.siblings, ends, self.rests, *pixels


def solve(
    stencils: Floats,
    numbers: NDArray[np.int64],
    right: Floats,
    keep_limit: int,
    plan: Plan | None = None,
) -> Floats:
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
    plan : Plan, optional
        Of these numbers, where more than one system is solved.

    Returns
    -------
    (N, C) float64
        The same bits for any number of threads.
    """
    plan = Plan(numbers) if plan is None else plan
    elimination = _Elimination(plan, stencils, right)
    order, kept = plan.order, right.shape[0] <= keep_limit
    parts, top = order.groups(max(_PARTS, right.shape[0] // _LARGEST + 1))
    threads = min(thread_count(), _MOST_THREADS)
    if threads == 1:
        _solve_alone(elimination, parts, top, kept)
    else:
        _solve_together(elimination, parts, top, kept, threads)
    x = np.empty_like(right)
    x[order.pixels] = elimination.x
    return x


def _solve_alone(elimination: _Elimination, parts: list[range], top: list[int], kept: bool) -> None:
    """One block after the other: to hand over parts to a thread takes time."""
    runs = [(part, kept) for part in parts] + [(range(number, number + 1), True) for number in top]
    for run, keeps in sorted(runs, key=lambda each: each[0][-1]):
        elimination.eliminate(run, keeps)
    for number in top[::-1]:
        elimination.substitute(range(number, number + 1))
    for part in parts:
        elimination.substitute(part)


def _solve_together(
    elimination: _Elimination, parts: list[range], top: list[int], kept: bool, threads: int
) -> None:
    with ThreadPoolExecutor(threads) as pool:
        waiting, running = deque(parts), deque[tuple[int, Future[None]]]()
        for number in [*top, None]:
            # a line as soon as its parts are done: what those leave is large, and must not pile up
            while True:
                while waiting and len(running) < 2 * threads:
                    part = waiting.popleft()
                    running.append((part[-1], pool.submit(elimination.eliminate, part, kept)))
                if not running or (number is not None and running[0][0] > number):
                    break
                running.popleft()[1].result()
            if number is not None:
                elimination.eliminate(range(number, number + 1), True)
        for number in top[::-1]:
            elimination.substitute(range(number, number + 1))
        for _ in pool.map(elimination.substitute, parts):
            pass


class _Elimination:
    """The blocks' columns of L, and in ``x``, in the order of elimination, L^-1 b and then the solution."""

    def __init__(self, plan: Plan, stencils: Floats, right: Floats) -> None:
        self._plan, self._stencils = plan, stencils
        self.x: Floats = right[plan.order.pixels]
        self._columns: dict[int, NDArray[np.float32]] = {}  # by the last block of each run
        self._updates: dict[int, Floats] = {}  # what a run leaves to its parent

    def eliminate(self, numbers: Sequence[int], kept: bool) -> None:
        """Factor a run of blocks, a whole part of the picture or a line, and keep its columns or not."""
        self._factor(numbers, self.x.shape[1], kept)

    def substitute(self, numbers: Sequence[int]) -> None:
        """Solve L^T x = x for a run of blocks; those around them must be known."""
        if numbers[-1] not in self._columns:
            self._factor(numbers, 0, True)
            self._updates.pop(numbers[-1], None)
        starts, _, _, _, ends, rests = self._plan.tables[:6]
        _substitute(self._columns.pop(numbers[-1]), numbers[0], numbers[-1], starts, ends, rests, self.x)

    def _factor(self, numbers: Sequence[int], sides: int, kept: bool) -> None:
        """Factor a run with the first ``sides`` right-hand sides, which makes those L^-1 b."""
        first, last = numbers[0], numbers[-1]
        child, left = -1 if len(numbers) > 1 else int(self._plan.children[last]), [np.empty(0)]
        while child >= 0:  # in this order, whichever was finished first
            left.append(self._updates.pop(child))
            child = int(self._plan.siblings[child])
        done, update, columns = _factor_run(
            first, last, sides, kept, np.concatenate(left), *self._plan.tables, self._stencils, self.x
        )
        if not done:
            raise InputError("the flow cannot be completed: its system of equations is not positive definite")
        if kept:
            self._columns[last] = columns
        if self._plan.order.parents[last] >= 0:
            self._updates[last] = update


@njit()
def _families(parents: NDArray[Any]) -> Any:
    """The first child of each block, and the next sibling; -1 for none."""
    children, siblings = np.empty(parents.size, np.int64), np.empty(parents.size, np.int64)
    children[:] = siblings[:] = -1
    for number in range(parents.size - 1, -1, -1):
        if parents[number] >= 0:
            siblings[number] = children[parents[number]]
            children[parents[number]] = number
    return children, siblings


@njit()
def _find_rests(
    starts: NDArray[Any],
    children: NDArray[Any],
    siblings: NDArray[Any],
    pixels: NDArray[Any],
    ys: NDArray[Any],
    xs: NDArray[Any],
    numbers: NDArray[Any],
    places: NDArray[Any],
) -> Any:
    """Of each block, the places of the later pixels that it is coupled with, and where these end."""
    rests, ends = np.empty(16 + 8 * pixels.size, np.int64), np.zeros(children.size + 1, np.int64)
    seen = np.empty(pixels.size, np.int64)
    seen[:] = -1
    for block in range(children.size):
        stop, count = starts[block + 1], ends[block]
        if count + pixels.size > rests.size:
            rests = np.concatenate((rests, np.empty_like(rests)))
        for i in pixels[starts[block] : stop]:
            for k in range(SIDE * SIDE):
                j = numbers[ys[i] + k // SIDE - REACH, xs[i] + k % SIDE - REACH]
                if j >= 0 and places[j] >= stop and seen[places[j]] != block:
                    seen[places[j]] = block
                    rests[count] = places[j]
                    count += 1
        child = children[block]
        while child >= 0:
            for place in rests[ends[child] : ends[child + 1]]:
                if place >= stop and seen[place] != block:
                    seen[place] = block
                    rests[count] = place
                    count += 1
            child = siblings[child]
        ends[block + 1] = count
    return rests, ends


@njit()
def _factor_run(
    first: int,
    last: int,
    sides: int,
    kept: bool,
    stack: NDArray[Any],
    starts: NDArray[Any],
    parents: NDArray[Any],
    children: NDArray[Any],
    siblings: NDArray[Any],
    ends: NDArray[Any],
    rests: NDArray[Any],
    pixels: NDArray[Any],
    ys: NDArray[Any],
    xs: NDArray[Any],
    numbers: NDArray[Any],
    places: NDArray[Any],
    stencils: NDArray[Any],
    x: NDArray[Any],
) -> Any:
    """Eliminate blocks one after the other; what they leave lies on a stack until their parent takes it.

    ``stack`` has what earlier runs left to the first block. Right-hand sides are the last rows of a front.
    """
    top, room, size = stack.size, 0, 0
    for block in range(first, last + 1):
        count, rest = starts[block + 1] - starts[block], ends[block + 1] - ends[block]
        room = max(room, count + rest + sides)
        size += count * (count + rest) * kept
    columns, filled = np.empty(size, np.float32), 0
    local, rows, space = np.empty(pixels.size, np.int64), np.empty(room, np.int64), np.empty(room * room)
    for block in range(first, last + 1):
        start, stop = starts[block], starts[block + 1]
        count, rest = stop - start, ends[block + 1] - ends[block]
        known = count + rest
        width = known + sides
        front = space[: width * width].reshape(width, width).T
        for column in range(width):
            front[column:, column] = 0
        for i in range(count):
            local[start + i] = i
        for i in range(rest):
            local[rests[ends[block] + i]] = count + i
        for column in range(count):
            i = pixels[start + column]
            for k in range(SIDE * SIDE):
                j = numbers[ys[i] + k // SIDE - REACH, xs[i] + k % SIDE - REACH]
                if j >= 0 and places[j] >= start + column:
                    front[local[places[j]], column] += stencils[i, k]
            for side in range(sides):
                front[known + side, column] = x[start + column, side]
        child, taken = children[block], 0
        while child >= 0:
            taken += (ends[child + 1] - ends[child] + sides) ** 2
            child = siblings[child]
        top -= taken
        child, at = children[block], top
        while child >= 0:
            left = ends[child + 1] - ends[child]
            for i in range(left):
                rows[i] = local[rests[ends[child] + i]]
            for side in range(sides):
                rows[left + side] = known + side
            left += sides
            for column in range(left):
                for row in range(column, left):
                    a, b = rows[row], rows[column]
                    front[max(a, b), min(a, b)] += stack[at + column * left + row]
            at += left * left
            child = siblings[child]
        if not eliminate(front, count):
            return False, stack, columns
        for column in range(count):
            for side in range(sides):
                x[start + column, side] = front[known + side, column]
            if kept:
                for row in range(known):
                    columns[filled + row] = front[row, column]
                filled += known
        if parents[block] >= 0:
            left = width - count
            if top + left * left > stack.size:
                stack = np.concatenate((stack, np.empty(stack.size + left * left)))
            for column in range(left):
                for row in range(column, left):
                    stack[top + column * left + row] = front[count + row, count + column]
            top += left * left
    return True, stack[:top].copy(), columns


@njit()
def _substitute(
    columns: NDArray[Any],
    first: int,
    last: int,
    starts: NDArray[Any],
    ends: NDArray[Any],
    rests: NDArray[Any],
    x: NDArray[Any],
) -> None:
    """Solve L^T x = x for the pixels of a run of blocks, the last one first."""
    at = columns.size
    for block in range(last, first - 1, -1):
        start, count, rest = (
            starts[block],
            starts[block + 1] - starts[block],
            rests[ends[block] : ends[block + 1]],
        )
        for k in range(count - 1, -1, -1):
            at -= count + rest.size
            for c in range(x.shape[1]):
                value = x[start + k, c]
                for i in range(rest.size):
                    value -= columns[at + count + i] * x[rest[i], c]
                for i in range(k + 1, count):
                    value -= columns[at + i] * x[start + i, c]
                x[start + k, c] = value / columns[at + k]
