"""Printed square tags (AprilTag 36h11): what they look like, and where a picture shows them.

A corner alone is found to some tenths of a pixel, and where a camera bends tones, black shrinks: every corner
then errs inwards. So the whole pattern is laid over the picture, in linear light: the edges inside it, which
run both ways, hold what the outer ones would give away.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError

Floats = NDArray[np.float64]

TAGS = 587  # in the family
CELLS = 8  # along a side, the black border included
_MARGIN = 0.5  # cells of white around it that are compared too
_FINEST, _COARSEST = 4, 12  # px a cell of the pattern that is laid over the picture
_BLUR = 0.5  # px that a camera blurs by at least
_GAMMA = 2.2
_ALIKE = 0.85  # correlation of what is a tag
_MOVED = 0.12  # of the side that a corner may move while it is laid over


def tag_cells(number: int) -> NDArray[np.bool_]:
    """Which cells of a tag are white, (8, 8), row by row from above.

    Raises
    ------
    InputError
        There is no such tag.
    """
    if not 0 <= number < TAGS:
        raise InputError(f"there is no tag {number}; the family has numbers 0 to {TAGS - 1}")
    return cv2.aruco.generateImageMarker(_family(), number, CELLS, borderBits=1) > 127


def find_tags(grey: NDArray[np.uint8]) -> dict[int, Floats]:
    """Tags in a picture.

    Parameters
    ----------
    grey : (H, W) uint8
        Brightness, as encoded in the file.

    Returns
    -------
    dict
        Number of each tag to its corners (4, 2) in px: the outer corners of the black border, from the
        pattern's upper left clockwise. A number that is seen twice is left out, as nobody knows which is
        which.
    """
    detector = cv2.aruco.ArucoDetector(_family(), cv2.aruco.DetectorParameters())
    found, numbers, _ = detector.detectMarkers(grey)
    if numbers is None:
        return {}
    seen = np.asarray(numbers).ravel().tolist()
    out = {}
    for number, corners in zip(seen, found, strict=True):
        if seen.count(number) == 1:
            fitted = _laid_over(grey, number, np.asarray(corners, np.float64).reshape(4, 2))
            if fitted is not None:
                out[int(number)] = fitted
    return out


def side_length(corners: Floats) -> float:
    """Mean length of the four sides of corners (4, d)."""
    return float(np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1).mean())


def _family() -> cv2.aruco.Dictionary:
    return cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)


def _laid_over(grey: NDArray[np.uint8], number: int, corners: Floats) -> Floats | None:
    """The corners where the whole pattern fits best; None where it does not fit."""
    side = side_length(corners)
    fine = int(np.clip(round(side / CELLS), _FINEST, _COARSEST))
    pattern, own = _pattern(number, fine, _BLUR * fine * CELLS / side)
    low = np.maximum(np.floor(corners.min(axis=0) - side / CELLS - 3).astype(int), 0)
    high = np.ceil(corners.max(axis=0) + side / CELLS + 4).astype(int)
    part = grey[low[1] : high[1], low[0] : high[0]]
    light = (part.astype(np.float32) / 255) ** np.float32(_GAMMA)
    start = cv2.getPerspectiveTransform(own.astype(np.float32), (corners - low).astype(np.float32))
    stop = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 60, 1e-7)
    try:
        alike, warp = cv2.findTransformECC(
            pattern, light, start.astype(np.float32), cv2.MOTION_HOMOGRAPHY, stop, None, 1
        )
    except cv2.error:  # it does not settle
        return None
    fitted = cv2.perspectiveTransform(own[None], warp.astype(np.float64))[0] + low
    moved = np.linalg.norm(fitted - corners, axis=1).max()
    return fitted if alike > _ALIKE and moved < max(1.5, _MOVED * side) else None


def _pattern(number: int, fine: int, blur: float) -> tuple[NDArray[np.float32], Floats]:
    """A tag of ``fine`` px a cell with a white margin, and its corners (4, 2) in it."""
    white = np.pad(tag_cells(number), 1, constant_values=True)
    large = np.kron(white, np.ones((2 * fine, 2 * fine))).astype(np.float32)
    cut = round(2 * fine * (1 - _MARGIN))
    large = large[cut:-cut, cut:-cut]
    small = large.reshape(large.shape[0] // 2, 2, large.shape[1] // 2, 2).mean(axis=(1, 3))
    low, high = _MARGIN * fine - 0.5, (_MARGIN + CELLS) * fine - 0.5
    own = np.array([(low, low), (high, low), (high, high), (low, high)])
    return cv2.GaussianBlur(small, (0, 0), blur), own
