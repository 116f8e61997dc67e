"""Epipolar terms of the four-frame energy (paper, appendix), added to a pixel's system."""

import numpy as np

from wideflow.compiled import kernel
from wideflow.refine.lanes import LANES
from wideflow.refine.system import (
    P1,
    P2,
    P3,
    P_X,
    P_XX,
    P_XY,
    P_Y,
    P_YY,
    PQ_XX,
    PQ_XY,
    PQ_YX,
    PQ_YY,
    Q_X,
    Q_XX,
    Q_XY,
    Q_Y,
    Q_YY,
)


@kernel()
def epipolar_t(F, x, y, where, inside, late, alpha, epsilon, pairs, energy):
    """E_E 1, the distance of p2 from the epipolar line of x in pixels, F being that of t.

    If B's picture is of another time, it is that of the place towards p3 where the point was at A's.
    """
    own = np.float32(1) - late
    for n in range(LANES):
        p2x, p2y = where[P2, n], where[P2, LANES + n]
        p3x, p3y = where[P3, n], where[P3, LANES + n]
        a = F[0] * x[n] + F[1] * y + F[2]
        b = F[3] * x[n] + F[4] * y + F[5]
        c = F[6] * x[n] + F[7] * y + F[8]
        norm = 1 / (np.sqrt(a * a + b * b) + 1e-12)
        residual = np.float32(norm * (a * (p2x + late * (p3x - p2x)) + b * (p2y + late * (p3y - p2y)) + c))
        a, b = np.float32(norm * a), np.float32(norm * b)
        size = np.sqrt(residual * residual + epsilon * epsilon)
        energy[n] += inside[n] * alpha * size
        w = inside[n] * np.float32(0.5) * alpha / size
        aa, ab, bb, ra, rb = w * a * a, w * a * b, w * b * b, w * residual * a, w * residual * b
        pairs[P2, P_XX + n] += own * own * aa
        pairs[P2, P_XY + n] += own * own * ab
        pairs[P2, P_YY + n] += own * own * bb
        pairs[P2, P_X + n] += own * ra
        pairs[P2, P_Y + n] += own * rb
        pairs[P2, Q_XX + n] += late * late * aa
        pairs[P2, Q_XY + n] += late * late * ab
        pairs[P2, Q_YY + n] += late * late * bb
        pairs[P2, PQ_XX + n] += own * late * aa
        pairs[P2, PQ_XY + n] += own * late * ab
        pairs[P2, PQ_YX + n] += own * late * ab
        pairs[P2, PQ_YY + n] += own * late * bb
        pairs[P2, Q_X + n] += late * ra
        pairs[P2, Q_Y + n] += late * rb


@kernel()
def epipolar_t1(F, x, y, where, inside, late, alpha, epsilon, pairs, energy):
    """E_E 2, the distance of p3 from the epipolar line of p1, both of which move, F being that of t + 1.

    If A's picture is of another time, p1 is first moved along its way from x to where the point was at B's.
    """
    for n in range(LANES):
        p1x, p1y = where[P1, n], where[P1, LANES + n]
        p3x, p3y = where[P3, n], where[P3, LANES + n]
        p1x, p1y = p1x + late * (p1x - x[n]), p1y + late * (p1y - y)
        a = F[0] * p1x + F[1] * p1y + F[2]
        b = F[3] * p1x + F[4] * p1y + F[5]
        c = F[6] * p1x + F[7] * p1y + F[8]
        norm = 1 / (np.sqrt(a * a + b * b) + 1e-12)
        d = np.float32((1 + late) * norm * (F[0] * p3x + F[3] * p3y + F[6]))
        e = np.float32((1 + late) * norm * (F[1] * p3x + F[4] * p3y + F[7]))
        residual = np.float32(norm * (a * p3x + b * p3y + c))
        a, b = np.float32(norm * a), np.float32(norm * b)
        size = np.sqrt(residual * residual + epsilon * epsilon)
        energy[n] += inside[n] * alpha * size
        w = inside[n] * np.float32(0.5) * alpha / size
        pairs[P1, P_XX + n] += w * d * d
        pairs[P1, P_XY + n] += w * d * e
        pairs[P1, P_YY + n] += w * e * e
        pairs[P1, Q_XX + n] += w * a * a
        pairs[P1, Q_XY + n] += w * a * b
        pairs[P1, Q_YY + n] += w * b * b
        pairs[P1, PQ_XX + n] += w * d * a
        pairs[P1, PQ_XY + n] += w * d * b
        pairs[P1, PQ_YX + n] += w * e * a
        pairs[P1, PQ_YY + n] += w * e * b
        pairs[P1, P_X + n] += w * residual * d
        pairs[P1, P_Y + n] += w * residual * e
        pairs[P1, Q_X + n] += w * residual * a
        pairs[P1, Q_Y + n] += w * residual * b
