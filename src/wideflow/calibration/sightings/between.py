"""Frames between key frames: the points that the key frames see, followed there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.grey_frames import grey_frames
from wideflow.calibration.sightings.tracks import WINDOW, compared
from wideflow.geometry.pyramid import Grey, from_full, to_full
from wideflow.video.read import Video

_BUFFER = 200  # frames that are followed backwards from a key frame

Points = NDArray[np.float32]


def follow_between(
    video: Video,
    frames: NDArray[np.int64],
    anchors: dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]],
    width: int,
    step: Callable[[], None],
) -> dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Where the points of key frames lie in the frames around them.

    Parameters
    ----------
    video : Video
        One of the clips.
    frames : (n,) int64
        Frames of interest, rising; key frames among them.
    anchors : dict
        Key frame to pixels (N, 2) of the full picture and numbers (N,) of its points.
    width : int
        Longer side of the pictures that are compared.
    step : callable
        Called once a frame.

    Returns
    -------
    dict
        Of the frames between: pixels and numbers of the points found; a point may come twice, from the key
        frame before and from the one after.
    """
    found: dict[int, list[tuple[NDArray[np.float64], NDArray[np.int64]]]] = {}
    gap: deque[tuple[int, Grey]] = deque(maxlen=_BUFFER)
    forward: _Follower | None = None
    for index, grey in grey_frames(video, frames, width):
        step()
        if index not in anchors:
            gap.append((index, grey))
            if forward is not None:
                found.setdefault(index, []).append(forward.next(grey))
            continue
        backward = _Follower(grey, *anchors[index], video.size)
        for earlier, picture in reversed(gap):
            found.setdefault(earlier, []).append(backward.next(picture))
        gap.clear()
        forward = _Follower(grey, *anchors[index], video.size)
    return {index: _joined(parts) for index, parts in found.items()}


class _Follower:
    """Points of one key frame, followed from picture to picture and each time compared with the key frame.

    Following predicts where a point is; comparing with the key frame itself keeps it from drifting.
    """

    def __init__(
        self, grey: Grey, xy: NDArray[np.float64], point: NDArray[np.int64], size: tuple[int, int]
    ) -> None:
        self._size, self._key, self._last = size, grey, grey
        self._start: Points = from_full(xy, grey, size).astype(np.float32)
        self._now, self._point = self._start.copy(), point

    def next(self, grey: Grey) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if len(self._now) == 0:
            return np.zeros((0, 2)), np.zeros(0, np.int64)
        guess, alive, _ = cv2.calcOpticalFlowPyrLK(self._last, grey, self._now, None, **WINDOW)
        exact, good = compared(self._key, grey, self._start, guess)
        good &= alive.ravel() > 0
        result = to_full(exact[good], grey, self._size), self._point[good]
        kept = alive.ravel() > 0
        self._now = np.where(good[:, None], exact, guess)[kept]
        self._start, self._point, self._last = self._start[kept], self._point[kept], grey
        return result


def _joined(
    parts: Iterable[tuple[NDArray[np.float64], NDArray[np.int64]]],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    xy, point = zip(*parts, strict=True)
    return np.concatenate(xy), np.concatenate(point)
