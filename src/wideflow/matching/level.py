"""One level of the pyramid: pictures, their descriptors and colours, and the cameras at that size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import MatchConfig
from wideflow.descriptors.daisy import Pattern, describe, gradient_maps
from wideflow.descriptors.footprint import weigh
from wideflow.geometry import PairGeometry
from wideflow.geometry.pyramid import scale_between, shrunk
from wideflow.matching.slant import Slant, level_frames

Picture = NDArray[np.float32]
_CONTRAST = 0.05  # mean gradient of an ordinary picture, brightness per pixel


@dataclass(frozen=True, eq=False)
class Level:
    """A pair of pictures at one size.

    Attributes
    ----------
    pictures : pair of (h, w, 3) float32
    maps : pair of (Q, h, w, bins) float32, or None
        What descriptors are read from, while any are still to be laid.
    descriptors : pair of (h, w, bytes) uint8
        Of each picture as a target.
    sources : list of two (h, w, bytes) uint8, or None
        Of each picture as a source, with the weights of their histograms; `lay` makes them.
    geometry : PairGeometry or None
        In this level's pixels; None for optical flow.
    colours : pair of (h, w, 4) uint8
        Of the pictures, as bytes.
    noises : pair of float
        Norm of a histogram of each picture that counts as noise, in brightness per pixel.
    """

    pictures: tuple[Picture, Picture]
    maps: tuple[NDArray[np.float32], NDArray[np.float32]] | None
    descriptors: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    sources: list[NDArray[np.uint8] | None]
    geometry: PairGeometry | None
    colours: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    noises: tuple[float, float]

    def lay(self, i: int, slant: Slant | None, config: MatchConfig) -> None:
        """Describe picture ``i`` as a source, along the surfaces that its flow shows, if it is known."""
        pattern = _pattern(config)
        count = pattern.rings * pattern.angles
        if slant is None:
            plain = self.descriptors[i]
            frames = level_frames(plain.shape[0], plain.shape[1], _epipole(self.geometry, i, config))
            source = np.concatenate([plain, plain[..., :count]], axis=2)
        else:
            assert self.maps is not None
            frames = slant.frames(_epipole(self.geometry, 1 - i, config))
            source = describe(self.maps[i], frames, pattern, self.noises[i], count)
        weigh(source, self.colours[i], frames, pattern, config.footprint)
        self.sources[i] = source


def level_count(pictures: tuple[Picture, Picture], config: MatchConfig) -> int:
    """How often to halve the pictures until the coarsest is small enough to search, plus one."""
    if not config.coarse_to_fine:
        return 1
    longest = max(max(picture.shape[:2]) for picture in pictures)
    return 1 + max(0, math.ceil(math.log2(longest / config.coarsest)))


def build_level(
    pictures: tuple[Picture, Picture], geometry: PairGeometry | None, halvings: int, config: MatchConfig
) -> Level:
    """The pair shrunk by 2 to the power of ``halvings``, described along its epipolar lines."""
    small = tuple(shrunk(picture, halvings) for picture in pictures)
    if geometry is not None:
        geometry = geometry.rescaled(
            *(scale_between(a.shape, b.shape) for a, b in zip(pictures, small, strict=True))
        )
    pattern, maps, descriptors = _pattern(config), [], []
    noises = _noise(pictures[0], config), _noise(pictures[1], config)
    for i, picture in enumerate(small):
        maps.append(gradient_maps(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), pattern))
        height, width = picture.shape[:2]
        frames = level_frames(height, width, _epipole(geometry, i, config))
        descriptors.append(describe(maps[i], frames, pattern, noises[i]))
    return Level(
        pictures=(small[0], small[1]),
        maps=(maps[0], maps[1]),
        descriptors=(descriptors[0], descriptors[1]),
        sources=[None, None],
        geometry=geometry,
        colours=(colour_bytes(small[0]), colour_bytes(small[1])),
        noises=noises,
    )


def _noise(picture: Picture, config: MatchConfig) -> float:
    """What counts as noise goes down with the contrast: a dark exposure has less of both."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    gradient = cv2.magnitude(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1))
    return config.descriptor_noise * min(max(float(gradient.mean()) / 8 / _CONTRAST, 1e-3), 1.0)


def _pattern(config: MatchConfig) -> Pattern:
    return Pattern(config.descriptor_radius, config.descriptor_rings, config.descriptor_angles)


def _epipole(geometry: PairGeometry | None, i: int, config: MatchConfig) -> NDArray[np.float64] | None:
    """What the descriptors of picture ``i`` are laid towards, if anything."""
    return geometry.epipoles[i] if geometry is not None and config.oriented else None


def colour_bytes(picture: Picture) -> NDArray[np.uint8]:
    """(h, w, 4) uint8 of colours in 0..1; the fourth byte is unused."""
    scaled = cv2.convertScaleAbs(picture, alpha=255)
    return cv2.cvtColor(scaled, cv2.COLOR_RGB2RGBA)
