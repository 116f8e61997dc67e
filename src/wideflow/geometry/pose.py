"""Poses: between world and camera, and from one view to another."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.types import View

Floats = NDArray[np.float64]


def world_to_camera(view: View, points: ArrayLike) -> Floats:
    """World points (..., 3) in the frame of the view's camera, (..., 3) float64."""
    return np.asarray(points, dtype=np.float64) @ view.R.T + view.t


def camera_to_world(view: View, points: ArrayLike) -> Floats:
    """Points (..., 3) of the camera frame in world coordinates, (..., 3) float64."""
    return (np.asarray(points, dtype=np.float64) - view.t) @ view.R


def relative_pose(view1: View, view2: View) -> Floats:
    """(3, 4) float64 [R t] with x_cam2 = R x_cam1 + t."""
    R = view2.R @ view1.R.T
    return np.column_stack([R, view2.t - R @ view1.t])


def interpolate_pose(pose1: ArrayLike, pose2: ArrayLike, share: ArrayLike) -> Floats:
    """Poses on the way from one to another.

    The camera turns about one axis at one pace, and its centre moves along a line.

    Parameters
    ----------
    pose1, pose2 : (3, 4) array_like
        ``cam_from_world`` at the shares 0 and 1.
    share : (...) array_like
        Of the way; below 0 and above 1 it goes on.

    Returns
    -------
    (..., 3, 4) float64
    """
    pose1, pose2 = np.asarray(pose1, np.float64), np.asarray(pose2, np.float64)
    R1, R2, share = pose1[:, :3], pose2[:, :3], np.asarray(share, np.float64)[..., None]
    R = _turns(share * cv2.Rodrigues(R2 @ R1.T)[0].ravel()) @ R1
    centre1, centre2 = -R1.T @ pose1[:, 3], -R2.T @ pose2[:, 3]
    centre = centre1 + share * (centre2 - centre1)
    return np.concatenate([R, -R @ centre[..., None]], axis=-1)


def _turns(vectors: Floats) -> Floats:
    """Rotations (..., 3, 3) about vectors (..., 3) by their lengths in radians."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    # sin(a) / a and (1 - cos(a)) / a^2, which are known at 0 too
    first, half = np.sinc(angle / np.pi), np.sinc(angle / (2 * np.pi))
    return np.eye(3) + first * cross + 0.5 * half**2 * (cross @ cross)


def baseline(view1: View, view2: View) -> float:
    """Distance between the two camera centres, in world units."""
    return float(np.linalg.norm(view2.centre - view1.centre))


def optical_axis_angle(view1: View, view2: View) -> float:
    """Angle between the two viewing directions, in radians."""
    axis1, axis2 = view1.R[2], view2.R[2]
    return float(np.arctan2(np.linalg.norm(np.cross(axis1, axis2)), axis1 @ axis2))


def proper_pose(pose: ArrayLike) -> NDArray[np.float64]:
    """The pose (3, 4) with the nearest matrix that is a rotation to the last bit."""
    pose = np.asarray(pose, dtype=np.float64)
    U, _, Vt = np.linalg.svd(pose[:, :3])
    return np.column_stack([U @ Vt, pose[:, 3]])
