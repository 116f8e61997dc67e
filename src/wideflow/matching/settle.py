"""Where a pixel alone cannot tell its motion, because it is plain or lies on a straight edge, others do."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.matching.slant import fit_slant

_NOISE = 0.02  # gradient across the weaker direction at which a pixel knows half, brightness per pixel
_WINDOW = 11  # px


def leaning(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much a pixel needs others to tell its motion, (h, w): 1 for plain areas and straight edges."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    weaker = cv2.cornerMinEigenVal(grey, _WINDOW, ksize=3) / 4  # mean square gradient; Sobel's gain is 2
    return (_NOISE**2 / (weaker + _NOISE**2)).astype(np.float32)


def surroundings(
    picture: NDArray[np.float32], flow: NDArray[np.float32], agreed: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What the pixels around each one say of its flow (h, w, 2), and how much it leans on them (h, w).

    Those are heard that do not lean themselves and on which both directions have ``agreed``.
    """
    leans = leaning(picture)
    return fit_slant(picture, flow, agreed * (1 - leans)).flow, leans
