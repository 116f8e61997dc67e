"""Matching cost of one pixel pair (paper, equations 1 to 4), as functions that the kernels inline.

Descriptors are those of `wideflow.descriptors`. Colours are (rows, columns, 4) uint8, those of the
source already transformed to the target's. ``weights`` is (w_D, cap, w_C, w_E) with w_D and w_C in the units
of bytes: see `byte_weights`.
"""

from __future__ import annotations

import math

import numpy as np

from wideflow.compiled import njit
from wideflow.descriptors.distance import daisy_distance

IMPOSSIBLE = np.float32(1e9)  # cost of leaving the picture


def byte_weights(daisy: float, cap: float, colour: float, epipolar: float) -> tuple[np.float32, ...]:
    """Weights for unit-norm histograms and colours in 0..1, scaled to their bytes."""
    scale = 255.0**2
    return np.float32(daisy / scale), np.float32(cap * scale), np.float32(colour / 255), np.float32(epipolar)


@njit(inline="always")
def colour_distance(a, y, x, b, ty, tx):
    """Euclidean distance of the colours of two pixels, in bytes (equation 3)."""
    d0 = np.float32(a[y, x, 0]) - np.float32(b[ty, tx, 0])
    d1 = np.float32(a[y, x, 1]) - np.float32(b[ty, tx, 1])
    d2 = np.float32(a[y, x, 2]) - np.float32(b[ty, tx, 2])
    return np.float32(math.sqrt(d0 * d0 + d1 * d1 + d2 * d2))


@njit(inline="always")
def sampson(F, x, y, tx, ty):
    """Squared Sampson distance of (x, y) and (tx, ty) in square pixels (equation 4)."""
    a = F[0, 0] * x + F[0, 1] * y + F[0, 2]
    b = F[1, 0] * x + F[1, 1] * y + F[1, 2]
    c = F[2, 0] * x + F[2, 1] * y + F[2, 2]
    p = F[0, 0] * tx + F[1, 0] * ty + F[2, 0]
    q = F[0, 1] * tx + F[1, 1] * ty + F[2, 1]
    r = tx * a + ty * b + c
    return np.float32(r * r / (a * a + b * b + p * p + q * q + 1e-30))


@njit(inline="always")
def unary(source, target, source_colour, target_colour, F, x, y, u, v, weights):
    """Equation 1 for the match (x, y) -> (x + u, y + v); descriptors are read at the nearest pixel."""
    w_d, cap, w_c, w_e = weights
    tx, ty = x + u, y + v
    ix, iy = math.floor(tx + np.float32(0.5)), math.floor(ty + np.float32(0.5))
    if ix < 0 or iy < 0 or ix >= target.shape[1] or iy >= target.shape[0]:
        return IMPOSSIBLE
    cost = w_d * daisy_distance(source, y, x, target, iy, ix, cap)
    if w_c > 0:
        cost += w_c * colour_distance(source_colour, y, x, target_colour, iy, ix)
    if w_e > 0:
        cost += w_e * sampson(F, x, y, tx, ty)
    return np.float32(cost)
