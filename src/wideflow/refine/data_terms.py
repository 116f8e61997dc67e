"""Data and epipolar terms of the four-frame energy (paper, appendix), and their linearisation.

Unknowns at every pixel x of picture A at t, in this order: u1 (to A at t + 1), u2 (to B at t) and u3, which
closes the loop: x + u1 + u2 + u3 lies in B at t + 1. The terms only know the three places p1 = x + u1,
p2 = x + u2, p3 = x + u1 + u2 + u3; the chain rule back to u is `to_flows`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import prange
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.refine.epipolar_terms import epipolar_t, epipolar_t1
from wideflow.refine.sampling import CHANNELS, COLOURS, cubic
from wideflow.refine.system import (
    ALPHA,
    COLOUR,
    EPSILON,
    GRADIENT,
    LATE_A,
    LATE_B,
    P1_X,
    P1_XX,
    P1P3_XX,
    P2_X,
    P2_XX,
    P2P3_XX,
    P3_X,
    P3_XX,
    P3_XY,
    P3_Y,
    P3_YY,
    PLACES,
    STEREO_COLOUR,
    STEREO_GRADIENT,
    U1X,
    U1Y,
    U2X,
    U2Y,
    U3X,
    U3Y,
    to_flows,
)

FRAMES = 3  # pictures with moving places


def linearise(
    features: Sequence[NDArray[np.float32]],
    visible: NDArray[np.uint8],
    fundamental: NDArray[np.float64],
    weights: NDArray[np.float32],
    flows: NDArray[np.float32],
    system: NDArray[np.float32],
    penalty: NDArray[np.float32],
) -> float:
    """Gauss-Newton system of the data and epipolar terms around the present flows, and their energy.

    Parameters
    ----------
    features : four of (h + 4, w + 4, 5) float32
        Feature pictures of A at t, B at t, A at t + 1, B at t + 1.
    visible : (H, W, 3) uint8
        1 where the pixel is seen in A at t + 1, in B at t, in B at t + 1.
    fundamental : (2, 3, 3) float64
        F of t and of t + 1, B' F A = 0.
    weights : (8,) float32
        Colour and gradient weight over time, the same between cameras, alpha, epsilon of the penaliser, and
        how far B at t and A at t + 1 are moved in time.
    flows : (H, W, 6) float32
        u1, u2, u3 in pixels.
    system : (H, W, 27) float32
        Filled: M and b of the quadratic du' M du + 2 b' du that majorises the linearised terms.

    penalty : (H, W) float32
        Filled: mean of the data terms that are on at the pixel, grey levels; NaN where none is.

    Returns
    -------
    float
        Sum of the terms over all pixels.
    """
    energy = np.empty(flows.shape[0])
    a0, b0, a1, b1 = features
    _linearise(a0, b0, a1, b1, visible, fundamental, weights, flows, system, penalty, energy)
    return float(energy.sum())


@njit(inline="always")
def _difference(first, second, colour_weight, gradient_weight, epsilon):
    """Penalty of one data term; the weights of its colour and of its gradient part in the quadratic."""
    colour = gradient = np.float32(0.0)
    for c in range(COLOURS):
        d = first[c] - second[c]
        colour += d * d
    for c in range(COLOURS, CHANNELS):
        d = first[c] - second[c]
        gradient += d * d
    colour = np.sqrt(colour + epsilon * epsilon)
    gradient = np.sqrt(gradient + epsilon * epsilon)
    penalty = colour_weight * colour + gradient_weight * gradient
    return penalty, np.float32(0.5) * colour_weight / colour, np.float32(0.5) * gradient_weight / gradient


@njit(parallel=True, error_model="numpy")
def _linearise(a0, b0, a1, b1, visible, fundamental, weights, flows, system, penalty, energy):
    rows, columns = flows.shape[:2]
    for y in prange(rows):
        values, slopes_x, slopes_y = (
            np.empty((FRAMES, CHANNELS), np.float32),
            np.empty((FRAMES, CHANNELS), np.float32),
            np.empty((FRAMES, CHANNELS), np.float32),
        )
        v1, v2, v3 = values[0], values[1], values[2]
        x1, x2, x3 = slopes_x[0], slopes_x[1], slopes_x[2]
        y1, y2, y3 = slopes_y[0], slopes_y[1], slopes_y[2]
        v0 = np.empty(CHANNELS, np.float32)
        places = np.empty(PLACES, np.float32)
        total = 0.0
        for x in range(columns):
            for c in range(CHANNELS):
                v0[c] = a0[y + 2, x + 2, c]
            p1x, p1y = x + flows[y, x, U1X], y + flows[y, x, U1Y]
            p2x, p2y = x + flows[y, x, U2X], y + flows[y, x, U2Y]
            p3x = p1x + flows[y, x, U2X] + flows[y, x, U3X]
            p3y = p1y + flows[y, x, U2Y] + flows[y, x, U3Y]
            for k in range(PLACES):
                places[k] = np.float32(0.0)
            seen1, seen2, seen3 = visible[y, x, 0], visible[y, x, 1], visible[y, x, 2]
            if seen1:
                cubic(a1, p1x, p1y, v1, x1, y1)
            if seen2:
                cubic(b0, p2x, p2y, v2, x2, y2)
            if seen3:
                cubic(b1, p3x, p3y, v3, x3, y3)
            data, terms = np.float32(0), 0
            if seen1:
                data += _fixed(
                    v1, x1, y1, v0, weights[COLOUR], weights[GRADIENT], weights[EPSILON], places, P1_XX, P1_X
                )
                terms += 1
            if seen2:
                data += _fixed(
                    v2,
                    x2,
                    y2,
                    v0,
                    weights[STEREO_COLOUR],
                    weights[STEREO_GRADIENT],
                    weights[EPSILON],
                    places,
                    P2_XX,
                    P2_X,
                )
                terms += 1
            if seen2 and seen3:
                data += _moving(
                    v3,
                    x3,
                    y3,
                    v2,
                    x2,
                    y2,
                    weights[COLOUR],
                    weights[GRADIENT],
                    weights[EPSILON],
                    places,
                    P2_XX,
                    P2P3_XX,
                    P2_X,
                )
                terms += 1
            if seen1 and seen3:
                data += _moving(
                    v3,
                    x3,
                    y3,
                    v1,
                    x1,
                    y1,
                    weights[STEREO_COLOUR],
                    weights[STEREO_GRADIENT],
                    weights[EPSILON],
                    places,
                    P1_XX,
                    P1P3_XX,
                    P1_X,
                )
                terms += 1
            penalty[y, x] = data / terms if terms else np.nan
            alpha, epsilon = weights[ALPHA], weights[EPSILON]
            geometry = epipolar_t(
                fundamental, x, y, p2x, p2y, p3x, p3y, weights[LATE_B], alpha, epsilon, places
            )
            geometry += epipolar_t1(
                fundamental, x, y, p1x, p1y, p3x, p3y, weights[LATE_A], alpha, epsilon, places
            )
            total += geometry + data
            to_flows(places, system, y, x)
        energy[y] = total


@njit(inline="always")
def _fixed(v, vx, vy, v0, colour_weight, gradient_weight, epsilon, places, block, right):
    """E_D 1 and 3: a moving place against the pixel itself."""
    penalty, colour, gradient = _difference(v, v0, colour_weight, gradient_weight, epsilon)
    xx = xy = yy = bx = by = np.float32(0)
    for c in range(CHANNELS):
        w = colour if c < COLOURS else gradient
        wx, wy, d = w * vx[c], w * vy[c], v[c] - v0[c]
        xx += wx * vx[c]
        xy += wx * vy[c]
        yy += wy * vy[c]
        bx += wx * d
        by += wy * d
    places[block] += xx
    places[block + 1] += xy
    places[block + 2] += yy
    places[right] += bx
    places[right + 1] += by
    return penalty


@njit(inline="always")
def _moving(v3, x3, y3, v, vx, vy, colour_weight, gradient_weight, epsilon, places, block, mixed, right):
    """E_D 2 and 4: the place p3 against another moving place."""
    penalty, colour, gradient = _difference(v3, v, colour_weight, gradient_weight, epsilon)
    xx = xy = yy = bx = by = np.float32(0)
    xx3 = xy3 = yy3 = bx3 = by3 = np.float32(0)
    mixed_xx = mixed_xy = mixed_yx = mixed_yy = np.float32(0)
    for c in range(CHANNELS):
        w = colour if c < COLOURS else gradient
        wx, wy, wx3, wy3, d = w * vx[c], w * vy[c], w * x3[c], w * y3[c], v3[c] - v[c]
        xx += wx * vx[c]
        xy += wx * vy[c]
        yy += wy * vy[c]
        bx += wx * d
        by += wy * d
        xx3 += wx3 * x3[c]
        xy3 += wx3 * y3[c]
        yy3 += wy3 * y3[c]
        bx3 += wx3 * d
        by3 += wy3 * d
        mixed_xx += wx * x3[c]
        mixed_xy += wx * y3[c]
        mixed_yx += wy * x3[c]
        mixed_yy += wy * y3[c]
    places[block] += xx
    places[block + 1] += xy
    places[block + 2] += yy
    places[right] -= bx
    places[right + 1] -= by
    places[P3_XX] += xx3
    places[P3_XY] += xy3
    places[P3_YY] += yy3
    places[P3_X] += bx3
    places[P3_Y] += by3
    places[mixed] -= mixed_xx
    places[mixed + 1] -= mixed_xy
    places[mixed + 2] -= mixed_yx
    places[mixed + 3] -= mixed_yy
    return penalty
