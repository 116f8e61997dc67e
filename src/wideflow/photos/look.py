"""Depth of one picture: first small, from the others' pictures alone, then with what they found."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from wideflow.config import EvidenceConfig
from wideflow.evidence import Glimpse, rough_depth
from wideflow.evidence.glimpse import Floats
from wideflow.evidence.planes import Patches, find_pixel_planes, starting_planes

_ROUGH = EvidenceConfig(most_steps=256, best_share=0.4)  # wide baselines move points by hundreds of pixels
_FIRST = Patches()  # at half the size: windows see twice as far, in a quarter of the time
_SECOND = replace(_FIRST, rounds=2)
LOOKS = ("first", "second", "third")  # each but the first with what the others found in the one before


def first_look(here: Glimpse, others: list[Glimpse], near: float, far: float) -> Floats:
    """Planes (H, W, 3) of a picture, by how alike the pictures are at half their size.

    Parameters
    ----------
    here, others : Glimpse
        The picture, and those that it is compared with.
    near, far : float
        Depths to look between, world units.
    """
    inverse, _, _ = rough_depth(here, others, near, far, _ROUGH)
    small = _halved(here)
    start = cv2.resize(inverse, small.grey.shape[::-1], interpolation=cv2.INTER_LINEAR)
    found = find_pixel_planes(
        small, [_halved(other) for other in others], starting_planes(start), (1 / far, 1 / near), _FIRST
    )
    planes = cv2.resize(found.planes, here.grey.shape[::-1], interpolation=cv2.INTER_LINEAR)
    planes[..., 1:] /= 2  # slopes are by the pixel
    return np.asarray(planes, np.float32)


def _halved(glimpse: Glimpse) -> Glimpse:
    height, width = glimpse.grey.shape
    shape = -(-height // 2), -(-width // 2)
    small = cv2.resize(glimpse.grey, shape[::-1], interpolation=cv2.INTER_AREA)
    return Glimpse(np.asarray(small, np.uint8), glimpse.at(shape))


def further_look(
    here: Glimpse, others: list[Glimpse], planes: Floats, theirs: list[Floats], near: float, far: float
) -> Floats:
    """Planes (H, W, 3) that also agree with what the others found.

    Parameters
    ----------
    here, others : Glimpse
        The picture, and those that it is compared with.
    planes : (H, W, 3) float32
        From the look before.
    theirs : list of (h, w) float32
        Inverse depth of each other picture, from the look before.
    near, far : float
        Depths to look between, world units.
    """
    return find_pixel_planes(here, others, planes, (1 / far, 1 / near), _SECOND, theirs).planes


def settings_used() -> tuple[EvidenceConfig, Patches, Patches]:
    """All numbers that depth depends on beside pictures and cameras."""
    return _ROUGH, _FIRST, _SECOND
