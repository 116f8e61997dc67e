"""Small patches around points: taken where a point was well seen, found again in other pictures.

A patch is compared by its pattern, not by its brightness, and only by those of its pixels that lie on the
surface of the point where it was taken: at an edge the background would hold the point back.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from wideflow.compiled import njit

HALF = 6  # px to either side
SIDE = 2 * HALF + 1
_SURFACE = 0.06  # share of depth within which a pixel is of the point's surface
BEFORE = 0.1  # share of depth by which something must be nearer to hide the point
LEAST = 0.4  # share of a patch that must be seen for it to tell anything
_SIGMA = 4.0  # px, of the weight around the point
_FLOOR = 4.0  # square grey levels of noise: below it a pattern tells nothing
_HOLD = 8.0  # square grey levels a square px: a slope below which a patch does not move a prediction
_ROUNDS = 8  # of the alignment
_SMALL = 0.03  # px: steps below this end it


@njit()
def take_patch(
    picture: NDArray[Any],
    nearest: NDArray[Any],
    farthest: NDArray[Any],
    x: float,
    y: float,
    z: float,
    patch: NDArray[Any],
    weight: NDArray[Any],
) -> float:
    """Fill ``patch`` and ``weight`` (SIDE, SIDE) with what lies around a point; its weighted variance."""
    height, width = picture.shape
    total, mean = 0.0, 0.0
    for j in range(SIDE):
        for i in range(SIDE):
            u, v = x + i - HALF, y + j - HALF
            weight[j, i] = 0.0
            patch[j, i] = 0.0
            if not (0 <= u <= width - 1 and 0 <= v <= height - 1):
                continue
            row, column = int(v + 0.5), int(u + 0.5)
            near = (i - HALF) ** 2 + (j - HALF) ** 2
            own = near <= 2
            least, most = nearest[row, column], farthest[row, column]
            if not own and not (least > (1 - _SURFACE) * z and most < (1 + _SURFACE) * z):
                continue
            weight[j, i] = math.exp(-near / (2 * _SIGMA * _SIGMA))
            patch[j, i] = sample(picture, u, v)
            total += weight[j, i]
            mean += weight[j, i] * patch[j, i]
    if total <= 0:
        return 0.0
    mean /= total
    variance = 0.0
    for j in range(SIDE):
        for i in range(SIDE):
            patch[j, i] -= mean
            variance += weight[j, i] * patch[j, i] ** 2
    return variance / total


@njit()
def likeness(
    picture: NDArray[Any],
    nearest: NDArray[Any],
    x: float,
    y: float,
    z: float,
    scale: float,
    patch: NDArray[Any],
    weight: NDArray[Any],
) -> float:
    """Correlation of a patch with a picture around a place, -1 to 1; noise alone gives about 0.

    What lies before the point, at depth ``z``, has no say; 0 if little else is left. ``nearest`` is the least
    depth around each pixel: at an edge, pixels are a mixture of both sides.
    """
    total, mean, square, product, own, whole = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(SIDE):
        for i in range(SIDE):
            w = weight[j, i]
            if w <= 0:
                continue
            u, v = x + scale * (i - HALF), y + scale * (j - HALF)
            whole += w
            if not _counts(nearest, u, v, z):
                continue
            value = sample(picture, u, v)
            total += w
            mean += w * value
            square += w * value * value
            product += w * value * patch[j, i]
            own += w * patch[j, i] ** 2
    if total < LEAST * whole or whole <= 0:
        return 0.0
    mean /= total
    variance = max(square / total - mean * mean, 0.0)
    return product / total / math.sqrt((variance + _FLOOR) * (own / total + _FLOOR))


@njit()
def open_share(
    nearest: NDArray[Any], x: float, y: float, z: float, scale: float, weight: NDArray[Any]
) -> float:
    """How much of a patch around a place nothing hides, 0 to 1."""
    total, whole = 0.0, 1e-9
    for j in range(SIDE):
        for i in range(SIDE):
            if weight[j, i] > 0:
                whole += weight[j, i]
                if _counts(nearest, x + scale * (i - HALF), y + scale * (j - HALF), z):
                    total += weight[j, i]
    return total / whole


@njit()
def align(
    picture: NDArray[Any],
    nearest: NDArray[Any],
    x: float,
    y: float,
    z: float,
    scale: float,
    patch: NDArray[Any],
    weight: NDArray[Any],
) -> tuple[float, float]:
    """Where near (x, y) a picture shows the patch: steps of Gauss and Newton on its pattern.

    Where the patch has no pattern, or one in a single direction, it stays at (x, y): that is not drawn along
    edges, nor by noise.
    """
    start_x, start_y = x, y
    for _ in range(_ROUNDS):
        total, mean = 0.0, 0.0
        for j in range(SIDE):
            for i in range(SIDE):
                u, v = x + scale * (i - HALF), y + scale * (j - HALF)
                if weight[j, i] > 0 and _counts(nearest, u, v, z):
                    total += weight[j, i]
                    mean += weight[j, i] * sample(picture, u, v)
        if total <= 0:
            return x, y
        mean /= total
        a, b, c, e, f, power, cross = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(1, SIDE - 1):
            for i in range(1, SIDE - 1):
                w = weight[j, i]
                u, v = x + scale * (i - HALF), y + scale * (j - HALF)
                if w <= 0 or not _counts(nearest, u, v, z):
                    continue
                value = sample(picture, u, v) - mean
                power += w * value * value
                cross += w * value * patch[j, i]
        gain = min(max(cross / (power + _FLOOR * total), 0.5), 2.0)
        for j in range(1, SIDE - 1):
            for i in range(1, SIDE - 1):
                w = min(weight[j, i], min(weight[j, i - 1], weight[j, i + 1]))
                w = min(w, min(weight[j - 1, i], weight[j + 1, i]))
                u, v = x + scale * (i - HALF), y + scale * (j - HALF)
                if w <= 0 or not _counts(nearest, u, v, z):
                    continue
                gx = 0.5 * (patch[j, i + 1] - patch[j, i - 1])
                gy = 0.5 * (patch[j + 1, i] - patch[j - 1, i])
                left = gain * (sample(picture, u, v) - mean) - patch[j, i]
                a += w * gx * gx
                b += w * gx * gy
                c += w * gy * gy
                e += w * gx * left
                f += w * gy * left
        hold = _HOLD * total
        e += hold * (x - start_x) / scale
        f += hold * (y - start_y) / scale
        determinant = (a + hold) * (c + hold) - b * b
        step_x = scale * ((c + hold) * e - b * f) / determinant
        step_y = scale * ((a + hold) * f - b * e) / determinant
        x -= step_x
        y -= step_y
        if step_x * step_x + step_y * step_y < _SMALL * _SMALL:
            break
    return x, y


@njit()
def search(
    picture: NDArray[Any],
    nearest: NDArray[Any],
    x: float,
    y: float,
    z: float,
    scale: float,
    patch: NDArray[Any],
    weight: NDArray[Any],
    reach: int,
) -> tuple[float, float, float]:
    """The place within ``reach`` px that is most like the patch, and how much it is."""
    best_x, best_y, best = x, y, likeness(picture, nearest, x, y, z, scale, patch, weight)
    for j in range(-reach, reach + 1, 2):
        for i in range(-reach, reach + 1, 2):
            alike = likeness(picture, nearest, x + i, y + j, z, scale, patch, weight)
            if alike > best:
                best_x, best_y, best = x + i, y + j, alike
    return best_x, best_y, best


@njit()
def _counts(nearest: NDArray[Any], u: float, v: float, z: float) -> bool:
    """Whether a place is in the picture, and nothing around it is known to lie before depth z."""
    height, width = nearest.shape
    if not (0 <= u <= width - 1 and 0 <= v <= height - 1):
        return False
    there = nearest[int(v + 0.5), int(u + 0.5)]
    return not there < (1 - BEFORE) * z


@njit()
def sample(picture: NDArray[Any], u: float, v: float) -> float:
    """A picture between its pixels."""
    height, width = picture.shape
    x, y = min(int(u), width - 2), min(int(v), height - 2)
    s, t = u - x, v - y
    top = (1 - s) * picture[y, x] + s * picture[y, x + 1]
    low = (1 - s) * picture[y + 1, x] + s * picture[y + 1, x + 1]
    return float((1 - t) * top + t * low)
