"""Epipolar terms of the four-frame energy (paper, appendix), added to a pixel's system."""

import numpy as np

from wideflow.compiled import njit
from wideflow.refine.system import (
    P1_X,
    P1_XX,
    P1_XY,
    P1_Y,
    P1_YY,
    P1P3_XX,
    P1P3_XY,
    P1P3_YX,
    P1P3_YY,
    P2_X,
    P2_XX,
    P2_XY,
    P2_Y,
    P2_YY,
    P2P3_XX,
    P2P3_XY,
    P2P3_YX,
    P2P3_YY,
    P3_X,
    P3_XX,
    P3_XY,
    P3_Y,
    P3_YY,
)


@njit(inline="always")
def epipolar_t(fundamental, x, y, p2x, p2y, p3x, p3y, late, alpha, epsilon, places):
    """E_E 1, the distance of p2 from the epipolar line of x in pixels.

    If B's picture is of another time, it is that of the place towards p3 where the point was at A's.
    """
    F = fundamental[0]
    a = F[0, 0] * x + F[0, 1] * y + F[0, 2]
    b = F[1, 0] * x + F[1, 1] * y + F[1, 2]
    c = F[2, 0] * x + F[2, 1] * y + F[2, 2]
    norm = np.sqrt(a * a + b * b) + 1e-12
    a, b = a / norm, b / norm
    residual = a * (p2x + late * (p3x - p2x)) + b * (p2y + late * (p3y - p2y)) + c / norm
    size = np.sqrt(residual * residual + epsilon * epsilon)
    w = 0.5 * alpha / size
    own = 1 - late
    places[P2_XX] += own * own * w * a * a
    places[P2_XY] += own * own * w * a * b
    places[P2_YY] += own * own * w * b * b
    places[P2_X] += own * w * residual * a
    places[P2_Y] += own * w * residual * b
    if late != 0:
        places[P3_XX] += late * late * w * a * a
        places[P3_XY] += late * late * w * a * b
        places[P3_YY] += late * late * w * b * b
        places[P2P3_XX] += own * late * w * a * a
        places[P2P3_XY] += own * late * w * a * b
        places[P2P3_YX] += own * late * w * a * b
        places[P2P3_YY] += own * late * w * b * b
        places[P3_X] += late * w * residual * a
        places[P3_Y] += late * w * residual * b
    return alpha * size


@njit(inline="always")
def epipolar_t1(fundamental, x, y, p1x, p1y, p3x, p3y, late, alpha, epsilon, places):
    """E_E 2, the distance of p3 from the epipolar line of p1, both of which move.

    If A's picture is of another time, p1 is first moved along its way from x to where the point was at B's.
    """
    F = fundamental[1]
    p1x, p1y = p1x + late * (p1x - x), p1y + late * (p1y - y)
    a = F[0, 0] * p1x + F[0, 1] * p1y + F[0, 2]
    b = F[1, 0] * p1x + F[1, 1] * p1y + F[1, 2]
    c = F[2, 0] * p1x + F[2, 1] * p1y + F[2, 2]
    norm = np.sqrt(a * a + b * b) + 1e-12
    d = (1 + late) * (F[0, 0] * p3x + F[1, 0] * p3y + F[2, 0]) / norm
    e = (1 + late) * (F[0, 1] * p3x + F[1, 1] * p3y + F[2, 1]) / norm
    residual = (a * p3x + b * p3y + c) / norm
    a, b = a / norm, b / norm
    size = np.sqrt(residual * residual + epsilon * epsilon)
    w = 0.5 * alpha / size
    places[P1_XX] += w * d * d
    places[P1_XY] += w * d * e
    places[P1_YY] += w * e * e
    places[P3_XX] += w * a * a
    places[P3_XY] += w * a * b
    places[P3_YY] += w * b * b
    places[P1P3_XX] += w * d * a
    places[P1P3_XY] += w * d * b
    places[P1P3_YX] += w * e * a
    places[P1P3_YY] += w * e * b
    places[P1_X] += w * residual * d
    places[P1_Y] += w * residual * e
    places[P3_X] += w * residual * a
    places[P3_Y] += w * residual * b
    return alpha * size
