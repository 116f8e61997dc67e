"""Frames between key frames: the points that the key frames see, followed there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.pictures import Grey, from_full, grey_frames, to_full
from wideflow.calibration.problem import Sightings
from wideflow.video.read import Video

_WINDOW = {"winSize": (17, 17), "maxLevel": 4}
_FINE = {"winSize": (15, 15), "maxLevel": 1, "flags": cv2.OPTFLOW_USE_INITIAL_FLOW}
_THERE_AND_BACK = 0.5  # px that a point may be off after the way there and back
_BUFFER = 200  # frames that are followed backwards from a key frame

Points = NDArray[np.float32]


def best_points(
    sightings: Sightings, image: int, count: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Pixels (N, 2) and numbers (N,) of the points in a picture, at most ``count``: those seen most often."""
    times_seen = np.bincount(sightings.point[sightings.point >= 0], minlength=1)
    here = np.flatnonzero((sightings.image == image) & (sightings.point >= 0))
    order = np.argsort(-times_seen[sightings.point[here]], kind="stable")[:count]
    return sightings.xy[here[order]], sightings.point[here[order]]


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
        guess, alive, _ = cv2.calcOpticalFlowPyrLK(self._last, grey, self._now, None, **_WINDOW)
        exact, there, _ = cv2.calcOpticalFlowPyrLK(self._key, grey, self._start, guess.copy(), **_FINE)
        back, again, _ = cv2.calcOpticalFlowPyrLK(grey, self._key, exact, self._start.copy(), **_FINE)
        good = (alive.ravel() > 0) & (there.ravel() > 0) & (again.ravel() > 0)
        good &= np.linalg.norm(back - self._start, axis=1) < _THERE_AND_BACK
        good &= np.linalg.norm(exact - guess, axis=1) < 4.0  # farther off, it is another point
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
