"""Both cameras' pictures as one lens would have taken them, for data sets that know a single one."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.export.moments import cloud
from wideflow.export.options import ExportOptions
from wideflow.geometry import project, world_to_camera
from wideflow.storage.result import Result
from wideflow.types import Array, Camera

_LEAST = 16  # px that a side must have


def common_lens(result: Result) -> Camera:
    """The lens with square pixels, as fine as A's, and its axis in the middle of the picture, whose picture
    both cameras fill; even sides, as videos want them."""
    cameras = result.rig.cameras
    for camera in cameras:
        if camera.K[0, 1] != 0:
            raise InputError(f"K of camera '{camera.name}' has skew; calibrate without skew")
    focal = float(cameras[0].K[0, 0])
    sides = []
    for axis in range(2):
        reach = min(
            min(c.K[axis, 2] + 0.5, c.size[axis] - 0.5 - c.K[axis, 2]) / c.K[axis, axis] for c in cameras
        )
        sides.append(2 * int(reach * focal + 1e-6))
    if min(sides) < _LEAST:
        raise InputError(
            f"the axes of the two cameras in '{result.place}' leave {sides[0]} x {sides[1]} px around them "
            "that both fill; this format needs axes near the middle of the pictures"
        )
    width, height = sides
    K = np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]])
    return Camera("common", width, height, K)


def through_lens(picture: Array, camera: Camera, lens: Camera) -> NDArray[np.uint8]:
    """The picture of a camera as another lens in its place and direction shows it."""
    matrix = (camera.K @ np.linalg.inv(lens.K))[:2]
    source = np.ascontiguousarray(picture)
    if matrix[0, 0] > 1.5:  # a pixel takes in several: no detail may be left that falls between them
        source = cv2.GaussianBlur(source, (0, 0), 0.5 * matrix[0, 0])
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    warped = cv2.warpAffine(source, matrix, lens.size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, np.uint8)


def cameras_stand(result: Result, moments: range) -> bool:
    """Whether no camera moves by as much as a pixel over these moments, as its pictures show it."""
    points = cloud(result, moments[0], ExportOptions()).xyz[::997].astype(np.float64)
    for i in range(2):
        first = result.frame(moments[0]).views[i]
        start = project(first.camera, world_to_camera(first, points))
        for t in moments[1:]:
            view = result.frame(t).views[i]
            moved = np.linalg.norm(project(view.camera, world_to_camera(view, points)) - start, axis=1)
            if len(moved) and not np.nanmax(moved) < 1:
                return False
            if not len(moved) and not np.allclose(view.cam_from_world, first.cam_from_world):
                return False
    return True
