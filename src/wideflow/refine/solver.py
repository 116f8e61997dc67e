"""One Gauss-Newton step: successive over-relaxation of coupled 6 x 6 pixels, red pixels then black ones.

A pixel's neighbours all have the other parity of x + y, so that the result does not depend on the number of
threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.refine.smoothness import STEREO
from wideflow.refine.system import RIGHT, UNKNOWNS

_DAMPING = 1e-3  # keeps the matrix of a pixel without data regular
_TURNS = 24  # of red and black pixels that rows take while they are in the cache
_BAND = 32  # rows that a thread takes at once, at least


def solve_step(
    system: NDArray[np.float32],
    edges: NDArray[np.float32],
    flows: NDArray[np.float32],
    slopes: NDArray[np.float32],
    sweeps: int,
    relaxation: float,
) -> NDArray[np.float32]:
    """Increment (H, W, 6) that minimises the quadratic model of the energy around ``flows``.

    Parameters
    ----------
    system : (H, W, 27) float32
        Of `data_terms.linearise`; overwritten.
    edges : (H, W, 6) float32
        Of `smoothness.smoothness`.
    flows : (H, W, 6) float32
        u1, u2, u3 in pixels.
    slopes : (H, W, 4) float32
        Free differences of u2.
    sweeps : int
        Each visits every pixel once.
    relaxation : float
        1 is Gauss-Seidel, below 2.
    """
    _factorise(system, edges, flows, slopes)
    rows, columns = flows.shape[:2]
    # margins of zeros spare all questions at the border
    step = np.zeros((rows + 2, columns + 2, UNKNOWNS), np.float32)
    margin = np.zeros((rows + 1, columns + 1, UNKNOWNS), np.float32)
    margin[1:, 1:] = edges
    for first in range(0, 2 * sweeps, _TURNS):
        turns = min(_TURNS, 2 * sweeps - first)
        _relax(system, margin, step, first, turns, np.float32(relaxation))
    return step[1:-1, 1:-1]


@njit(parallel=True, error_model="numpy")
def _factorise(system, edges, flows, slopes):
    """Replace each pixel's matrix by the inverse of itself plus its edges, b by the whole right-hand side."""
    rows, columns = flows.shape[:2]
    for y in prange(rows):
        matrix = np.empty((UNKNOWNS, UNKNOWNS), np.float64)
        for x in range(columns):
            k = 0
            for i in range(UNKNOWNS):
                for j in range(i, UNKNOWNS):
                    matrix[i, j] = system[y, x, k]
                    k += 1
            for i in range(UNKNOWNS):
                e, here = i // 2, flows[y, x, i]
                right, below = edges[y, x, e], edges[y, x, e + 3]
                force, total = np.float32(0), right + below
                free = np.float32(1) if e == STEREO else np.float32(0)
                k = i - 2 * STEREO if e == STEREO else 0
                if x + 1 < columns:
                    force += right * (flows[y, x + 1, i] - here - free * slopes[y, x, k])
                if y + 1 < rows:
                    force += below * (flows[y + 1, x, i] - here - free * slopes[y, x, k + 2])
                if x > 0:
                    left = edges[y, x - 1, e]
                    force -= left * (here - flows[y, x - 1, i] - free * slopes[y, x - 1, k])
                    total += left
                if y > 0:
                    above = edges[y - 1, x, e + 3]
                    force -= above * (here - flows[y - 1, x, i] - free * slopes[y - 1, x, k + 2])
                    total += above
                matrix[i, i] += total + _DAMPING
                system[y, x, RIGHT + i] = force - system[y, x, RIGHT + i]
            _invert(matrix)
            k = 0
            for i in range(UNKNOWNS):
                for j in range(i, UNKNOWNS):
                    system[y, x, k] = -matrix[i, j]
                    k += 1


@njit(inline="always")
def _invert(m):
    """Turn the upper triangle of a positive definite 6 x 6 matrix into that of minus its inverse.

    Each turn of the sweep operator exchanges one unknown with its equation and keeps the matrix symmetric.
    """
    for p in range(UNKNOWNS):
        pivot = 1 / m[p, p]
        for i in range(UNKNOWNS):
            if i != p:
                factor = pivot * (m[i, p] if i < p else m[p, i])
                for j in range(i, UNKNOWNS):
                    if j != p:
                        m[i, j] -= factor * (m[j, p] if j < p else m[p, j])
        for i in range(p):
            m[i, p] *= pivot
        for j in range(p + 1, UNKNOWNS):
            m[p, j] *= pivot
        m[p, p] = -pivot


