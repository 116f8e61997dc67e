"""Nested dissection: an order of elimination that keeps the factor of a picture's system small.

A set of pixels is cut by a line as wide as the system's reach; the two sides do not touch, are cut in turn,
and the line comes last. A factor of n pixels in this order has about n log n entries instead of n^1.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.filling.laplacian import REACH

_LEAF = 96  # pixels that are not cut any more: about where smaller blocks cost more calls than they save


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
        sizes = np.diff(self.starts)
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
    pending: list[tuple[NDArray[np.int64], int]] = [(np.arange(ys.size), -1)]
    found: list[tuple[NDArray[np.int64], int]] = []  # a line before its sides: turned round at the end
    while pending:
        pixels, parent = pending.pop()
        line, sides = _cut(ys, xs, pixels)
        number = parent
        if line.size:
            number = len(found)
            found.append((line, parent))
        pending += [(side, number) for side in sides if side.size]
    found.reverse()
    last = len(found) - 1
    sizes = [block.size for block, _ in found]
    order = np.concatenate([block for block, _ in found]) if found else np.empty(0, np.int64)
    return Dissection(
        pixels=order,
        starts=[0, *np.cumsum(sizes).tolist()],
        parents=[last - parent if parent >= 0 else -1 for _, parent in found],
    )


def _cut(
    ys: NDArray[np.int64], xs: NDArray[np.int64], pixels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...]]:
    """The pixels on a line across the longer extent, and those on its two sides."""
    y, x = ys[pixels], xs[pixels]
    top, left = y.min(), x.min()
    along = y - top if y.max() - top >= x.max() - left else x - left
    span = int(along.max()) + 1
    if pixels.size <= _LEAF or span <= 2 * REACH:
        return pixels, ()
    counts = np.bincount(along, minlength=span)
    before = np.concatenate([[0], np.cumsum(counts)])
    on_line = before[REACH:] - before[:-REACH]
    lesser = np.minimum(before[:-REACH], pixels.size - before[REACH:])
    # the shortest line among those that leave a quarter on each side, or else the fairest
    cost = np.where(lesser >= pixels.size // 4, on_line, np.inf)
    place = int(np.argmin(cost)) if np.isfinite(cost).any() else int(np.argmax(lesser))
    on = (along >= place) & (along < place + REACH)
    return pixels[on], (pixels[along < place], pixels[along >= place + REACH])
