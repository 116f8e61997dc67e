"""The order in which rows take their turns, so that each comes from memory but once for many turns.

A turn of a row needs the turn before of the rows beside it, and no more. So a band of rows takes its turns
while it is in the cache, row behind row: first what its own rows allow, which is a row less on either side
with every turn, then what is left between two bands. The result is that of whole turns.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_BAND = 32  # rows that a thread takes at once, at least
Order = tuple[NDArray[np.int64], NDArray[np.int64]]


@lru_cache(maxsize=32)
def in_bands(rows: int, first: int, turns: int) -> tuple[Order, Order]:
    """The orders of bands, and then of what is left between them.

    Each is rows and turns (n, 2), and where each band begins and ends in these: bands are independent of one
    another. Turns count from ``first``.
    """
    count = max(1, rows // max(_BAND, 2 * turns))
    borders = [band * rows // count for band in range(count + 1)]
    within, between = [], []
    for top, bottom in pairwise(borders):
        above, below = int(top > 0), int(bottom < rows)  # is there a band on that side?
        within.append(
            [
                (front - turn, first + turn)
                for front in range(top, bottom + turns)
                for turn in range(turns)
                if top + above * turn <= front - turn < bottom - below * turn
            ]
        )
    for border in borders[1:-1]:
        between.append(
            [
                (front - turn, first + turn)
                for front in range(border, border + 2 * turns)
                for turn in range(turns)
                if border - turn <= front - turn < border + turn
            ]
        )
    return _order(within), _order(between)


def _order(bands: list[list[tuple[int, int]]]) -> Order:
    starts = np.cumsum([0, *(len(band) for band in bands)])
    return np.array([each for band in bands for each in band], np.int64).reshape(-1, 2), starts
