"""Data and epipolar terms of the four-frame energy (paper, appendix), and their linearisation.

Unknowns at every pixel x of picture A at t, in this order: u1 (to A at t + 1), u2 (to B at t) and u3, which
closes the loop: x + u1 + u2 + u3 lies in B at t + 1. The terms only know the three places p1 = x + u1,
p2 = x + u2, p3 = x + u1 + u2 + u3; the chain rule back to u is `to_flows`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, over_rows
from wideflow.instructions import copy_eight
from wideflow.refine.epipolar_terms import epipolar_t, epipolar_t1
from wideflow.refine.lanes import LANES, room
from wideflow.refine.sampling import CHANNELS, COLOURS, HALVES, READ, STORED, TAPS, by_channel, cubic, find
from wideflow.refine.system import (
    ALPHA,
    COLOUR,
    EPSILON,
    GRADIENT,
    LATE_A,
    LATE_B,
    P1,
    P2,
    P3,
    P_X,
    P_XX,
    P_XY,
    P_Y,
    P_YY,
    PAIR,
    PQ_XX,
    PQ_XY,
    PQ_YX,
    PQ_YY,
    Q_X,
    Q_XX,
    Q_XY,
    Q_Y,
    Q_YY,
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

_VALUES = READ * STORED  # of a place in a picture
_PENALTY, _TERMS = 0, LANES  # of a pixel: sum of its data terms, and how many there are


def linearise(
    features: Sequence[NDArray[np.float32]],
    visible: NDArray[np.float32],
    fundamental: NDArray[np.float64],
    weights: NDArray[np.float32],
    flows: NDArray[np.float32],
    system: NDArray[np.float32],
    penalty: NDArray[np.float32],
    solved: bool = True,
) -> float:
    """Gauss-Newton system of the data and epipolar terms around the present flows, and their energy.

    All fields in the layout of `lanes`.

    Parameters
    ----------
    features : four of (h + 4, w + 4, 8) float32
        Feature pictures of A at t, B at t, A at t + 1, B at t + 1.
    visible : 3 numbers
        1 where the pixel is seen in A at t + 1, in B at t, in B at t + 1, else 0.
    fundamental : (2, 3, 3) float64
        F of t and of t + 1, B' F A = 0.
    weights : (8,) float32
        Colour and gradient weight over time, the same between cameras, alpha, epsilon of the penaliser, and
        how far B at t and A at t + 1 are moved in time.
    flows : 6 numbers
        u1, u2, u3 in pixels.
    system : 27 numbers
        Filled: M and b of the quadratic du' M du + 2 b' du that majorises the linearised terms.
    penalty : 1 number
        Filled: mean of the data terms that are on at the pixel, grey levels; NaN where none is.
    solved : bool
        Whether the system is wanted; else it stays as it is.

    Returns
    -------
    float
        Sum of the terms over all pixels.
    """
    energy = np.empty(flows.shape[0] - 2)
    _linearise(len(energy), *features, visible, fundamental, weights, flows, system, penalty, solved, energy)
    return float(energy.sum())


@over_rows()
def _linearise(
    first, end, a0, b0, a1, b1, visible, fundamental, weights, flows, system, penalty, solved, energy
):
    # three: were it a constant, all that is done for a place would be compiled three times
    strip, places = flows.shape[1] - 2, visible.shape[2] // LANES
    height, width, alpha, epsilon = a0.shape[0] - 4, a0.shape[1] - 4, weights[ALPHA], weights[EPSILON]
    heights, widths = (height, b0.shape[0] - 4, b0.shape[0] - 4), (width, b0.shape[1] - 4, b0.shape[1] - 4)
    pictures = a1.reshape(-1), b0.reshape(-1), b1.reshape(-1)
    over_time = weights[COLOUR], weights[GRADIENT]
    between = weights[STEREO_COLOUR], weights[STEREO_GRADIENT]
    fixed, moving = (over_time, between), (between, over_time)
    now, after = fundamental[0].reshape(-1), fundamental[1].reshape(-1)
    x, where, total = np.empty(LANES), np.empty((3, 2 * LANES)), np.empty(LANES)
    inside, data, taps, halves = room(1), room(2), room(TAPS), room(HALVES // LANES)
    pixels, own, pairs = room(STORED), room(STORED), room(2 * PAIR).reshape(2, -1)
    read, found = room(3 * _VALUES).reshape(3, -1), room(3 * _VALUES).reshape(3, -1)
    read[:] = np.float32(0)
    for row in range(first, end):
        y = np.int64(row)  # of one type wherever it comes from, so that helpers are compiled but once
        u, s, p, here = flows[y + 1], system[y + 1], penalty[y + 1], a0[y + 2].reshape(-1)
        seen = visible[y + 1].reshape(strip + 2, 3, LANES)
        total[:] = 0
        for i in range(1, strip + 1):
            for n in range(LANES):
                column = n * strip + i - 1
                x[n], inside[n] = column, column < width
                copy_eight(pixels, n * STORED, here, (min(column, width - 1) + 2) * STORED)
            _where(x, y, u, i, where)
            for place in range(places):
                find(widths[place], heights[place], where, place, taps)
                cubic(pictures[place], widths[place], taps, seen, i, place, halves, read[place])
            # not before: processors wait for what was just written in other pieces
            by_channel(pixels, own)
            for place in range(places):
                for k in range(0, _VALUES * LANES, STORED * LANES):
                    by_channel(read[place, k:], found[place, k:])
            data[:] = np.float32(0)
            for place in range(places - 1):
                _moving(found, place, seen, i, moving[place], epsilon, pairs, data)
            for place in range(places - 1):
                _fixed(found, place, own, seen, i, fixed[place], epsilon, pairs, data)
            for n in range(LANES):
                p[i, n] = data[_PENALTY + n] / data[_TERMS + n]
                total[n] += data[_PENALTY + n]
            epipolar_t(now, x, y, where, inside, weights[LATE_B], alpha, epsilon, pairs, total)
            epipolar_t1(after, x, y, where, inside, weights[LATE_A], alpha, epsilon, pairs, total)
            if solved:
                to_flows(pairs, s, i)
        energy[y] = 0
        for n in range(LANES):
            energy[y] += total[n]


@kernel()
def _where(x, y, u, i, where):
    """The places p1, p2, p3: their x, then their y."""
    for n in range(LANES):
        p1x, p1y = x[n] + u[i, U1X + n], y + u[i, U1Y + n]
        where[P1, n], where[P1, LANES + n] = p1x, p1y
        where[P2, n], where[P2, LANES + n] = x[n] + u[i, U2X + n], y + u[i, U2Y + n]
        where[P3, n] = p1x + u[i, U2X + n] + u[i, U3X + n]
        where[P3, LANES + n] = p1y + u[i, U2Y + n] + u[i, U3Y + n]


@kernel()
def _fixed(found, place, own, seen, i, weights, epsilon, pairs, data):
    """E_D 1 and 3, a moving place against the pixel itself: added to the system and to the data terms."""
    for n in range(LANES):
        colour = gradient = epsilon * epsilon
        for c in range(COLOURS):
            d = found[place, c * LANES + n] - own[c * LANES + n]
            colour += d * d
        for c in range(COLOURS, CHANNELS):
            d = found[place, c * LANES + n] - own[c * LANES + n]
            gradient += d * d
        colour, gradient = np.sqrt(colour), np.sqrt(gradient)
        data[_PENALTY + n] += seen[i, place, n] * (weights[0] * colour + weights[1] * gradient)
        data[_TERMS + n] += seen[i, place, n]
        half = np.float32(0.5) * seen[i, place, n]
        colour, gradient = half * weights[0] / colour, half * weights[1] / gradient
        xx = xy = yy = bx = by = np.float32(0)
        for c in range(CHANNELS):
            vx, vy = found[place, (c + STORED) * LANES + n], found[place, (c + 2 * STORED) * LANES + n]
            w, d = colour if c < COLOURS else gradient, found[place, c * LANES + n] - own[c * LANES + n]
            wx, wy = w * vx, w * vy
            xx += wx * vx
            xy += wx * vy
            yy += wy * vy
            bx += wx * d
            by += wy * d
        pairs[place, P_XX + n] += xx
        pairs[place, P_XY + n] += xy
        pairs[place, P_YY + n] += yy
        pairs[place, P_X + n] += bx
        pairs[place, P_Y + n] += by


@kernel()
def _moving(found, place, seen, i, weights, epsilon, pairs, data):
    """E_D 2 and 4, the place p3 against another moving place: the system begins with them."""
    for n in range(LANES):
        colour = gradient = epsilon * epsilon
        for c in range(COLOURS):
            d = found[P3, c * LANES + n] - found[place, c * LANES + n]
            colour += d * d
        for c in range(COLOURS, CHANNELS):
            d = found[P3, c * LANES + n] - found[place, c * LANES + n]
            gradient += d * d
        colour, gradient, both = np.sqrt(colour), np.sqrt(gradient), seen[i, P3, n] * seen[i, place, n]
        data[_PENALTY + n] += both * (weights[0] * colour + weights[1] * gradient)
        data[_TERMS + n] += both
        half = np.float32(0.5) * both
        colour, gradient = half * weights[0] / colour, half * weights[1] / gradient
        xx = xy = yy = bx = by = np.float32(0)
        xx3 = xy3 = yy3 = bx3 = by3 = np.float32(0)
        mixed_xx = mixed_xy = mixed_yx = mixed_yy = np.float32(0)
        for c in range(CHANNELS):
            vx, vy = found[place, (c + STORED) * LANES + n], found[place, (c + 2 * STORED) * LANES + n]
            x3, y3 = found[P3, (c + STORED) * LANES + n], found[P3, (c + 2 * STORED) * LANES + n]
            w, d = colour if c < COLOURS else gradient, found[P3, c * LANES + n] - found[place, c * LANES + n]
            wx, wy, wx3, wy3 = w * vx, w * vy, w * x3, w * y3
            xx += wx * vx
            xy += wx * vy
            yy += wy * vy
            bx += wx * d
            by += wy * d
            xx3 += wx3 * x3
            xy3 += wx3 * y3
            yy3 += wy3 * y3
            bx3 += wx3 * d
            by3 += wy3 * d
            mixed_xx += wx * x3
            mixed_xy += wx * y3
            mixed_yx += wy * x3
            mixed_yy += wy * y3
        pairs[place, P_XX + n], pairs[place, P_XY + n], pairs[place, P_YY + n] = xx, xy, yy
        pairs[place, Q_XX + n], pairs[place, Q_XY + n], pairs[place, Q_YY + n] = xx3, xy3, yy3
        pairs[place, PQ_XX + n], pairs[place, PQ_XY + n] = -mixed_xx, -mixed_xy
        pairs[place, PQ_YX + n], pairs[place, PQ_YY + n] = -mixed_yx, -mixed_yy
        pairs[place, P_X + n], pairs[place, P_Y + n], pairs[place, Q_X + n], pairs[place, Q_Y + n] = (
            -bx,
            -by,
            bx3,
            by3,
        )
