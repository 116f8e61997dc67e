"""What moves in a clip: a few series of numbers for each cell of a coarse grid.

How much moves there, how much upwards, how much downwards, and how much changes, all after the camera's own
motion is taken out.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.video.read import Video

Grey = NDArray[np.uint8]
_WIDTH = 240  # px of the longer side: enough to see what moves
_CELLS = 16  # along the longer side
KINDS = 4  # of movement
_NOISE_PX = 0.15  # flow below this is noise
_NOISE_GREY = 6.0  # of 255: differences below this are noise


@dataclass(frozen=True, eq=False)
class MotionSeries:
    """Movement in every cell of a clip: ``values`` (T, 4, cells) at the ``times`` (T,) between two frames."""

    times: NDArray[np.float64]
    values: NDArray[np.float32]


def motion_series(video: Video, start: int, stop: int, stride: int) -> MotionSeries:
    """Movement between the frames ``start``, ``start + stride`` ... before ``stop``."""
    times, values = [], []
    before: tuple[int, Grey] | None = None
    for index, picture in video.grey(_WIDTH, start, stop, stride):
        grey = cv2.GaussianBlur(picture, (0, 0), 1.0)
        if before is not None:
            times.append(0.5 * (video.times[before[0]] + video.times[index]))
            values.append(_movement(before[1], grey))
        before = index, grey
    if not values:
        return MotionSeries(np.zeros(0), np.zeros((0, KINDS, 1), np.float32))
    return MotionSeries(np.array(times), np.array(values))


def joined(parts: list[MotionSeries]) -> MotionSeries:
    """One series of several that follow each other."""
    seen = [part for part in parts if len(part.times)] or parts[:1]
    if not seen:
        return MotionSeries(np.zeros(0), np.zeros((0, KINDS, 1), np.float32))
    return MotionSeries(np.concatenate([p.times for p in seen]), np.concatenate([p.values for p in seen]))


def _movement(first: Grey, second: Grey) -> NDArray[np.float32]:
    """(4, cells): flow beyond the camera's, its upward and downward parts, and change of brightness."""
    height, width = first.shape
    camera = _camera_motion(first, second)
    flow = cv2.calcOpticalFlowFarneback(first, second, None, 0.5, 3, 11, 2, 5, 1.1, 0)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    own_x = flow[..., 0] - (camera[0, 0] * x + camera[0, 1] * y + camera[0, 2] - x)
    own_y = flow[..., 1] - (camera[1, 0] * x + camera[1, 1] * y + camera[1, 2] - y)
    back = cv2.warpAffine(
        second, camera, (width, height), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )  # fmt: skip
    change = np.abs(back.astype(np.float32) - first)
    channels = (
        np.hypot(own_x, own_y) - _NOISE_PX,
        -own_y - _NOISE_PX,
        own_y - _NOISE_PX,
        change - _NOISE_GREY,
    )
    scale = _CELLS / max(width, height)
    grid = max(1, round(width * scale)), max(1, round(height * scale))
    cells = [
        cv2.resize(np.maximum(channel, 0, dtype=np.float32), grid, interpolation=cv2.INTER_AREA).ravel()
        for channel in channels
    ]
    return np.stack(cells)


def _camera_motion(first: Grey, second: Grey) -> NDArray[np.float64]:
    """Affine motion (2, 3) of most of the picture."""
    still = np.eye(2, 3)
    corners = cv2.goodFeaturesToTrack(first, 200, 0.01, 6)
    if corners is None or len(corners) < 10:
        return still
    moved, status, _ = cv2.calcOpticalFlowPyrLK(first, second, corners, None, winSize=(11, 11), maxLevel=3)
    seen = status.ravel() > 0
    if np.count_nonzero(seen) < 10:
        return still
    affine, _ = cv2.estimateAffine2D(corners[seen], moved[seen], ransacReprojThreshold=0.5)
    return still if affine is None else affine
