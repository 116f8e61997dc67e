"""Matching cost of one pixel pair (paper, equations 1 to 4), as functions that the kernels inline.

Descriptors are those of `wideflow.descriptors`, the source's with their weights. Colours are (rows, columns,
4) uint8, those of the source already transformed to the target's. ``weights`` is (w_D, cap, w_C, w_E) with
w_D and w_C in the units of bytes: see `byte_weights`.
"""

from __future__ import annotations

import math

import numpy as np

from wideflow.compiled import njit
from wideflow.descriptors.distance import SAME, weighted_distance

IMPOSSIBLE = np.float32(1e9)  # cost of leaving the picture


def byte_weights(daisy: float, cap: float, colour: float, epipolar: float) -> tuple[np.generic, ...]:
    """Weights for unit-norm histograms and colours in 0..1, scaled to their bytes."""
    scale = 255.0**2
    w_d = np.float32(daisy / scale / SAME)
    return w_d, np.int32(cap * scale), np.float32(colour / 255), np.float32(epipolar)


@njit(inline="always")
def colour_distance(a, y, x, b, ty, tx):
    """Euclidean distance of the colours of two pixels, in bytes (equation 3)."""
    total = np.int32(0)
    for c in range(3):
        d = np.int32(np.int32(a[y, x, c]) - np.int32(b[ty, tx, c]))
        total = np.int32(total + np.int32(d * d))
    return math.sqrt(np.float32(total))


@njit(inline="always")
def sampson(F, x, y, tx, ty):
    """Squared Sampson distance of (x, y) and (tx, ty) in square pixels (equation 4)."""
    x, y = np.float32(x), np.float32(y)
    a = F[0, 0] * x + F[0, 1] * y + F[0, 2]
    b = F[1, 0] * x + F[1, 1] * y + F[1, 2]
    c = F[2, 0] * x + F[2, 1] * y + F[2, 2]
    p = F[0, 0] * tx + F[1, 0] * ty + F[2, 0]
    q = F[0, 1] * tx + F[1, 1] * ty + F[2, 1]
    r = tx * a + ty * b + c
    return r * r / (a * a + b * b + p * p + q * q + np.float32(1e-30))


@njit(inline="always")
def unary(source, target, source_colour, target_colour, F, x, y, u, v, weights, limit):
    """Equation 1 for the match (x, y) -> (x + u, y + v); descriptors are read at the nearest pixel.

    Descriptors, which take longest, are left out of a cost that is above ``limit`` without them.
    """
    w_d, cap, w_c, w_e = weights
    tx, ty = np.float32(x) + u, np.float32(y) + v
    px, py = tx + np.float32(0.5), ty + np.float32(0.5)
    if not (px >= 0 and py >= 0 and px < target.shape[1] and py < target.shape[0]):
        return IMPOSSIBLE
    ix, iy = np.uint32(px), np.uint32(py)
    cost = np.float32(0)
    if w_c > 0:
        cost += w_c * colour_distance(source_colour, y, x, target_colour, iy, ix)
    if w_e > 0:
        cost += w_e * sampson(F, x, y, tx, ty)
    if cost < limit:
        cost += w_d * np.float32(weighted_distance(source, y, x, target, iy, ix, cap))
    return np.float32(cost)
