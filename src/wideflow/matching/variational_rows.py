"""The loops of the variational refinement of a flow: a row at a time, so that they fill vector registers.

Pixels of either colour of the checkerboard (x + y even or odd) are stored apart: index [colour, y, ..., i] is
the i-th pixel of that colour in row y. A pixel's four neighbours have the other colour, so the result does
not depend on the number of threads. Loops get slices that begin where they read, and indices from 0 on:
Numba asks of every other index whether it is negative.
"""

from __future__ import annotations

import math

import numpy as np

from wideflow.compiled import kernel, njit, over_rows
from wideflow.instructions import mix_four
from wideflow.types import Array

RIM = 2  # px around the pictures, so that no loop asks for the border
_ROWS = 16  # that a thread assembles at once
_BAND = 32  # that it relaxes at once, at least
_PLAIN = np.float32(0.01)  # squared grey levels per px, below which a change is noise
_SMALL = np.float32(1e-6)  # squared: where the robust penalty turns from a parabola to a cone
_DAMPING = np.float32(1e-4)  # keeps the matrix of a pixel that nothing holds regular


@njit(inline="always")
def _cubic(t):
    """Weights of four samples in a row, t behind the second (Catmull and Rom)."""
    half, one, most = np.float32(0.5), np.float32(1), np.float32(1.5)
    return (
        ((one - half * t) * t - half) * t,
        (most * t - most - one) * t * t + one,
        ((one + one - most * t) * t + half) * t,
        half * (t - one) * t * t,
    )


def sample(picture: Array, u: Array, v: Array, out: Array, inside: Array) -> None:
    """The picture, with its rim, where the flow leads, and whether that is inside of it.

    ``u`` and ``v`` have a rim of one pixel, ``out`` that of the picture.
    """
    _sample(len(inside), picture, u, v, out, inside)
    out[:RIM], out[-RIM:] = out[RIM], out[-RIM - 1]


@over_rows()
def _sample(first, end, picture, u, v, out, inside):
    columns = inside.shape[1]
    place, weights = np.empty(columns, np.int32), np.empty((8, columns), np.float32)
    mixed = np.empty(4 * columns, np.float32)
    for y in range(first, end):
        _sample_row(picture, u, v, out, inside, np.int64(y), place, weights, mixed)


@kernel()
def _sample_row(picture, u, v, out, inside, y, place, weights, mixed):
    """A row: first where all pixels read, ``place`` (W,) and ``weights`` (8, W), then what they read.

    That is first mixed from the four lines, ``mixed`` (4 W,), for the four columns of a pixel at once.
    """
    columns, stride = inside.shape[1], np.int64(picture.shape[1])
    high, wide = np.float32(picture.shape[0] - 2 * RIM - 1), np.float32(picture.shape[1] - 2 * RIM - 1)
    us, vs, seen, zero = u[y + 1, 1:], v[y + 1, 1:], inside[y], np.float32(0)
    a0, a1, a2, a3 = weights[0], weights[1], weights[2], weights[3]
    b0, b1, b2, b3 = weights[4], weights[5], weights[6], weights[7]
    for x in range(columns):
        px, py = np.float32(x) + us[x], np.float32(y) + vs[x]
        seen[x] = np.float32((px >= 0) & (py >= 0) & (px <= wide) & (py <= high))
        px, py = min(max(px, zero), wide), min(max(py, zero), high)
        left, top = np.int32(px), np.int32(py)
        place[x] = (top + np.int32(RIM - 1)) * np.int32(stride) + left + np.int32(RIM - 1)
        a0[x], a1[x], a2[x], a3[x] = _cubic(px - np.float32(left))
        b0[x], b1[x], b2[x], b3[x] = _cubic(py - np.float32(top))
    pixels, drawn = picture.reshape(-1), out[y + RIM, RIM:]
    for x in range(columns):
        i = np.int64(place[x])
        lines = (i, i + stride, i + 2 * stride, i + 3 * stride)
        mix_four(mixed, 4 * x, pixels, lines, (b0[x], b1[x], b2[x], b3[x]))
    for x in range(columns):
        one, two = mixed[4 * x], mixed[4 * x + 1]
        three, four = mixed[4 * x + 2], mixed[4 * x + 3]
        drawn[x] = a0[x] * one + a1[x] * two + a2[x] * three + a3[x] * four
    for beside in range(RIM):
        out[y + RIM, beside], out[y + RIM, columns + RIM + beside] = drawn[0], drawn[columns - 1]


