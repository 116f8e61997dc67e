"""One Gauss-Newton step: successive over-relaxation of coupled 6 x 6 pixels, red pixels then black ones.

A pixel's neighbours all have the other parity of x + y, so that the result does not depend on the number of
threads.
"""

from __future__ import annotations

import numpy as np

from wideflow.compiled import kernel, njit, over_rows
from wideflow.geometry.triangulation import inverse_of_symmetric
from wideflow.refine.bands import in_bands
from wideflow.refine.lanes import AHEAD, LANES, Laned, aligned, fetch, fill_margins, fill_row_margins, room
from wideflow.refine.smoothness import BELOW, STEREO
from wideflow.refine.system import RIGHT, UNKNOWNS

_DAMPING = 1e-3  # keeps the matrix of a pixel without data regular
_TURNS = 24  # of red and black pixels that rows take while they are in the cache


def solve_step(
    system: Laned, edges: Laned, flows: Laned, slopes: Laned, sweeps: int, relaxation: float
) -> Laned:
    """Increment (6 numbers) that minimises the quadratic model of the energy around ``flows``.

    All fields in the layout of `lanes`, those of ``flows`` and ``slopes`` with their margins.

    Parameters
    ----------
    system : 27 numbers
        Of `data_terms.linearise`; overwritten.
    edges : 6 numbers
        Of `smoothness.smoothness`; its margins are filled.
    flows : 6 numbers
        u1, u2, u3 in pixels.
    slopes : 4 numbers
        Free differences of u2.
    sweeps : int
        Each visits every pixel once.
    relaxation : float
        1 is Gauss-Seidel, below 2.
    """
    fill_margins(edges)
    _factorise(len(flows) - 2, system, edges, flows, slopes)
    step = aligned(flows.shape, np.zeros)
    for first in range(0, 2 * sweeps, _TURNS):
        turns = min(_TURNS, 2 * sweeps - first)
        for order in in_bands(flows.shape[0] - 2, first, turns):
            bands = len(order[1]) - 1
            _relax(bands, system, edges, step, *order, np.float32(relaxation))
    fill_margins(step)
    return step


@over_rows()
def _factorise(first, end, system, edges, flows, slopes):
    """Replace each pixel's matrix by the inverse of itself plus its edges, b by the whole right-hand side."""
    totals = room(3)
    for y in range(first + 1, end + 1):
        rows = (
            system[y],
            edges[y - 1],
            edges[y],
            flows[y - 1],
            flows[y],
            flows[y + 1],
            slopes[y - 1],
            slopes[y],
        )
        for i in range(1, flows.shape[1] - 1):
            fetch(rows[0], i + AHEAD)
            _pull(*rows, i, totals)
            _invert(rows[0], i, totals)