@njit(parallel=True, error_model="numpy")
def _relax(inverse, edges, step, first, turns, relaxation):
    """Some turns of red and black pixels, in which each pixel's numbers come from memory but once.

    A turn of a row needs the turn before of the rows beside it, and no more. So a band of rows takes its
    turns while it is in the cache, row behind row: first what its own rows allow, which is a row less on
    either side with every turn, then what is left between two bands. The result is that of whole turns.
    """
    rows = inverse.shape[0]
    bands = max(1, rows // max(_BAND, 2 * turns))
    for band in prange(bands):
        top, bottom = band * rows // bands, (band + 1) * rows // bands
        above, below = min(band, 1), min(bands - 1 - band, 1)  # is there a band on that side?
        for front in range(top, bottom + turns):
            for turn in range(turns):
                y = front - turn
                if top + above * turn <= y < bottom - below * turn:
                    _relax_row(inverse, edges, step, y, first + turn, relaxation)
    for band in prange(1, bands):
        border = band * rows // bands
        for front in range(border, border + 2 * turns):
            for turn in range(turns):
                y = front - turn
                if border - turn <= y < border + turn:
                    _relax_row(inverse, edges, step, y, first + turn, relaxation)


@njit(error_model="numpy")
def _relax_row(inverse, edges, step, y, turn, relaxation):
    """One turn of the pixels of one colour in a row."""
    for x in range((y + turn) % 2, inverse.shape[1], 2):
        m = inverse[y, x]
        right, left, below, above = step[y + 1, x + 2], step[y + 1, x], step[y + 2, x + 1], step[y, x + 1]
        e, f, g = edges[y + 1, x + 1], edges[y + 1, x], edges[y, x + 1]
        r0 = m[RIGHT + 0] + e[0] * right[0] + f[0] * left[0] + e[3] * below[0] + g[3] * above[0]
        r1 = m[RIGHT + 1] + e[0] * right[1] + f[0] * left[1] + e[3] * below[1] + g[3] * above[1]
        r2 = m[RIGHT + 2] + e[1] * right[2] + f[1] * left[2] + e[4] * below[2] + g[4] * above[2]
        r3 = m[RIGHT + 3] + e[1] * right[3] + f[1] * left[3] + e[4] * below[3] + g[4] * above[3]
        r4 = m[RIGHT + 4] + e[2] * right[4] + f[2] * left[4] + e[5] * below[4] + g[5] * above[4]
        r5 = m[RIGHT + 5] + e[2] * right[5] + f[2] * left[5] + e[5] * below[5] + g[5] * above[5]
        # the matrix holds its upper triangle by rows
        s0 = m[0] * r0 + m[1] * r1 + m[2] * r2 + m[3] * r3 + m[4] * r4 + m[5] * r5
        s1 = m[1] * r0 + m[6] * r1 + m[7] * r2 + m[8] * r3 + m[9] * r4 + m[10] * r5
        s2 = m[2] * r0 + m[7] * r1 + m[11] * r2 + m[12] * r3 + m[13] * r4 + m[14] * r5
        s3 = m[3] * r0 + m[8] * r1 + m[12] * r2 + m[15] * r3 + m[16] * r4 + m[17] * r5
        s4 = m[4] * r0 + m[9] * r1 + m[13] * r2 + m[16] * r3 + m[18] * r4 + m[19] * r5
        s5 = m[5] * r0 + m[10] * r1 + m[14] * r2 + m[17] * r3 + m[19] * r4 + m[20] * r5
        here = step[y + 1, x + 1]
        here[0] += relaxation * (s0 - here[0])
        here[1] += relaxation * (s1 - here[1])
        here[2] += relaxation * (s2 - here[2])
        here[3] += relaxation * (s3 - here[3])
        here[4] += relaxation * (s4 - here[4])
        here[5] += relaxation * (s5 - here[5])
