"""Cameras and colours as other programs want them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.types import Camera, View


def opengl_pose(view: View) -> NDArray[np.float64]:
    """(4, 4) world from camera, for a camera whose axes are x right, y up, z backward."""
    pose = np.eye(4)
    pose[:3, :3] = view.R.T * (1, -1, -1)
    pose[:3, 3] = view.centre
    return pose


def check_no_skew(camera: Camera, format: str) -> None:
    """Refuse what these formats cannot express."""
    if camera.K[0, 1] != 0:
        raise InputError(
            f"K of camera '{camera.name}' has skew, which {format} cannot express; calibrate without skew"
        )


def linear_light(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Linear values 0..1 of sRGB pictures (IEC 61966-2-1), the same shape."""
    return _LINEAR[rgb]


def _linear_table() -> NDArray[np.float32]:
    encoded = np.arange(256) / 255
    curve = ((encoded + 0.055) / 1.055) ** 2.4
    return np.where(encoded <= 0.04045, encoded / 12.92, curve).astype(np.float32)


_LINEAR = _linear_table()
