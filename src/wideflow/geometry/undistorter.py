"""Pictures as an ideal camera would have taken them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.geometry.camera import ideal_camera, pixel_grid, undistortion_maps
from wideflow.geometry.rolling import row_delay
from wideflow.geometry.unrolled import unrolling
from wideflow.types import Camera

Number = TypeVar("Number", np.float32, np.uint8)


class Undistorter:
    """Shrinks pictures to the size of an ideal camera and takes lens and rolling shutter out of them.

    Parameters
    ----------
    filmed, ideal : Camera
        The one that took the pictures, and the one that should have: without distortion, of the same view.
        Rows that ``filmed`` exposes one after the other are brought to the time of the middle one.

    Attributes
    ----------
    known : (H, W) bool
        Pixels of the ideal picture that the lens has seen.
    rolls : bool
        Pictures before and after are wanted too.
    """

    def __init__(self, filmed: Camera, ideal: Camera) -> None:
        self._filmed, self._size = filmed, ideal.size
        self._places = None
        self.known = np.ones((ideal.height, ideal.width), np.bool_)
        self.rolls = filmed.readout > 0
        # shrunk before it is undistorted: sampling a large picture thinly would make it flicker
        shrunk = replace(ideal_camera(filmed, ideal.size), distortion=filmed.distortion)
        if not filmed.is_pinhole:
            *maps, self.known = undistortion_maps(shrunk, ideal)
            self._places = np.stack(maps, axis=-1)
        elif self.rolls:
            self._places = pixel_grid(*ideal.size).astype(np.float32)
        if self.rolls and self._places is not None:
            self._delay = row_delay(shrunk, self._places[..., 1]).astype(np.float32)

    def __call__(
        self, picture: NDArray[Number], near: Sequence[tuple[float, NDArray[Number]]] = ()
    ) -> NDArray[Number]:
        """The ideal picture (H, W, 3) of one that was filmed.

        ``near`` are the pictures filmed before and after it, with the seconds from it to them: where rows
        roll, they tell how pixels cross the picture. Without them it stays as it rolled.
        """
        picture = self._sized(picture)
        if self._places is None:
            return picture
        places = self._places
        if self.rolls and near:
            plain = _grey(_drawn(picture, places))
            around = [(seconds, _grey(_drawn(self._sized(other), places))) for seconds, other in near]
            back = unrolling(plain, around, self._filmed.readout, self._delay)
            moved = (pixel_grid(*self._size) + back).astype(np.float32)
            places = cv2.remap(places, moved, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return _drawn(picture, places)

    def _sized(self, picture: NDArray[Number]) -> NDArray[Number]:
        height, width = picture.shape[:2]
        if (width, height) != self._filmed.size:
            raise InputError(
                f"the picture of camera '{self._filmed.name}' is {width}x{height}, its calibration is for "
                f"{self._filmed.width}x{self._filmed.height}; give the picture that was calibrated"
            )
        if (width, height) == self._size:
            return picture
        return np.asarray(cv2.resize(picture, self._size, interpolation=cv2.INTER_AREA))


def _drawn(picture: NDArray[Number], places: NDArray[np.float32]) -> NDArray[Number]:
    flat = cv2.remap(picture, places, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.clip(flat, 0, 1) if flat.dtype == np.float32 else flat


def _grey(picture: NDArray[Number]) -> NDArray[np.uint8]:
    if picture.dtype != np.uint8:
        picture = np.rint(255 * picture).astype(np.uint8)
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) if picture.ndim == 3 else picture, np.uint8)


def processing_size(camera: Camera, longest: int) -> tuple[int, int]:
    """Width and height with at most ``longest`` pixels on the longer side; pictures are never enlarged."""
    scale = min(1.0, longest / max(camera.size))
    return max(1, round(camera.width * scale)), max(1, round(camera.height * scale))
