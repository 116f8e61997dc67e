"""Pictures as an ideal camera would have taken them."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.geometry.camera import ideal_camera, undistortion_maps
from wideflow.types import Camera

Number = TypeVar("Number", np.float32, np.uint8)


class Undistorter:
    """Shrinks pictures to the size of an ideal camera and takes the lens out of them.

    Parameters
    ----------
    filmed, ideal : Camera
        The one that took the pictures, and the one that should have: without distortion, of the same view.

    Attributes
    ----------
    known : (H, W) bool
        Pixels of the ideal picture that the lens has seen.
    """

    def __init__(self, filmed: Camera, ideal: Camera) -> None:
        self._filmed, self._size = filmed, ideal.size
        self._maps = None
        self.known = np.ones((ideal.height, ideal.width), np.bool_)
        if not filmed.is_pinhole:
            # shrunk before it is undistorted: sampling a large picture thinly would make it flicker
            shrunk = replace(ideal_camera(filmed, ideal.size), distortion=filmed.distortion)
            *self._maps, self.known = undistortion_maps(shrunk, ideal)

    def __call__(self, picture: NDArray[Number]) -> NDArray[Number]:
        """The ideal picture (H, W, 3) of one that was filmed."""
        height, width = picture.shape[:2]
        if (width, height) != self._filmed.size:
            raise InputError(
                f"the picture of camera '{self._filmed.name}' is {width}x{height}, its calibration is for "
                f"{self._filmed.width}x{self._filmed.height}; give the picture that was calibrated"
            )
        if (width, height) != self._size:
            picture = cv2.resize(picture, self._size, interpolation=cv2.INTER_AREA)
        if self._maps is None:
            return picture
        flat = cv2.remap(picture, *self._maps, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
        return np.clip(flat, 0, 1) if flat.dtype == np.float32 else flat


def processing_size(camera: Camera, longest: int) -> tuple[int, int]:
    """Width and height with at most ``longest`` pixels on the longer side; pictures are never enlarged."""
    scale = min(1.0, longest / max(camera.size))
    return max(1, round(camera.width * scale)), max(1, round(camera.height * scale))
