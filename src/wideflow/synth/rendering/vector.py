"""Three-vectors as tuples: the compiler keeps them in registers, where small arrays would be allocated."""

from __future__ import annotations

from typing import Any

import numpy as np

from wideflow.compiled import njit

Vector = tuple[float, float, float]


@njit()
def row(array: Any, i: int) -> Vector:
    """Row i of an (n, 3) array."""
    return float(array[i, 0]), float(array[i, 1]), float(array[i, 2])


@njit()
def add(a: Vector, s: float, b: Vector) -> Vector:
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@njit()
def sub(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit()
def scale(s: float, a: Vector) -> Vector:
    return s * a[0], s * a[1], s * a[2]


@njit()
def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit()
def cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit()
def unit(a: Vector) -> Vector:
    return scale(1.0 / (np.sqrt(dot(a, a)) + 1e-30), a)


@njit()
def blend(a: Vector, b: Vector, c: Vector, b1: float, b2: float) -> Vector:
    """Point of the triangle a, b, c with barycentrics b1 of b and b2 of c."""
    return add(add(scale(1 - b1 - b2, a), b1, b), b2, c)


@njit()
def intersect(a: Vector, b: Vector, c: Vector, origin: Vector, direction: Vector) -> Vector:
    """Ray against the plane of a triangle: distance in directions and the barycentrics of b and c."""
    e1, e2, at = sub(b, a), sub(c, a), sub(origin, a)
    n = cross(e1, e2)
    towards = dot(direction, n)
    if towards == 0.0:
        return np.inf, 0.0, 0.0
    t = -dot(at, n) / towards
    p = add(at, t, direction)
    nn = dot(n, n)
    return t, dot(cross(p, e2), n) / nn, dot(cross(e1, p), n) / nn
