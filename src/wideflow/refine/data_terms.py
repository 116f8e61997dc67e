"""Data and epipolar terms of the four-frame energy (paper, appendix), and their linearisation.

Unknowns at every pixel x of picture A at t, in this order: u1 (to A at t + 1), u2 (to B at t) and u3, which
closes the loop: x + u1 + u2 + u3 lies in B at t + 1. The terms only know the three places p1 = x + u1,
p2 = x + u2, p3 = x + u1 + u2 + u3; the chain rule back to u is `_to_flows`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from wideflow.refine.sampling import CHANNELS, COLOURS, cubic

FRAMES = 3  # pictures with moving places
SYSTEM = 27  # numbers a pixel: upper triangle of the 6 x 6 matrix by rows, then the 6 of the right-hand side


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
    weights : (6,) float32
        Colour and gradient weight over time, the same between cameras, alpha, epsilon of the penaliser.
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


@njit(cache=True, inline="always")
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


@njit(parallel=True, cache=True, error_model="numpy")
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
        t = np.empty(23, np.float32)
        total = 0.0
        for x in range(columns):
            for c in range(CHANNELS):
                v0[c] = a0[y + 2, x + 2, c]
            p1x, p1y = x + flows[y, x, 0], y + flows[y, x, 1]
            p2x, p2y = x + flows[y, x, 2], y + flows[y, x, 3]
            p3x = p1x + flows[y, x, 2] + flows[y, x, 4]
            p3y = p1y + flows[y, x, 3] + flows[y, x, 5]
            for k in range(23):
                t[k] = np.float32(0.0)
            seen1, seen2, seen3 = visible[y, x, 0], visible[y, x, 1], visible[y, x, 2]
            if seen1:
                cubic(a1, p1x, p1y, v1, x1, y1)
            if seen2:
                cubic(b0, p2x, p2y, v2, x2, y2)
            if seen3:
                cubic(b1, p3x, p3y, v3, x3, y3)
            data, terms = np.float32(0), 0
            if seen1:
                data += _fixed(v1, x1, y1, v0, weights[0], weights[1], weights[5], t, 0, 17)
                terms += 1
            if seen2:
                data += _fixed(v2, x2, y2, v0, weights[2], weights[3], weights[5], t, 3, 19)
                terms += 1
            if seen2 and seen3:
                data += _moving(v3, x3, y3, v2, x2, y2, weights[0], weights[1], weights[5], t, 3, 13, 19)
                terms += 1
            if seen1 and seen3:
                data += _moving(v3, x3, y3, v1, x1, y1, weights[2], weights[3], weights[5], t, 0, 9, 17)
                terms += 1
            penalty[y, x] = data / terms if terms else np.nan
            geometry = _epipolar_t(fundamental, x, y, p2x, p2y, weights[4], weights[5], t)
            geometry += _epipolar_t1(fundamental, p1x, p1y, p3x, p3y, weights[4], weights[5], t)
            total += geometry + data
            _to_flows(t, system, y, x)
        energy[y] = total


# In `t`: the upper triangles of the blocks of p1 (0), p2 (3) and p3 (6), the 2 x 2 blocks of p1 with p3 (9)
# and of p2 with p3 (13), and the right-hand sides of p1 (17), p2 (19) and p3 (21).


@njit(cache=True, inline="always")
def _fixed(v, vx, vy, v0, colour_weight, gradient_weight, epsilon, t, block, right):
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
    t[block] += xx
    t[block + 1] += xy
    t[block + 2] += yy
    t[right] += bx
    t[right + 1] += by
    return penalty


@njit(cache=True, inline="always")
def _moving(v3, x3, y3, v, vx, vy, colour_weight, gradient_weight, epsilon, t, block, mixed, right):
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
    t[block] += xx
    t[block + 1] += xy
    t[block + 2] += yy
    t[right] -= bx
    t[right + 1] -= by
    t[6] += xx3
    t[7] += xy3
    t[8] += yy3
    t[21] += bx3
    t[22] += by3
    t[mixed] -= mixed_xx
    t[mixed + 1] -= mixed_xy
    t[mixed + 2] -= mixed_yx
    t[mixed + 3] -= mixed_yy
    return penalty


@njit(cache=True, inline="always")
def _epipolar_t(fundamental, x, y, p2x, p2y, alpha, epsilon, t):
    """E_E 1, the distance of p2 from the epipolar line of x in pixels."""
    F = fundamental[0]
    a = F[0, 0] * x + F[0, 1] * y + F[0, 2]
    b = F[1, 0] * x + F[1, 1] * y + F[1, 2]
    c = F[2, 0] * x + F[2, 1] * y + F[2, 2]
    norm = np.sqrt(a * a + b * b) + 1e-12
    a, b = a / norm, b / norm
    residual = a * p2x + b * p2y + c / norm
    size = np.sqrt(residual * residual + epsilon * epsilon)
    w = 0.5 * alpha / size
    t[3] += w * a * a
    t[4] += w * a * b
    t[5] += w * b * b
    t[19] += w * residual * a
    t[20] += w * residual * b
    return alpha * size


@njit(cache=True, inline="always")
def _epipolar_t1(fundamental, p1x, p1y, p3x, p3y, alpha, epsilon, t):
    """E_E 2, the distance of p3 from the epipolar line of p1, both of which move."""
    F = fundamental[1]
    a = F[0, 0] * p1x + F[0, 1] * p1y + F[0, 2]
    b = F[1, 0] * p1x + F[1, 1] * p1y + F[1, 2]
    c = F[2, 0] * p1x + F[2, 1] * p1y + F[2, 2]
    norm = np.sqrt(a * a + b * b) + 1e-12
    d = (F[0, 0] * p3x + F[1, 0] * p3y + F[2, 0]) / norm
    e = (F[0, 1] * p3x + F[1, 1] * p3y + F[2, 1]) / norm
    residual = (a * p3x + b * p3y + c) / norm
    a, b = a / norm, b / norm
    size = np.sqrt(residual * residual + epsilon * epsilon)
    w = 0.5 * alpha / size
    t[0] += w * d * d
    t[1] += w * d * e
    t[2] += w * e * e
    t[6] += w * a * a
    t[7] += w * a * b
    t[8] += w * b * b
    t[9] += w * d * a
    t[10] += w * d * b
    t[11] += w * e * a
    t[12] += w * e * b
    t[17] += w * residual * d
    t[18] += w * residual * e
    t[21] += w * residual * a
    t[22] += w * residual * b
    return alpha * size


@njit(cache=True, inline="always")
def _to_flows(t, system, y, x):
    """From places to flows: p1 = u1, p2 = u2, p3 = u1 + u2 + u3."""
    s = system[y, x]
    # u1 with u1, u2, u3
    s[0] = t[0] + 2 * t[9] + t[6]
    s[1] = t[1] + t[10] + t[11] + t[7]
    s[2] = t[9] + t[13] + t[6]
    s[3] = t[10] + t[15] + t[7]
    s[4] = t[9] + t[6]
    s[5] = t[10] + t[7]
    s[6] = t[2] + 2 * t[12] + t[8]
    s[7] = t[11] + t[14] + t[7]
    s[8] = t[12] + t[16] + t[8]
    s[9] = t[11] + t[7]
    s[10] = t[12] + t[8]
    # u2 with u2, u3
    s[11] = t[3] + 2 * t[13] + t[6]
    s[12] = t[4] + t[14] + t[15] + t[7]
    s[13] = t[13] + t[6]
    s[14] = t[14] + t[7]
    s[15] = t[5] + 2 * t[16] + t[8]
    s[16] = t[15] + t[7]
    s[17] = t[16] + t[8]
    # u3 with u3
    s[18] = t[6]
    s[19] = t[7]
    s[20] = t[8]
    s[21] = t[17] + t[21]
    s[22] = t[18] + t[22]
    s[23] = t[19] + t[21]
    s[24] = t[20] + t[22]
    s[25] = t[21]
    s[26] = t[22]
