"""What moves in a picture, as black and white."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.storage.result import Result

_LIKELY = 0.5  # chance of motion from which a pixel counts as moving
_REACH = 0.01  # how far a pixel's chance reaches, as a share of the picture's longer side
_EDGE = 0.1  # step of grey, 0..1, that holds it back


def moving_mask(result: Result, t: int) -> NDArray[np.bool_]:
    """(H, W), where the world moved at a moment.

    The chance of motion is first averaged along the edges of the picture (a guided filter): single pixels do
    not move alone, and things end where the picture has an edge.
    """
    chance = np.nan_to_num(result.moving(t)).astype(np.float32)
    grey = cv2.cvtColor(result.picture_a(t), cv2.COLOR_RGB2GRAY).astype(np.float32) / 255
    reach = max(1, round(_REACH * max(chance.shape)))
    return np.asarray(cv2.ximgproc.guidedFilter(grey, chance, reach, _EDGE**2) > _LIKELY, np.bool_)
