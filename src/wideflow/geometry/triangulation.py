"""Optimal triangulation from two views: the point that minimises the reprojection error.

Each match is first moved by the least amount that makes it satisfy the epipolar constraint; its two rays
then meet exactly. The correction is the iteration of P. Lindstrom, "Triangulation made easy" (CVPR 2010),
which needs no rectification and no roots of polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import atan2, copysign, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.compiled import kernel, njit, over_rows
from wideflow.errors import InputError
from wideflow.geometry.camera import undistort_points
from wideflow.geometry.epipolar import fundamental_matrix
from wideflow.geometry.pose import relative_pose
from wideflow.types import View

Floats = NDArray[np.float64]

# rows of `pinholes`; those of F come first
_BACK1, _BACK2, _TURN, _TO_WORLD, _SHIFT, _CENTRE = 3, 6, 9, 12, 15, 16
_ITERATIONS = 4  # two suffice for noise of some pixels, four for gross errors


@dataclass(frozen=True, eq=False)
class Triangulation:
    """Points from two views and what is known of their accuracy.

    Attributes
    ----------
    points : (..., 3) float64
        World coordinates; NaN where a pixel is not finite or the two rays are parallel.
    depths : two of (...) float64
        z in either camera.
    angle : (...) float64
        Angle between the two rays in radians; small means that depth is uncertain.
    views : tuple of two View
        Those of the pixels.
    """

    points: Floats
    depths: tuple[Floats, Floats]
    angle: Floats
    views: tuple[View, View]

    @property
    def in_front(self) -> NDArray[np.bool_]:
        """(...): the point lies in front of both cameras."""
        return (self.depths[0] > 0) & (self.depths[1] > 0)

    @cached_property
    def covariance(self) -> Floats:
        """(..., 3, 3): first-order covariance in square world units.

        For independent noise of 1 px in every coordinate of both pictures: multiply by sigma^2.
        """
        points = self.points.reshape(-1, 3)
        covariance = np.empty((len(points), 3, 3))
        _invert_information(len(points), points, *(projection(view) for view in self.views), covariance)
        return covariance.reshape(*self.points.shape, 3)


def triangulate(view1: View, view2: View, x1: ArrayLike, x2: ArrayLike) -> Triangulation:
    """World points from their pixels in two views, with the least reprojection error.

    Parameters
    ----------
    view1, view2 : View
        Pictures of any two sizes. Where a lens distorts, the error is measured in the undistorted picture.
    x1, x2 : (..., 2) array_like
        Pixels of the same points in views 1 and 2.

    Returns
    -------
    Triangulation
    """
    x1, x2 = undistort_points(view1.camera, x1), undistort_points(view2.camera, x2)
    if x1.shape != x2.shape or x1.shape[-1:] != (2,):
        raise InputError(f"triangulation needs pixels in pairs, not {x1.shape} and {x2.shape}")
    shape = x1.shape[:-1]
    points, depths, angle = np.empty((*shape, 3)), np.empty((2, *shape)), np.empty(shape)
    _triangulate(
        x1.size // 2,
        np.ascontiguousarray(x1).reshape(-1, 2),
        np.ascontiguousarray(x2).reshape(-1, 2),
        pinholes(view1, view2),
        points.reshape(-1, 3),
        depths.reshape(2, -1),
        angle.reshape(-1),
    )
    return Triangulation(points, (depths[0], depths[1]), angle, (view1, view2))


def pinholes(view1: View, view2: View) -> Floats:
    """What `meet` needs of two views without distortion, (17, 3): matrices and vectors below one another."""
    pose = relative_pose(view1, view2)
    return np.vstack(
        [
            fundamental_matrix(view1, view2),
            np.linalg.inv(view1.camera.K),
            np.linalg.inv(view2.camera.K),
            pose[:, :3],
            view1.R.T,
            pose[:, 3],
            view1.centre,
        ]
    )


@over_rows()
def _triangulate(first, end, x1, x2, cameras, points, depths, angle):
    for i in range(first, end):
        point, both, sine, cosine = meet(cameras, x1[i, 0], x1[i, 1], x2[i, 0], x2[i, 1])
        points[i, 0], points[i, 1], points[i, 2] = point
        depths[0, i], depths[1, i] = both
        angle[i] = atan2(sine, cosine)


@kernel()
def meet(cameras, ax, ay, bx, by):
    """Where the rays of two pixels meet that were moved onto their epipolar lines.

    Returns the point in the world, its z in either camera, and sine and cosine of the angle between the rays
    times one factor.
    """
    ax, ay, bx, by = _on_epipolar_lines(cameras, ax, ay, bx, by)
    px, py, pz = _times(cameras, _BACK1, ax, ay, 1.0)
    qx, qy, qz = _times(cameras, _BACK2, bx, by, 1.0)
    # depth1 R ray1 + t = depth2 ray2; crossed with one ray, the other depth remains
    rx, ry, rz = _times(cameras, _TURN, px, py, pz)
    tx, ty, tz = cameras[_SHIFT, 0], cameras[_SHIFT, 1], cameras[_SHIFT, 2]
    nx, ny, nz = _cross(rx, ry, rz, qx, qy, qz)
    squared = nx * nx + ny * ny + nz * nz
    cx, cy, cz = _cross(qx, qy, qz, tx, ty, tz)
    depth = (cx * nx + cy * ny + cz * nz) / squared
    cx, cy, cz = _cross(rx, ry, rz, tx, ty, tz)
    other = (cx * nx + cy * ny + cz * nz) / squared
    wx, wy, wz = _times(cameras, _TO_WORLD, depth * px, depth * py, depth * pz)
    point = wx + cameras[_CENTRE, 0], wy + cameras[_CENTRE, 1], wz + cameras[_CENTRE, 2]
    return point, (depth, other), sqrt(squared), rx * qx + ry * qy + rz * qz


@njit(inline="always")
def _on_epipolar_lines(F, ax, ay, bx, by):
    """The nearest pixels with x2^T F x1 = 0.

    At the optimum both corrections run along the normals of the final epipolar lines, by one common factor.
    So: go along the current normals up to the constraint (a quadratic equation), take the normals there,
    repeat.
    """
    start1x, start1y = F[0, 0] * bx + F[1, 0] * by + F[2, 0], F[0, 1] * bx + F[1, 1] * by + F[2, 1]
    start2x, start2y = F[0, 0] * ax + F[0, 1] * ay + F[0, 2], F[1, 0] * ax + F[1, 1] * ay + F[1, 2]
    c = bx * start2x + by * start2y + F[2, 0] * ax + F[2, 1] * ay + F[2, 2]
    n1x, n1y, n2x, n2y = start1x, start1y, start2x, start2y
    s1x = s1y = s2x = s2y = 0.0
    for k in range(_ITERATIONS):
        a = n2x * (F[0, 0] * n1x + F[0, 1] * n1y) + n2y * (F[1, 0] * n1x + F[1, 1] * n1y)
        b = 0.5 * (n1x * start1x + n1y * start1y + n2x * start2x + n2y * start2y)
        factor = c / (b + copysign(sqrt(max(b * b - a * c, 0.0)), b))
        s1x, s1y, s2x, s2y = factor * n1x, factor * n1y, factor * n2x, factor * n2y
        if k + 1 < _ITERATIONS:
            n1x, n1y = start1x - F[0, 0] * s2x - F[1, 0] * s2y, start1y - F[0, 1] * s2x - F[1, 1] * s2y
            n2x, n2y = start2x - F[0, 0] * s1x - F[0, 1] * s1y, start2y - F[1, 0] * s1x - F[1, 1] * s1y
    return ax - s1x, ay - s1y, bx - s2x, by - s2y


def projection(view: View) -> Floats:
    """K R, and the centre of the camera as a fourth column."""
    return np.column_stack([view.camera.K @ view.R, view.centre])


@over_rows()
def _invert_information(first, end, points, one, two, covariance):
    for i in range(first, end):
        xx, xy, xz, yy, yz, zz = spread(one, two, points[i, 0], points[i, 1], points[i, 2])
        covariance[i, 0, 0] = xx
        covariance[i, 0, 1] = covariance[i, 1, 0] = xy
        covariance[i, 0, 2] = covariance[i, 2, 0] = xz
        covariance[i, 1, 1] = yy
        covariance[i, 1, 2] = covariance[i, 2, 1] = yz
        covariance[i, 2, 2] = zz


@njit()
def spread(first, second, x, y, z):
    """Upper triangle by rows of a point's covariance for noise of 1 px in two views, each a `projection`.

    The inverse of the sum over both views of J^T J, J being the derivative of the pinhole projection.
    """
    a = b = c = d = e = f = 0.0  # upper triangle by rows
    for P in (first, second):
        px, py, pz = x - P[0, 3], y - P[1, 3], z - P[2, 3]
        depth = P[2, 0] * px + P[2, 1] * py + P[2, 2] * pz
        for row in range(2):
            # each row of J is (a row of K R minus its pixel times the optical axis) / depth
            pixel = (P[row, 0] * px + P[row, 1] * py + P[row, 2] * pz) / depth
            u = (P[row, 0] - pixel * P[2, 0]) / depth
            v = (P[row, 1] - pixel * P[2, 1]) / depth
            w = (P[row, 2] - pixel * P[2, 2]) / depth
            a, b, c = a + u * u, b + u * v, c + u * w
            d, e, f = d + v * v, e + v * w, f + w * w
    return inverse_of_symmetric(a, b, c, d, e, f)


@njit(inline="always")
def inverse_of_symmetric(a, b, c, d, e, f):
    """Upper triangle by rows of the inverse of a symmetric 3 x 3 matrix, given by its own."""
    A, B, C = d * f - e * e, c * e - b * f, b * e - c * d
    share = 1 / (a * A + b * B + c * C)
    return (
        share * A,
        share * B,
        share * C,
        share * (a * f - c * c),
        share * (b * c - a * e),
        share * (a * d - b * b),
    )


@njit(inline="always")
def _times(cameras, row, x, y, z):
    """The matrix that begins with a row, times a vector."""
    return (
        cameras[row, 0] * x + cameras[row, 1] * y + cameras[row, 2] * z,
        cameras[row + 1, 0] * x + cameras[row + 1, 1] * y + cameras[row + 1, 2] * z,
        cameras[row + 2, 0] * x + cameras[row + 2, 1] * y + cameras[row + 2, 2] * z,
    )


@njit(inline="always")
def _cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
