"""Poses: between world and camera, and from one view to another."""

from __future__ import annotations

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
