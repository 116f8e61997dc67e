"""From matches that are right to the pixel to flow that is smooth below it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry.picture import grey_bytes


def polish(
    source: NDArray[np.float32], target: NDArray[np.float32], flow: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Small outliers out by a median, then a few steps of variational refinement.

    The refinement (OpenCV's) compares brightness and gradients under a robust penalty and moves a match by
    less than a pixel or two, so it stays near what the descriptors found.

    Parameters
    ----------
    source, target : (H, W, 3), (H2, W2, 3) float32
        Pictures, 0..1, the source in the target's colours.
    flow : (H, W, 2) float32
        In pixels.
    """
    if min(flow.shape[:2]) < 8 or min(target.shape[:2]) < 8:
        return flow  # OpenCV's refinement needs a few pixels each way
    height, width = flow.shape[:2]
    first, second = (grey_bytes(picture) for picture in (source, target))
    # the refinement wants two pictures of one size: the larger frame holds both
    rows, columns = max(height, second.shape[0]), max(width, second.shape[1])
    u, v = (_padded(cv2.medianBlur(np.ascontiguousarray(flow[..., i]), 5), rows, columns) for i in range(2))
    refinement = cv2.VariationalRefinement_create()
    refinement.setAlpha(50)
    refinement.setDelta(5)
    refinement.setGamma(10)
    refinement.setFixedPointIterations(20)  # whole-pixel steps take a while to melt
    refinement.setSorIterations(5)
    refinement.calcUV(_padded(first, rows, columns), _padded(second, rows, columns), u, v)
    return np.stack([u[:height, :width], v[:height, :width]], axis=-1)


def _padded(array: NDArray[np.generic], rows: int, columns: int) -> NDArray[np.generic]:
    bottom, right = rows - array.shape[0], columns - array.shape[1]
    return cv2.copyMakeBorder(array, 0, bottom, 0, right, cv2.BORDER_REPLICATE)
