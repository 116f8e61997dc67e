"""How the solver lays out its fields: pixels that lie far apart are worked on together.

A picture is cut into `LANES` strips from left to right. Position i of a row holds the i-th column of every
strip, one number after the other: number n of the pixel in strip l lies at n * LANES + l. So whatever a loop
does to a pixel it does to sixteen at once, in the registers of the processor, and their neighbours lie at the
positions beside. A margin of one row and one position all around holds the neighbours across the borders of
strips, and zeros beyond those of the picture; the last strips are filled up with zeros.

Compilers see through this if the loop over lanes is the inner one, runs over flat arrays and calls nothing
with arrays; and if there are at least sixteen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, njit
from wideflow.instructions import prefetch

LANES = 16
AHEAD = 3  # positions from one that is worked on to one that memory is asked for
Laned = NDArray[np.float32]


def strip_width(width: int) -> int:
    """Columns of a strip: even, so that red and black pixels alternate alike in all strips."""
    return 2 * -(-width // (2 * LANES))


def empty_lanes(rows: int, width: int, numbers: int) -> Laned:
    """Zeros for so many numbers a pixel: (rows + 2, strip + 2, numbers * LANES)."""
    return aligned((rows + 2, strip_width(width) + 2, numbers * LANES), np.zeros)


def aligned(shape: tuple[int, ...], make: Callable[..., Laned] = np.empty) -> Laned:
    """An array that begins where a line of the cache does, so that no register is filled from two."""
    count = math.prod(shape)
    held = make(count + LANES, np.float32)
    first = -held.ctypes.data // held.itemsize % LANES
    return held[first : first + count].reshape(shape)


def to_lanes(field: NDArray[Any]) -> Laned:
    """A field (H, W, numbers) in this layout, its margins filled."""
    rows, width, numbers = field.shape
    out, strip = empty_lanes(rows, width, numbers), strip_width(width)
    for lane in range(LANES):
        columns = field[:, lane * strip : (lane + 1) * strip]
        out[1:-1, 1 : columns.shape[1] + 1, lane::LANES] = columns
    fill_margins(out)
    return out


def from_lanes(field: Laned, width: int) -> NDArray[np.float32]:
    """The field (H, W, numbers) again."""
    rows, strip = field.shape[0] - 2, field.shape[1] - 2
    out = np.empty((rows, width, field.shape[2] // LANES), np.float32)
    for lane in range(LANES):
        columns = out[:, lane * strip : (lane + 1) * strip]
        columns[...] = field[1:-1, 1 : columns.shape[1] + 1, lane::LANES]
    return out


def fill_margins(field: Laned) -> None:
    """Copy what lies across the borders of the strips into the margins."""
    lanes = field.reshape(*field.shape[:2], -1, LANES)
    lanes[:, 0, :, 1:] = lanes[:, -2, :, :-1]
    lanes[:, -1, :, :-1] = lanes[:, 1, :, 1:]


@njit()
def room(numbers):
    """Room for so many numbers of each pixel at a position, so that no register is filled from two lines."""
    held = np.empty((numbers + 1) * LANES, np.float32)
    first = -held.ctypes.data // held.itemsize % LANES
    return held[first : first + numbers * LANES]


@kernel()
def fetch(row, i):
    """Begin to bring all that lies at a position of a row, for a loop that will soon be there.

    A position is many lines of the cache, and processors foresee too few of them.
    """
    flat, line = row.reshape(-1), np.int64(LANES)
    numbers = row.shape[1] // LANES
    for k in range(i * numbers, (i + 1) * numbers):
        prefetch(flat, k * line)


@kernel()
def fill_row_margins(row):
    """The same for one row while it changes."""
    for k in range(0, row.shape[1], LANES):
        for n in range(LANES - 1):
            row[0, k + n + 1] = row[-2, k + n]
            row[-1, k + n] = row[1, k + n + 1]