@kernel()
def _pull(system, edges_above, edges, above, u, below, slopes_above, slopes, i, totals):
    """Add to the right-hand side what the edges pull a pixel by; the sum of their weights for every flow."""
    for n in range(LANES):
        for f in range(UNKNOWNS // 2):
            e = f * LANES + n
            right, left = edges[i, e], edges[i - 1, e]
            down, up = edges[i, BELOW + e], edges_above[i, BELOW + e]
            totals[e] = right + left + down + up
            for c in range(2):
                k = (2 * f + c) * LANES + n
                here = u[i, k]
                pull = right * (u[i + 1, k] - here) + left * (u[i - 1, k] - here)
                pull += down * (below[i, k] - here) + up * (above[i, k] - here)
                if f == STEREO:
                    s, t = c * LANES + n, (c + 2) * LANES + n
                    pull += left * slopes[i - 1, s] - right * slopes[i, s]
                    pull += up * slopes_above[i, t] - down * slopes[i, t]
                system[i, RIGHT + k] = pull - system[i, RIGHT + k]


@kernel()
def _invert(m, i, totals):
    """Add the weights of edges to the diagonals of matrices, whose upper triangles are then inverted.

    In double precision: a pixel may be held to its line a million times as much as along it. The matrix is
    [[A, B], [B', C]] in blocks of three unknowns; S = C - B' A^-1 B, and its inverse is
    [[A^-1 + T S^-1 T', -T S^-1], [.., S^-1]] with T = A^-1 B.
    """
    for n in range(LANES):
        t1, t2, t3 = totals[n] + _DAMPING, totals[LANES + n] + _DAMPING, totals[2 * LANES + n] + _DAMPING
        a00, a01, a02 = m[i, n] + t1, np.float64(m[i, LANES + n]), np.float64(m[i, 2 * LANES + n])
        b00, b01, b02 = (
            np.float64(m[i, 3 * LANES + n]),
            np.float64(m[i, 4 * LANES + n]),
            np.float64(m[i, 5 * LANES + n]),
        )
        a11, a12 = m[i, 6 * LANES + n] + t1, np.float64(m[i, 7 * LANES + n])
        b10, b11, b12 = (
            np.float64(m[i, 8 * LANES + n]),
            np.float64(m[i, 9 * LANES + n]),
            np.float64(m[i, 10 * LANES + n]),
        )
        a22 = m[i, 11 * LANES + n] + t2
        b20, b21, b22 = (
            np.float64(m[i, 12 * LANES + n]),
            np.float64(m[i, 13 * LANES + n]),
            np.float64(m[i, 14 * LANES + n]),
        )
        c00, c01, c02 = (
            m[i, 15 * LANES + n] + t2,
            np.float64(m[i, 16 * LANES + n]),
            np.float64(m[i, 17 * LANES + n]),
        )
        c11, c12, c22 = m[i, 18 * LANES + n] + t3, np.float64(m[i, 19 * LANES + n]), m[i, 20 * LANES + n] + t3
        a00, a01, a02, a11, a12, a22 = inverse_of_symmetric(a00, a01, a02, a11, a12, a22)
        t00, t01, t02 = _row(a00, a01, a02, b00, b01, b02, b10, b11, b12, b20, b21, b22)
        t10, t11, t12 = _row(a01, a11, a12, b00, b01, b02, b10, b11, b12, b20, b21, b22)
        t20, t21, t22 = _row(a02, a12, a22, b00, b01, b02, b10, b11, b12, b20, b21, b22)
        c00 -= b00 * t00 + b10 * t10 + b20 * t20
        c01 -= b00 * t01 + b10 * t11 + b20 * t21
        c02 -= b00 * t02 + b10 * t12 + b20 * t22
        c11 -= b01 * t01 + b11 * t11 + b21 * t21
        c12 -= b01 * t02 + b11 * t12 + b21 * t22
        c22 -= b02 * t02 + b12 * t12 + b22 * t22
        c00, c01, c02, c11, c12, c22 = inverse_of_symmetric(c00, c01, c02, c11, c12, c22)
        d00, d01, d02 = _row(t00, t01, t02, c00, c01, c02, c01, c11, c12, c02, c12, c22)
        d10, d11, d12 = _row(t10, t11, t12, c00, c01, c02, c01, c11, c12, c02, c12, c22)
        d20, d21, d22 = _row(t20, t21, t22, c00, c01, c02, c01, c11, c12, c02, c12, c22)
        m[i, n] = np.float32(a00 + d00 * t00 + d01 * t01 + d02 * t02)
        m[i, LANES + n] = np.float32(a01 + d00 * t10 + d01 * t11 + d02 * t12)
        m[i, 2 * LANES + n] = np.float32(a02 + d00 * t20 + d01 * t21 + d02 * t22)
        m[i, 3 * LANES + n], m[i, 4 * LANES + n], m[i, 5 * LANES + n] = (
            np.float32(-d00),
            np.float32(-d01),
            np.float32(-d02),
        )
        m[i, 6 * LANES + n] = np.float32(a11 + d10 * t10 + d11 * t11 + d12 * t12)
        m[i, 7 * LANES + n] = np.float32(a12 + d10 * t20 + d11 * t21 + d12 * t22)
        m[i, 8 * LANES + n], m[i, 9 * LANES + n], m[i, 10 * LANES + n] = (
            np.float32(-d10),
            np.float32(-d11),
            np.float32(-d12),
        )
        m[i, 11 * LANES + n] = np.float32(a22 + d20 * t20 + d21 * t21 + d22 * t22)
        m[i, 12 * LANES + n], m[i, 13 * LANES + n], m[i, 14 * LANES + n] = (
            np.float32(-d20),
            np.float32(-d21),
            np.float32(-d22),
        )
        m[i, 15 * LANES + n], m[i, 16 * LANES + n], m[i, 17 * LANES + n] = (
            np.float32(c00),
            np.float32(c01),
            np.float32(c02),
        )
        m[i, 18 * LANES + n], m[i, 19 * LANES + n], m[i, 20 * LANES + n] = (
            np.float32(c11),
            np.float32(c12),
            np.float32(c22),
        )


@njit(inline="always")
def _row(x, y, z, b00, b01, b02, b10, b11, b12, b20, b21, b22):
    """(x, y, z) times a 3 x 3 matrix."""
    return x * b00 + y * b10 + z * b20, x * b01 + y * b11 + z * b21, x * b02 + y * b12 + z * b22


@over_rows()
def _relax(first, end, inverse, edges, step, order, starts, relaxation):
    """Turns of the red or the black pixels of rows, in the order of `bands`."""
    target = room(UNKNOWNS)
    for band in range(first, end):
        for turn in range(starts[band], starts[band + 1]):
            y, start = order[turn, 0] + 1, 1 + (order[turn, 0] + order[turn, 1]) % 2
            fill_row_margins(step[y])
            _relax_row(
                inverse[y],
                edges[y - 1],
                edges[y],
                step[y - 1],
                step[y],
                step[y + 1],
                start,
                relaxation,
                target,
            )


@kernel()
def _relax_row(inverse, edges_above, edges, above, u, below, first, relaxation, target):
    """The pixels of one colour in a row; ``target`` (6 numbers) is room to work in."""
    for i in range(first, u.shape[0] - 1, 2):
        for n in range(LANES):
            k0, k1, k2, k3, k4, k5 = n, LANES + n, 2 * LANES + n, 3 * LANES + n, 4 * LANES + n, 5 * LANES + n
            # weights of u1, u2, u3 on the edges to the right, downwards, to the left, upwards
            e0, e1, e2, e3, e4, e5 = (
                edges[i, k0], edges[i, k1], edges[i, k2], edges[i, k3], edges[i, k4], edges[i, k5]
            )  # fmt: skip
            f0, f1, f2 = edges[i - 1, k0], edges[i - 1, k1], edges[i - 1, k2]
            g0, g1, g2 = edges_above[i, k3], edges_above[i, k4], edges_above[i, k5]
            r0 = e0 * u[i + 1, k0] + f0 * u[i - 1, k0] + e3 * below[i, k0] + g0 * above[i, k0]
            r1 = e0 * u[i + 1, k1] + f0 * u[i - 1, k1] + e3 * below[i, k1] + g0 * above[i, k1]
            r2 = e1 * u[i + 1, k2] + f1 * u[i - 1, k2] + e4 * below[i, k2] + g1 * above[i, k2]
            r3 = e1 * u[i + 1, k3] + f1 * u[i - 1, k3] + e4 * below[i, k3] + g1 * above[i, k3]
            r4 = e2 * u[i + 1, k4] + f2 * u[i - 1, k4] + e5 * below[i, k4] + g2 * above[i, k4]
            r5 = e2 * u[i + 1, k5] + f2 * u[i - 1, k5] + e5 * below[i, k5] + g2 * above[i, k5]
            r0, r1 = r0 + inverse[i, RIGHT + k0], r1 + inverse[i, RIGHT + k1]
            r2, r3 = r2 + inverse[i, RIGHT + k2], r3 + inverse[i, RIGHT + k3]
            r4, r5 = r4 + inverse[i, RIGHT + k4], r5 + inverse[i, RIGHT + k5]
            # the matrix holds its upper triangle by rows
            m01, m02, m03 = inverse[i, LANES + n], inverse[i, 2 * LANES + n], inverse[i, 3 * LANES + n]
            m04, m05, m12 = inverse[i, 4 * LANES + n], inverse[i, 5 * LANES + n], inverse[i, 7 * LANES + n]
            m13, m14, m15 = inverse[i, 8 * LANES + n], inverse[i, 9 * LANES + n], inverse[i, 10 * LANES + n]
            m23, m24, m25 = inverse[i, 12 * LANES + n], inverse[i, 13 * LANES + n], inverse[i, 14 * LANES + n]
            m34, m35, m45 = inverse[i, 16 * LANES + n], inverse[i, 17 * LANES + n], inverse[i, 19 * LANES + n]
            target[k0] = inverse[i, n] * r0 + m01 * r1 + m02 * r2 + m03 * r3 + m04 * r4 + m05 * r5
            target[k1] = m01 * r0 + inverse[i, 6 * LANES + n] * r1 + m12 * r2 + m13 * r3 + m14 * r4 + m15 * r5
            target[k2] = (
                m02 * r0 + m12 * r1 + inverse[i, 11 * LANES + n] * r2 + m23 * r3 + m24 * r4 + m25 * r5
            )
            target[k3] = (
                m03 * r0 + m13 * r1 + m23 * r2 + inverse[i, 15 * LANES + n] * r3 + m34 * r4 + m35 * r5
            )
            target[k4] = (
                m04 * r0 + m14 * r1 + m24 * r2 + m34 * r3 + inverse[i, 18 * LANES + n] * r4 + m45 * r5
            )
            target[k5] = (
                m05 * r0 + m15 * r1 + m25 * r2 + m35 * r3 + m45 * r4 + inverse[i, 20 * LANES + n] * r5
            )
        # apart from the loop above, of which compilers could not tell that it reads no pixel that it writes
        for n in range(UNKNOWNS * LANES):
            u[i, n] += relaxation * (target[n] - u[i, n])