def assemble(
    here: Array,
    there: Array,
    inside: Array,
    u: Array,
    v: Array,
    free: Array,
    F: Array,
    weights: Array,
    system: Array,
    bonds: Array,
) -> None:
    """The linear system of a step: at each pixel the inverse of its matrix (3) and its right-hand side (2).

    ``bonds`` (2, H + 1, 2, half + 1) tie a pixel to those at its right and below; the first row and column
    are 0.
    """
    blocks = -(-len(inside) // _ROWS)
    _assemble(blocks, here, there, inside, u, v, free, F, weights, system, bonds)


@over_rows()
def _assemble(first, end, here, there, inside, u, v, free, F, weights, system, bonds):
    rows, columns = inside.shape
    for block in range(first, end):
        top, bottom = block * _ROWS, min(rows, (block + 1) * _ROWS)
        mean = np.empty((2 * RIM + 1, columns + 2 * RIM), np.float32)
        change = np.empty_like(mean)
        pixels = np.empty((5, columns), np.float32)
        right, below = np.zeros(columns + 1, np.float32), np.empty(columns, np.float32)
        above = np.zeros(columns, np.float32)
        for y in range(top, top + 2 * RIM):
            _mean_row(here[y], there[y], mean[y % 5], change[y % 5])
        if top > 0:
            _bond_row(u[top:], v[top:], free[0, top - 1], free[1, top - 1], weights[0], right[1:], above)
        for y in range(top, bottom):
            _mean_row(here[y + 4], there[y + 4], mean[(y + 4) % 5], change[(y + 4) % 5])
            m = (mean[y % 5], mean[(y + 1) % 5], mean[(y + 2) % 5], mean[(y + 3) % 5], mean[(y + 4) % 5])
            c = (change[(y + 1) % 5], change[(y + 2) % 5], change[(y + 3) % 5])
            _data_row(m, c, inside[y], weights[1], weights[2], pixels)
            if weights[3] > 0:
                _line_row(F, y, u[y + 1, 1:], v[y + 1, 1:], weights[3], pixels)
            _bond_row(u[y + 1 :], v[y + 1 :], free[0, y], free[1, y], weights[0], right[1:], below)
            right[columns] = 0
            if y == rows - 1:
                below[:] = 0
            _invert_row(pixels, u[y:], v[y:], right, below, above)
            even = y & 1  # the colour of the even columns
            for k in range(5):
                _part(pixels[k], system[even, y, k], system[1 - even, y, k])
            _part(right[1:], bonds[even, y + 1, 0, 1:], bonds[1 - even, y + 1, 0, 1:])
            _part(below, bonds[even, y + 1, 1, 1:], bonds[1 - even, y + 1, 1, 1:])
            above, below = below, above


@kernel()
def _mean_row(one, two, mean, change):
    for i in range(mean.shape[0]):
        mean[i] = np.float32(0.5) * (one[i] + two[i])
        change[i] = two[i] - one[i]


@kernel()
def _data_row(mean, change, inside, brightness, gradient, pixels):
    """Matrix (a b; b c) and right-hand side (p, q) of the data terms, from five rows and three."""
    far_up, up, here, down, far_down = mean
    change_up, change_here, change_down = change
    uu, dd, far_left, far_right = far_up[2:], far_down[2:], here, here[4:]
    un, dn, lf, rt, mid = up[2:], down[2:], here[1:], here[3:], here[2:]
    ul, ur, dl, dr = up[1:], up[3:], down[1:], down[3:]
    cu, cd, cl, cr, cm = change_up[2:], change_down[2:], change_here[1:], change_here[3:], change_here[2:]
    a, b, c, p, q = pixels[0], pixels[1], pixels[2], pixels[3], pixels[4]
    half, quarter, one = np.float32(0.5), np.float32(0.25), np.float32(1)
    for i in range(inside.shape[0]):
        ix, iy, it = half * (rt[i] - lf[i]), half * (dn[i] - un[i]), cm[i]
        ixx = quarter * (far_right[i] + far_left[i]) - half * mid[i]
        iyy = quarter * (dd[i] + uu[i]) - half * mid[i]
        ixy = quarter * (dr[i] - dl[i] - ur[i] + ul[i])
        ixt, iyt = half * (cr[i] - cl[i]), half * (cd[i] - cu[i])
        n0 = one / (ix * ix + iy * iy + _PLAIN)
        n1 = one / (ixx * ixx + ixy * ixy + _PLAIN)
        n2 = one / (iyy * iyy + ixy * ixy + _PLAIN)
        w = inside[i] * brightness * n0 / math.sqrt(it * it * n0 + _SMALL)
        g = inside[i] * gradient / math.sqrt(ixt * ixt * n1 + iyt * iyt * n2 + _SMALL)
        n1, n2 = g * n1, g * n2
        a[i] = w * ix * ix + n1 * ixx * ixx + n2 * ixy * ixy
        b[i] = w * ix * iy + n1 * ixx * ixy + n2 * ixy * iyy
        c[i] = w * iy * iy + n1 * ixy * ixy + n2 * iyy * iyy
        p[i] = -(w * ix * it + n1 * ixx * ixt + n2 * ixy * iyt)
        q[i] = -(w * iy * it + n1 * ixy * ixt + n2 * iyy * iyt)


@kernel()
def _line_row(F, y, u, v, weight, pixels):
    """Add the squared distance from the epipolar lines."""
    a, b, c, p, q = pixels[0], pixels[1], pixels[2], pixels[3], pixels[4]
    a0, b0, c0 = F[0, 1] * y + F[0, 2], F[1, 1] * y + F[1, 2], F[2, 1] * y + F[2, 2]
    for x in range(a.shape[0]):
        nx, ny, nc = F[0, 0] * x + a0, F[1, 0] * x + b0, F[2, 0] * x + c0
        s = 1 / math.sqrt(nx * nx + ny * ny + 1e-300)  # at the epipole there is no line
        off = np.float32(s * (nx * (x + u[x]) + ny * (y + v[x]) + nc))
        fx, fy = np.float32(s * nx), np.float32(s * ny)
        a[x] += weight * fx * fx
        b[x] += weight * fx * fy
        c[x] += weight * fy * fy
        p[x] -= weight * fx * off
        q[x] -= weight * fy * off


@kernel()
def _bond_row(u, v, to_right, to_below, smoothness, right, below):
    """How strongly pixels are tied to those at their right and below; the flow's row begins in the rim."""
    u0, u1, u2, v0, v1, v2 = u[0, 1:], u[0, 2:], u[1, 1:], v[0, 1:], v[0, 2:], v[1, 1:]
    for i in range(below.shape[0]):
        a, b, c, d = u1[i] - u0[i], u2[i] - u0[i], v1[i] - v0[i], v2[i] - v0[i]
        w = smoothness / math.sqrt(a * a + b * b + c * c + d * d + _SMALL)
        right[i], below[i] = w * to_right[i], w * to_below[i]


@kernel()
def _invert_row(pixels, u, v, right, below, above):
    """Add what ties each pixel to its neighbours, and invert its matrix."""
    a, b, c, p, q = pixels[0], pixels[1], pixels[2], pixels[3], pixels[4]
    uu, ul, um, ur, ud = u[0, 1:], u[1], u[1, 1:], u[1, 2:], u[2, 1:]
    vu, vl, vm, vr, vd = v[0, 1:], v[1], v[1, 1:], v[1, 2:], v[2, 1:]
    wl, wr = right, right[1:]
    for i in range(a.shape[0]):
        tie = wl[i] + wr[i] + below[i] + above[i]
        p[i] += wr[i] * ur[i] + wl[i] * ul[i] + below[i] * ud[i] + above[i] * uu[i] - tie * um[i]
        q[i] += wr[i] * vr[i] + wl[i] * vl[i] + below[i] * vd[i] + above[i] * vu[i] - tie * vm[i]
        one, two, both = a[i] + tie + _DAMPING, c[i] + tie + _DAMPING, b[i]
        s = np.float32(1) / (one * two - both * both)
        a[i], b[i], c[i] = s * two, -s * both, s * one


@njit()
def _part(row, even, odd):
    """Even columns and odd ones, each by themselves."""
    for i in range((row.shape[0] + 1) // 2):
        even[i] = row[2 * i]
    for i in range(row.shape[0] // 2):
        odd[i] = row[2 * i + 1]


def relax(
    system: Array, bonds: Array, steps: Array, width: int, first: int, turns: int, relaxation: np.float32
) -> None:
    """Some turns of either colour, in which each pixel's numbers come from memory but once.

    A band of rows takes its turns while it is in the cache, row behind row: first what its own rows allow,
    which is a row less on either side with every turn, then what is left between two bands.
    """
    bands = max(1, system.shape[1] // max(_BAND, 2 * turns))
    _relax_bands(bands, system, bonds, steps, width, first, turns, relaxation, bands)
    _relax_borders(bands - 1, system, bonds, steps, width, first, turns, relaxation, bands)


@over_rows()
def _relax_bands(first, end, system, bonds, steps, width, from_turn, turns, relaxation, bands):
    rows = system.shape[1]
    for band in range(first, end):
        top, bottom = band * rows // bands, (band + 1) * rows // bands
        above, below = min(band, 1), min(bands - 1 - band, 1)  # is there a band on that side?
        for front in range(top, bottom + turns):
            for turn in range(turns):
                y = front - turn
                if top + above * turn <= y < bottom - below * turn:
                    _relax_row(system, bonds, steps, width, y, from_turn + turn, relaxation)


@over_rows()
def _relax_borders(first, end, system, bonds, steps, width, from_turn, turns, relaxation, bands):
    rows = system.shape[1]
    for band in range(first + 1, end + 1):
        border = band * rows // bands
        for front in range(border, border + 2 * turns):
            for turn in range(turns):
                y = front - turn
                if border - turn <= y < border + turn:
                    _relax_row(system, bonds, steps, width, y, from_turn + turn, relaxation)


@kernel()
def _relax_row(system, bonds, steps, width, y, turn, relaxation):
    """One turn of the pixels of one colour in a row; ``odd`` if they stand in odd columns."""
    colour = turn & 1
    other, odd = 1 - colour, (y + colour) & 1
    us = (
        steps[0, colour, y + 1, 1:],
        steps[0, other, y + 1, odd:],
        steps[0, other, y + 1, 1 + odd :],
        steps[0, other, y, 1:],
        steps[0, other, y + 2, 1:],
    )
    vs = (
        steps[1, colour, y + 1, 1:],
        steps[1, other, y + 1, odd:],
        steps[1, other, y + 1, 1 + odd :],
        steps[1, other, y, 1:],
        steps[1, other, y + 2, 1:],
    )
    ties = (
        bonds[other, y + 1, 0, odd:],
        bonds[colour, y + 1, 0, 1:],
        bonds[other, y, 1, 1:],
        bonds[colour, y + 1, 1, 1:],
    )
    _relax_pixels(us, vs, ties, system[colour, y], (width + 1 - odd) // 2, relaxation)


@kernel()
def _relax_pixels(us, vs, ties, system, count, relaxation):
    u, ul, ur, uu, ud = us
    v, vl, vr, vu, vd = vs
    left, right, above, below = ties
    a, b, c, p, q = system[0], system[1], system[2], system[3], system[4]
    for i in range(count):
        r = p[i] + right[i] * ur[i] + left[i] * ul[i] + below[i] * ud[i] + above[i] * uu[i]
        s = q[i] + right[i] * vr[i] + left[i] * vl[i] + below[i] * vd[i] + above[i] * vu[i]
        u[i] += relaxation * (a[i] * r + b[i] * s - u[i])
        v[i] += relaxation * (b[i] * r + c[i] * s - v[i])


def add_step(steps: Array, u: Array, v: Array, furthest: np.float32) -> None:
    """Move the flow, by at most so many px, and its rim with it."""
    _add_step(len(u) - 2, steps, u, v, furthest)
    for flow in (u, v):
        flow[0], flow[-1] = flow[1], flow[-2]


@over_rows()
def _add_step(first, end, steps, u, v, furthest):
    columns = u.shape[1] - 2
    for y in range(first, end):
        for k in range(2):
            flow = u[y + 1] if k == 0 else v[y + 1]
            even, odd, place = steps[k, y & 1, y + 1, 1:], steps[k, 1 - (y & 1), y + 1, 1:], flow[1:]
            for i in range(columns // 2):
                one, two = min(max(even[i], -furthest), furthest), min(max(odd[i], -furthest), furthest)
                place[2 * i], place[2 * i + 1] = place[2 * i] + one, place[2 * i + 1] + two
            if columns % 2:
                place[columns - 1] += min(max(even[columns // 2], -furthest), furthest)
            flow[0], flow[columns + 1] = flow[1], flow[columns]
