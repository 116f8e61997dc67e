"""What each of many planes costs at each pixel of either picture.

A plane takes the second picture onto the first. Where it is right, both then show the same: so a window needs
no shape, however slanted the plane. Windows are compared by the census transform, which asks of every pixel
around the centre whether it is brighter, and so knows no exposure.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit, over_rows
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


@njit()
def _warp(picture, H, framed, shown):
    """The second picture as the first would show it, were all on the plane; 0 where it shows nothing."""
    rows, columns = shown.shape
    right, bottom = picture.shape[1] - 1, picture.shape[0] - 1
    for y in range(rows):
        for x in range(columns):
            shown[y, x] = 0
            framed[y + _RIM, x + _RIM] = 0
            w = H[2, 0] * x + H[2, 1] * y + H[2, 2]
            if w <= 0:
                continue
            u = (H[0, 0] * x + H[0, 1] * y + H[0, 2]) / w
            v = (H[1, 0] * x + H[1, 1] * y + H[1, 2]) / w
            if not (0 <= u <= right and 0 <= v <= bottom):
                continue
            ix, iy = min(int(u), right - 1), min(int(v), bottom - 1)
            fx, fy = np.float32(u - ix), np.float32(v - iy)
            a, c = picture[iy, ix], picture[iy + 1, ix]
            a += fx * (picture[iy, ix + 1] - a)
            c += fx * (picture[iy + 1, ix + 1] - c)
            framed[y + _RIM, x + _RIM] = np.int16(a + fy * (c - a) + np.float32(0.5))
            shown[y, x] = 1


@njit()
def _differences(marks, framed, shown, differ, sums):
    """Comparisons that differ, summed over 3 by 3 pixels."""
    rows, columns = shown.shape
    for y in range(rows):
        line = differ[y + 1]
        line[:] = 0
        for i in range(len(_OFFSETS)):
            dy, dx = _OFFSETS[i, 0] + _RIM, _OFFSETS[i, 1] + _RIM
            mark = marks[i, y]
            around, centre = framed[y + dy], framed[y + _RIM]
            for x in range(columns):
                line[x + 1] += (around[x + dx] > centre[x + _RIM] + _BRIGHTER) ^ mark[x]
        for x in range(columns):
            if shown[y, x] == 0:
                line[x + 1] = _OUTSIDE // 9
        line[0], line[columns + 1] = line[1], line[columns]
    differ[0], differ[rows + 1] = differ[1], differ[rows]
    for y in range(rows):
        one, two, three = differ[y], differ[y + 1], differ[y + 2]
        for x in range(columns):
            sums[y, x] = (
                one[x] + one[x + 1] + one[x + 2]
                + two[x] + two[x + 1] + two[x + 2]
                + three[x] + three[x + 1] + three[x + 2]
            )  # fmt: skip


@njit()
def _carry(sums, back, out):
    """Costs of a plane in the second picture: those of the pixels of the first that it shows there."""
    rows, columns = sums.shape
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            w = back[2, 0] * x + back[2, 1] * y + back[2, 2]
            out[y, x] = _OUTSIDE
            if w <= 0:
                continue
            u = (back[0, 0] * x + back[0, 1] * y + back[0, 2]) / w + 0.5
            v = (back[1, 0] * x + back[1, 1] * y + back[1, 2]) / w + 0.5
            if 0 <= u < columns and 0 <= v < rows:
                out[y, x] = sums[int(v), int(u)]


@over_rows()
def _compare(first, end, marks, second, homographies, back, here, there):
    rows, columns, count = here.shape
    for block in range(first, end):
        start, stop = block * _BLOCK, min((block + 1) * _BLOCK, count)
        framed = np.zeros((rows + 2 * _RIM, columns + 2 * _RIM), np.int16)
        shown = np.empty((rows, columns), np.uint8)
        differ = np.empty((rows + 2, columns + 2), np.uint8)
        sums = np.empty((_BLOCK, rows, columns), np.uint8)
        carried = np.empty((_BLOCK, *there.shape[:2]), np.uint8)
        for plane in range(start, stop):
            _warp(second, homographies[plane], framed, shown)
            _differences(marks, framed, shown, differ, sums[plane - start])
            _carry(sums[plane - start], back[plane], carried[plane - start])
        for y in range(rows):
            for x in range(columns):
                for plane in range(start, stop):
                    here[y, x, plane] = sums[plane - start, y, x]
        for y in range(there.shape[0]):
            for x in range(there.shape[1]):
                for plane in range(start, stop):
                    there[y, x, plane] = carried[plane - start, y, x]
