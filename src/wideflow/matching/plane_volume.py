"""What each of many planes costs at each pixel of either picture.

A plane takes the second picture onto the first. Where it is right, both then show the same: so a window needs
no shape, however slanted the plane. Windows are compared by the census transform, which asks of every pixel
around the centre whether it is brighter, and so knows no exposure.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, over_rows
from wideflow.geometry.picture import grey_bytes

Floats = NDArray[np.float32]
Costs = NDArray[np.uint8]

_OFFSETS = np.array([[y, x] for y in range(-2, 3) for x in range(-2, 3) if x or y], np.int64)
_BRIGHTER = 1  # grey levels by which a pixel must be brighter than the centre to count
_RIM = 2  # px around a picture that its windows reach
_OUTSIDE = 99  # cost where a plane leads out of the other picture: nearly that of what does not match
_BLOCK = 16  # planes at a time, so that their costs at a pixel are written together


def plane_volumes(pictures: tuple[Floats, Floats], homographies: NDArray[np.float64]) -> tuple[Costs, Costs]:
    """Costs of every plane in both pictures.

    Parameters
    ----------
    pictures : pair of (h, w, 3) float32
        0..1; sizes may differ.
    homographies : (L, 3, 3) float64
        From the first to the second, with a third coordinate above 0 in front.

    Returns
    -------
    pair of (h, w, L) uint8
        0 for windows that are alike to 216: how many of 24 comparisons differ, summed over 3 by 3 pixels.
    """
    first, second = (grey_bytes(picture) for picture in pictures)
    back = np.linalg.inv(homographies)
    # the same planes seen from the other side: in front of both is in front
    centre = np.array([first.shape[1] / 2, first.shape[0] / 2, 1.0])
    middle = homographies @ centre
    back *= np.sign((back[:, 2] * middle).sum(axis=1) * middle[:, 2])[:, None, None]
    count = len(homographies)
    volumes = tuple(np.empty((*grey.shape, count), np.uint8) for grey in (first, second))
    framed = cv2.copyMakeBorder(first, *(_RIM,) * 4, cv2.BORDER_REPLICATE).astype(np.int16)
    marks = np.empty((len(_OFFSETS), *first.shape), np.uint8)
    _mark(len(first), framed, marks)
    blocks = -(-count // _BLOCK)
    _compare(blocks, marks, second.astype(np.float32), homographies, np.ascontiguousarray(back), *volumes)
    return volumes[0], volumes[1]


@over_rows()
def _mark(first, end, framed, marks):
    columns = marks.shape[2]
    for y in range(first, end):
        for i in range(len(_OFFSETS)):
            dy, dx = _OFFSETS[i] + _RIM
            for x in range(columns):
                marks[i, y, x] = framed[y + dy, x + dx] > framed[y + _RIM, x + _RIM] + _BRIGHTER


@kernel()
def _leads(H, y, width, height, places):
    """Where the pixels of a row lie in a picture: x and y, 0 where they are not ``shown``; in its rows."""
    across, down, shown = places[0], places[1], places[2]
    start_x, start_y, start_z = (
        np.float32(H[0, 1] * y + H[0, 2]),
        np.float32(H[1, 1] * y + H[1, 2]),
        np.float32(H[2, 1] * y + H[2, 2]),
    )
    step_x, step_y, step_z = np.float32(H[0, 0]), np.float32(H[1, 0]), np.float32(H[2, 0])
    zero, one = np.float32(0), np.float32(1)
    for x in range(places.shape[1]):
        w = start_z + np.float32(x) * step_z
        scale = one / w
        u, v = (start_x + np.float32(x) * step_x) * scale, (start_y + np.float32(x) * step_y) * scale
        inside = (w > 0) & (u >= 0) & (u <= width) & (v >= 0) & (v <= height)
        across[x], down[x], shown[x] = u if inside else zero, v if inside else zero, np.float32(inside)


@kernel()
def _warp(picture, H, framed, shown, places):
    """The second picture as the first would show it, were all on the plane; 0 where it shows nothing."""
    rows, columns = shown.shape
    right, bottom = np.float32(picture.shape[1] - 1), np.float32(picture.shape[0] - 1)
    last_x, last_y, one = np.uint32(picture.shape[1] - 2), np.uint32(picture.shape[0] - 2), np.uint32(1)
    across, down, inside = places[0], places[1], places[2]
    for y in range(rows):
        _leads(H, y, right, bottom, places)
        drawn, seen = framed[y + _RIM, _RIM:], shown[y]
        for x in range(columns):
            ix, iy = min(np.uint32(across[x]), last_x), min(np.uint32(down[x]), last_y)
            fx, fy = across[x] - np.float32(ix), down[x] - np.float32(iy)
            a, b = picture[iy, ix], picture[iy, ix + one]
            c, d = picture[iy + one, ix], picture[iy + one, ix + one]
            a += fx * (b - a)
            c += fx * (d - c)
            drawn[x] = np.int16((a + fy * (c - a)) * inside[x] + np.float32(0.5))
            seen[x] = np.uint8(inside[x])


@kernel()
def _differences(marks, framed, shown, differ, sums, limit):
    """Comparisons that differ, summed over 3 by 3 pixels."""
    rows, columns = shown.shape
    for y in range(rows):
        line, seen = differ[y + 1], shown[y]
        line[:] = 0
        centre = framed[y + _RIM, _RIM:]
        for x in range(columns):
            limit[x] = np.int16(centre[x] + _BRIGHTER)
        inner = line[1:]
        for i in range(len(_OFFSETS)):
            mark, around = marks[i, y], framed[y + _OFFSETS[i, 0] + _RIM, _OFFSETS[i, 1] + _RIM :]
            for x in range(columns):
                inner[x] = np.uint8(inner[x] + np.uint8(np.uint8(around[x] > limit[x]) ^ mark[x]))
        for x in range(columns):
            inner[x] = inner[x] if seen[x] else np.uint8(_OUTSIDE // 9)
        line[0], line[columns + 1] = line[1], line[columns]
    for x in range(columns + 2):
        differ[0, x], differ[rows + 1, x] = differ[1, x], differ[rows, x]
    for y in range(rows):
        one, two, three = differ[y], differ[y + 1], differ[y + 2]
        for x in range(columns):
            sums[y, x] = (
                one[x] + one[x + 1] + one[x + 2]
                + two[x] + two[x + 1] + two[x + 2]
                + three[x] + three[x + 1] + three[x + 2]
            )  # fmt: skip


@kernel()
def _carry(sums, back, out, places):
    """Costs of a plane in the second picture: those of the pixels of the first that it shows there."""
    rows, columns = sums.shape
    right, bottom = np.float32(columns - 0.5), np.float32(rows - 0.5)
    last_x, last_y, half = np.uint32(columns - 1), np.uint32(rows - 1), np.float32(0.5)
    across, down, inside = places[0], places[1], places[2]
    for y in range(out.shape[0]):
        _leads(back, y, right, bottom, places)
        line = out[y]
        for x in range(out.shape[1]):
            ix = min(np.uint32(across[x] + half), last_x)
            iy = min(np.uint32(down[x] + half), last_y)
            line[x] = sums[iy, ix] if inside[x] > 0 else np.uint8(_OUTSIDE)


@over_rows()
def _compare(first, end, marks, second, homographies, back, here, there):
    rows, columns, count = here.shape
    for block in range(first, end):
        start, stop = block * _BLOCK, min((block + 1) * _BLOCK, count)
        framed = np.zeros((rows + 2 * _RIM, columns + 2 * _RIM), np.int16)
        shown = np.empty((rows, columns), np.uint8)
        differ = np.empty((rows + 2, columns + 2), np.uint8)
        limit = np.empty(columns, np.int16)
        sums = np.empty((_BLOCK, rows, columns), np.uint8)
        carried = np.empty((_BLOCK, *there.shape[:2]), np.uint8)
        places, back_there = np.empty((3, columns), np.float32), np.empty((3, there.shape[1]), np.float32)
        for plane in range(start, stop):
            _warp(second, homographies[plane], framed, shown, places)
            _differences(marks, framed, shown, differ, sums[plane - start], limit)
            _carry(sums[plane - start], back[plane], carried[plane - start], back_there)
        for y in range(rows):
            for x in range(columns):
                for plane in range(start, stop):
                    here[y, x, plane] = sums[plane - start, y, x]
        for y in range(there.shape[0]):
            for x in range(there.shape[1]):
                for plane in range(start, stop):
                    there[y, x, plane] = carried[plane - start, y, x]
