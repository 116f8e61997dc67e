"""Pictures as an ideal camera would have taken them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.geometry import ideal_camera, undistortion_maps
from wideflow.types import View


def undistorted(
    picture: NDArray[np.float32], view: View
) -> tuple[NDArray[np.float32], View, NDArray[np.bool_]]:
    """The picture and view of an ideal camera, and which of its pixels (H, W) the lens has seen.

    Parameters
    ----------
    picture : (H, W, 3) float32
        RGB, 0..1, of the size that the camera was calibrated for.
    view : View
        With or without distortion.
    """
    camera = view.camera
    height, width = picture.shape[:2]
    if (width, height) != camera.size:
        raise InputError(
            f"the picture of camera '{camera.name}' is {width}x{height}, its calibration is for "
            f"{camera.width}x{camera.height}; give the picture that was calibrated"
        )
    if camera.is_pinhole:
        return picture, view, np.ones((height, width), np.bool_)
    ideal = ideal_camera(camera)
    map_x, map_y, known = undistortion_maps(camera, ideal)
    flat = cv2.remap(picture, map_x, map_y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.clip(flat, 0, 1, dtype=np.float32), View(ideal, view.cam_from_world), known
