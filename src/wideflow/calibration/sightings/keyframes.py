"""Key frames: as many as the cameras' motion needs, the same moments in both videos."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.grey_frames import grey_frames
from wideflow.geometry.pyramid import Grey
from wideflow.progress import Progress
from wideflow.video.read import Video

_WIDTH = 480  # px of the pictures that motion is measured in
_POINTS = 400
_LOST = 0.5  # share of points lost in one step that counts as a whole key frame of motion


def motion_of(video: Video, frames: NDArray[np.int64], step: Callable[[], None]) -> NDArray[np.float64]:
    """How far the picture moved up to each of ``frames`` since the one before, (n,), as a share of its width.

    The median over tracked points: what moves by itself counts only if it fills the picture. NaN where a
    frame is damaged.
    """
    found = dict.fromkeys(map(int, frames), np.nan)
    before: Grey | None = None
    for index, grey in grey_frames(video, frames, _WIDTH):
        found[index] = 0.0 if before is None else _shift(before, grey)
        before = grey
        step()
    return np.array([found[int(index)] for index in frames])


def _shift(before: Grey, after: Grey) -> float:
    points = cv2.goodFeaturesToTrack(before, _POINTS, 0.01, 7)
    if points is None:
        return 0.0
    moved, seen, _ = cv2.calcOpticalFlowPyrLK(before, after, points, None, winSize=(15, 15), maxLevel=4)
    kept = seen.ravel() > 0
    if kept.mean() < _LOST:
        return 1.0
    distance = np.linalg.norm((moved - points)[kept].reshape(-1, 2), axis=1)
    return float(np.median(distance)) / max(before.shape)


def choose_keyframes(
    motion: NDArray[np.float64], spacing: float, longest_gap: int, fewest: int, most: int
) -> NDArray[np.int64]:
    """Pairs of frames between which the cameras have moved about as far every time.

    Parameters
    ----------
    motion : (n,) float64
        Of the faster camera from the pair before, as a share of the picture's width; NaN: unusable.
    spacing : float
        Motion from key frame to key frame.
    longest_gap : int
        Pairs from key frame to key frame if the cameras hardly move.
    fewest, most : int
        Limits of their number.

    Returns
    -------
    (m,) int64
        Rising numbers of pairs, the first and the last usable one among them.
    """
    usable = np.flatnonzero(np.isfinite(motion))
    if len(usable) <= 2:
        return usable
    length = np.maximum(motion[usable] / spacing, 1 / longest_gap)
    path = np.cumsum(length) - length[0]
    count = int(np.clip(np.ceil(path[-1]) + 1, min(fewest, len(usable)), most))
    places = np.searchsorted(path, np.linspace(0, path[-1], count) - 1e-9)
    return np.unique(usable[np.clip(places, 0, len(usable) - 1)])


def motion_of_both(
    videos: tuple[Video, Video], frames: tuple[NDArray[np.int64], NDArray[np.int64]], report: Progress
) -> NDArray[np.float64]:
    """Motion (n,) to each pair of frames from the one before, of the camera that moves more."""
    total, done = sum(len(np.unique(used)) for used in frames), 0

    def step() -> None:
        nonlocal done
        done += 1
        report(done, total, "following the motion of the cameras")

    found = []
    for video, used in zip(videos, frames, strict=True):
        unique, inverse = np.unique(used, return_inverse=True)
        moved = motion_of(video, unique, step)[inverse]
        found.append(np.where(np.diff(used, prepend=-1) == 0, 0.0 * moved, moved))
    return np.maximum(*found)
