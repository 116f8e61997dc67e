"""A picture of a camera at some moment, as evidence for the depth of another."""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.descriptors.daisy import Pattern, describe, gradient_maps
from wideflow.geometry import ideal_camera
from wideflow.types import View

Floats = NDArray[np.float32]
_DETAIL = 4.0  # px: what is smoother than this is light, not detail
_NOISE = 0.01  # of brightness, below which detail is noise
_CONTRAST = 0.2  # standard deviation of an ordinary picture: the descriptors' noise goes down with less


@dataclass(frozen=True, eq=False)
class Glimpse:
    """A brightness picture and the ideal camera that took it.

    Attributes
    ----------
    grey : (H, W) uint8
    view : View
    """

    grey: NDArray[np.uint8]
    view: View
    _made: dict[tuple[object, ...], NDArray[np.generic]] = field(default_factory=dict, repr=False)

    def at(self, shape: tuple[int, int]) -> View:
        """The camera of the picture at another size."""
        return View(ideal_camera(self.view.camera, shape[::-1]), self.view.cam_from_world)

    def brightness(self, shape: tuple[int, int]) -> Floats:
        """(h, w), 0..1."""
        grey = self.grey
        if grey.shape != shape:
            grey = cv2.resize(grey, shape[::-1], interpolation=cv2.INTER_AREA)
        return grey.astype(np.float32) / np.float32(255)

    def detail(self, shape: tuple[int, int]) -> Floats:
        """Brightness less its mean around each pixel, over its deviation there: light does not matter."""
        key = ("detail", shape)
        if key not in self._made:
            grey = self.brightness(shape)
            high = grey - cv2.GaussianBlur(grey, (0, 0), _DETAIL)
            deviation = np.sqrt(cv2.GaussianBlur(high**2, (0, 0), _DETAIL) + np.float32(_NOISE**2))
            self._made[key] = high / deviation
        return np.asarray(self._made[key], np.float32)

    def descriptors(self, shape: tuple[int, int], pattern: Pattern, noise: float) -> NDArray[np.uint8]:
        """Upright descriptors (h, w, bytes): pictures of one camera hardly turn against each other."""
        key = ("descriptors", shape, pattern, noise)
        if key not in self._made:
            grey = self.brightness(shape)
            floor = noise * min(1.0, float(grey.std()) / _CONTRAST)
            upright = np.broadcast_to(np.eye(2, dtype=np.float32), (*shape, 2, 2))
            maps = gradient_maps(grey, pattern)
            self._made[key] = describe(maps, np.ascontiguousarray(upright), pattern, floor)
        return np.asarray(self._made[key], np.uint8)
