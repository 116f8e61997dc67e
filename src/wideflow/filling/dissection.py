"""Nested dissection: an order of elimination that keeps the factor of a picture's system small.

A set of pixels is cut by a line as wide as the system's reach; the two sides do not touch, are cut in turn,
and the line comes last. A factor of n pixels in this order has about n log n entries instead of n^1.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.filling.laplacian import REACH

_LEAF = 32  # pixels that are not cut any more: smaller blocks cost more than they save


@dataclass(frozen=True, eq=False)
class Dissection:
    """Blocks of pixels in the order of their elimination.

    Attributes
    ----------
    pixels : (N,) int64
        Pixel at each place of the order.
    starts : list of int
        First place of each block; the last entry is N.
    parents : list of int
        The line that a block's own part ends at, as its block number; -1 for the last ones.
    """

    pixels: NDArray[np.int64]
    starts: list[int]
    parents: list[int]

    def groups(self, count: int) -> tuple[list[range], list[int]]:
        """Runs of blocks that do not need one another, of N / count pixels at most, and the blocks after."""
        sizes: list[int] = np.diff(self.starts).tolist()  # one by one, a list is faster than an array
        for number, parent in enumerate(self.parents):  # a parent comes after all of its part
            if parent >= 0:
                sizes[parent] += sizes[number]
        limit = self.pixels.size / count
        runs, top, first = [], [], 0
        for number, parent in enumerate(self.parents):
            if sizes[number] > limit:
                top.append(number)
            elif parent < 0 or sizes[parent] > limit:
                runs.append(range(first, number + 1))
            else:
                continue
            first = number + 1
        return runs, top


def dissect(ys: NDArray[np.int64], xs: NDArray[np.int64]) -> Dissection:
    """Order the pixels with rows ``ys`` and columns ``xs``, (N,) each."""
    room = np.empty(max(ys.max(), xs.max()) + 2 if ys.size else 0, np.int64)
    pixels, sizes, parents = _dissect(ys, xs, _LEAF, np.arange(ys.size), room)
    last = len(sizes) - 1
    return Dissection(
        pixels=pixels[::-1].copy(),
        starts=[0, *np.cumsum(sizes[::-1]).tolist()],
        parents=[last - parent if parent >= 0 else -1 for parent in parents[::-1].tolist()],
    )


@njit()
def _dissect(
    ys: NDArray[Any], xs: NDArray[Any], leaf: int, pixels: NDArray[Any], before: NDArray[Any]
) -> Any:
    """Pixels in the opposite order, block by block, and the blocks' sizes and parents.

    ``pixels`` are all in any order, which is changed; ``before`` has room for every coordinate and one more.
    """
    count = ys.size
    order, sizes, parents = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    spare = np.empty(count, np.int64)
    # a part that is cut leaves two, and each is smaller than the one before: so many can wait
    pending = np.empty((count + 2, 3), np.int64)
    pending[0, 0], pending[0, 1], pending[0, 2] = 0, count, -1
    waiting, blocks, placed = int(count > 0), 0, 0
    while waiting > 0:
        waiting -= 1
        first, end, parent = pending[waiting, 0], pending[waiting, 1], pending[waiting, 2]
        part = pixels[first:end]
        along, start, line = _find_line(ys, xs, part, leaf, before)
        size = low = high = 0
        for i in part[::-1]:
            place = along[i] - start - line
            if line < 0 or 0 <= place < REACH:
                order[placed + size] = i
                size += 1
        if line >= 0:
            for i in part:
                place = along[i] - start - line
                if place < 0:
                    part[low] = i
                    low += 1
                elif place >= REACH:
                    spare[high] = i
                    high += 1
            for i in range(high):
                part[low + i] = spare[i]
        if size > 0:
            sizes[blocks], parents[blocks] = size, parent
            parent = blocks
            placed += size
            blocks += 1
        if low > 0:
            pending[waiting, 0], pending[waiting, 1], pending[waiting, 2] = first, first + low, parent
            waiting += 1
        if high > 0:
            middle = first + low
            pending[waiting, 0], pending[waiting, 1], pending[waiting, 2] = middle, middle + high, parent
            waiting += 1
    return order, sizes[:blocks], parents[:blocks]


@njit()
def _find_line(
    ys: NDArray[Any], xs: NDArray[Any], part: NDArray[Any], leaf: int, before: NDArray[Any]
) -> Any:
    """The coordinate across whose longer extent to cut, where it starts, and how far from there; -1: not."""
    top, bottom, left, right = ys[part[0]], ys[part[0]], xs[part[0]], xs[part[0]]
    for i in part:
        top, bottom = min(top, ys[i]), max(bottom, ys[i])
        left, right = min(left, xs[i]), max(right, xs[i])
    along, start, span = ys, top, bottom - top + 1
    if bottom - top < right - left:
        along, start, span = xs, left, right - left + 1
    if part.size <= leaf or span <= 2 * REACH:
        return along, start, -1
    before[: span + 1] = 0
    for i in part:
        before[along[i] - start + 1] += 1
    for i in range(span):
        before[i + 1] += before[i]
    # the shortest line among those that leave a quarter on each side, or else the fairest
    line, shortest, fairest, fair = -1, part.size + 1, -1, 0
    for i in range(span - REACH + 1):
        on, lesser = before[i + REACH] - before[i], min(before[i], part.size - before[i + REACH])
        if lesser >= part.size // 4 and on < shortest:
            line, shortest = i, on
        if lesser > fairest:
            fair, fairest = i, lesser
    return along, start, line if line >= 0 else fair
