"""Optimal triangulation from two views: the point that minimises the reprojection error.

Each match is first moved by the least amount that makes it satisfy the epipolar constraint; its two rays
then meet exactly. The correction is the iteration of P. Lindstrom, "Triangulation made easy" (CVPR 2010),
which needs no rectification and no roots of polynomials, and here runs on all matches at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import InputError
from wideflow.geometry.camera import ideal_camera, undistort_points, unproject
from wideflow.geometry.epipolar import fundamental_matrix
from wideflow.geometry.pose import camera_to_world, relative_pose, world_to_camera
from wideflow.types import View

Floats = NDArray[np.float64]

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
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            one, two = (_information(view, self.points) for view in self.views)
            return _inverse_symmetric(one + two)


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
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        x1, x2 = _satisfy_epipolar_constraint(fundamental_matrix(view1, view2), x1, x2)
        ray1 = unproject(ideal_camera(view1.camera), x1)
        ray2 = unproject(ideal_camera(view2.camera), x2)
        *depths, angle = _intersect(relative_pose(view1, view2), ray1, ray2)
        points = camera_to_world(view1, ray1 * depths[0][..., None])
    return Triangulation(points, (depths[0], depths[1]), angle, (view1, view2))


def _satisfy_epipolar_constraint(F: Floats, x1: Floats, x2: Floats) -> tuple[Floats, Floats]:
    """The nearest pixels with x2^T F x1 = 0.

    At the optimum both corrections run along the normals of the final epipolar lines, by one common factor.
    So: go along the current normals up to the constraint (a quadratic equation), take the normals there,
    repeat.
    """
    plane = F[:2, :2]
    normal1 = start1 = x2 @ plane + F[2, :2]
    normal2 = start2 = x1 @ plane.T + F[:2, 2]
    c = _dot(x2, start2) + x1 @ F[2, :2] + F[2, 2]
    for k in range(_ITERATIONS):
        a = _dot(normal2, normal1 @ plane.T)
        b = 0.5 * (_dot(normal1, start1) + _dot(normal2, start2))
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        factor = c / (b + np.copysign(root, b))
        step1, step2 = factor[..., None] * normal1, factor[..., None] * normal2
        if k + 1 < _ITERATIONS:
            normal1, normal2 = start1 - step2 @ plane, start2 - step1 @ plane.T
    return x1 - step1, x2 - step2


def _intersect(cam2_from_cam1: Floats, ray1: Floats, ray2: Floats) -> tuple[Floats, Floats, Floats]:
    """Depths along two rays (with z = 1) that meet, and the angle between them."""
    ray1 = ray1 @ cam2_from_cam1[:, :3].T
    t = cam2_from_cam1[:, 3]
    # depth1 ray1 + t = depth2 ray2; crossed with one ray, the other depth remains.
    normal = _cross(ray1, ray2)
    squared = _dot(normal, normal)
    depth1 = _dot(_cross(ray2, t), normal) / squared
    depth2 = _dot(_cross(ray1, t), normal) / squared
    return depth1, depth2, np.arctan2(np.sqrt(squared), _dot(ray1, ray2))


def _information(view: View, points: Floats) -> Floats:
    """J^T J of the pinhole projection at the points, (..., 3, 3) in inverse square world units."""
    local = world_to_camera(view, points)
    K = view.camera.K
    inverse_depth = 1 / local[..., 2:]
    # Each row of J is (a row of K R minus its pixel times the optical axis) / depth.
    pixels = (local[..., :2] * inverse_depth) @ K[:2, :2].T + K[:2, 2]
    KR = K @ view.R
    u = (KR[0] - pixels[..., 0:1] * KR[2]) * inverse_depth
    v = (KR[1] - pixels[..., 1:2] * KR[2]) * inverse_depth
    return u[..., :, None] * u[..., None, :] + v[..., :, None] * v[..., None, :]


def _inverse_symmetric(matrix: Floats) -> Floats:
    """Inverses of symmetric (..., 3, 3) matrices by cofactors: ten times as fast as LAPACK on each."""
    row0, row1, row2 = matrix[..., 0, :], matrix[..., 1, :], matrix[..., 2, :]
    inverse = np.stack([_cross(row1, row2), _cross(row2, row0), _cross(row0, row1)], axis=-2)
    return inverse / _dot(row0, inverse[..., 0, :])[..., None, None]


def _dot(a: Floats, b: Floats) -> Floats:
    return np.einsum("...i,...i->...", a, b)


def _cross(a: Floats, b: Floats) -> Floats:
    """a x b over the last axis; np.cross is slower by a factor of three."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)
