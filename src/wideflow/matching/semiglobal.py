"""Which of many planes each pixel lies on: semi-global matching (Hirschmueller), with planes for disparities.

Costs are summed along straight lines from eight sides. To go on along a line on the same plane is free, on
the next one it costs a little, and on any other more, though less across an edge of the picture. So a floor
is one label however far it reaches, and a repeated pattern is put where fewest surfaces end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, over_rows

_NEXT = np.uint16(35)  # cost of going on with the next plane of an orientation
_OTHER = np.float32(900)  # with any other plane
_EDGE = np.float32(0.03)  # a step of 1 / 0.03 grey levels halves that
_SIDES = np.array([[0, 1], [1, 0], [1, 1], [1, -1]], np.int64)  # rows and columns; each and its opposite


def likeliest(
    volume: NDArray[np.uint8], joined: NDArray[np.bool_], grey: NDArray[np.uint8]
) -> NDArray[np.int32]:
    """The plane (h, w) of least cost along all lines.

    Parameters
    ----------
    volume : (h, w, L) uint8
        Cost of each plane at each pixel.
    joined : (L,) bool
        Whether a plane is next to the one before.
    grey : (h, w) uint8
        The picture whose edges part surfaces.
    """
    total = np.zeros(volume.shape, np.uint16)
    # what it costs to come from the plane before and from the one after; more than from any if they are none
    apart = np.uint16(16_384)
    before = np.where(joined, _NEXT, apart).astype(np.uint16)
    after = np.append(before[1:], apart)
    rows, columns = grey.shape
    for down, right in _SIDES:
        lines = rows if down == 0 else columns if right == 0 else rows + columns - 1
        _sum_lines(lines, volume, grey.astype(np.float32), before, after, down, right, total)
    out = np.empty(volume.shape[:2], np.int32)
    _least(len(out), total, out)
    return out


@kernel()
def _follow(volume, grey, before, after, y, x, down, right, count, row, total):
    """Add to ``total`` the costs along one line of ``count`` pixels; ``row`` (2, L + 2) is room to work."""
    planes = volume.shape[2]
    here, last = row[0], row[1]
    low = np.uint16(0)
    last[:] = 0
    jump = np.uint16(0)
    for i in range(count):
        if i > 0:
            step = abs(grey[y, x] - grey[y - down, x - right])
            jump = np.uint16(max(_OTHER / (1 + _EDGE * step), np.float32(_NEXT + 1)))
        any_other = np.uint16(low + jump)
        costs, sums = volume[y, x], total[y, x]
        least = np.uint16(65535)
        for k in range(planes):
            best = min(last[k + 1], any_other)
            best = min(best, np.uint16(last[k] + before[k]))
            best = min(best, np.uint16(last[k + 2] + after[k]))
            cost = np.uint16(costs[k] + best - low)
            here[k + 1] = cost
            sums[k] += cost
            least = min(least, cost)
        low = least
        here, last = last, here
        y += down
        x += right


@over_rows()
def _sum_lines(first, end, volume, grey, before, after, down, right, total):
    """All lines of one direction, there and back; no two lines share a pixel."""
    rows, columns, planes = volume.shape
    for line in range(first, end):
        row = np.zeros((2, planes + 2), np.uint16)
        y, x = np.int64(0), np.int64(0)
        if down == 0:
            y, count = np.int64(line), columns
        elif right == 0:
            x, count = np.int64(line), rows
        elif right > 0:
            x, y = np.int64(max(line - (rows - 1), 0)), np.int64(max(rows - 1 - line, 0))
            count = min(rows - y, columns - x)
        else:
            x, y = np.int64(min(line, columns - 1)), np.int64(max(line - (columns - 1), 0))
            count = min(rows - y, x + 1)
        _follow(volume, grey, before, after, y, x, down, right, count, row, total)
        y, x = y + (count - 1) * down, x + (count - 1) * right
        _follow(volume, grey, before, after, y, x, -down, -right, count, row, total)


@over_rows()
def _least(first, end, total, out):
    _, columns, planes = total.shape
    for y in range(first, end):
        for x in range(columns):
            best = 0
            for k in range(1, planes):
                if total[y, x, k] < total[y, x, best]:
                    best = k
            out[y, x] = best
