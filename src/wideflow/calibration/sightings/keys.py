"""Key moments: which frames of both cameras are looked at closely, and their pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.grey_frames import grey_frames
from wideflow.geometry.pyramid import Grey
from wideflow.video.read import Video

Ints = NDArray[np.int64]

_STILL = 0.6  # px of a picture 640 wide within which a point has not moved
_STILL_SHARE = 0.6  # of the points that have not moved if the camera has not


@dataclass(frozen=True, eq=False)
class Keys:
    """Key moments, numbered from 0.

    Attributes
    ----------
    pairs : (K,) int64
        Numbers of the pairs of frames.
    frames : (2, K) int64
        Frame of each video.
    grey : pair of lists of (h, w) uint8
        Brightness pictures of both cameras.
    pose : (2, K) int64
        Number of the pose that the frame was taken from: one for all frames of a camera that stands still,
        and one for a frame that the slower camera shows twice.
    camera : (n,) int64
        Camera of every pose.
    static : (bool, bool)
        The camera stands still.
    """

    pairs: Ints
    frames: Ints
    grey: tuple[list[Grey], list[Grey]]
    pose: Ints
    camera: Ints
    static: tuple[bool, bool]

    def __len__(self) -> int:
        """Key moments."""
        return len(self.pairs)


def read_keys(
    videos: tuple[Video, Video], frames: tuple[Ints, Ints], keyframes: Ints, width: int
) -> tuple[Ints, tuple[list[Grey], list[Grey]]]:
    """Key frames whose pictures could be read in both videos, and these pictures."""
    found = [
        dict(grey_frames(video, used[keyframes], width)) for video, used in zip(videos, frames, strict=True)
    ]
    whole = np.array(
        [int(frames[0][k]) in found[0] and int(frames[1][k]) in found[1] for k in keyframes], bool
    )
    kept = keyframes[whole]
    grey = [[pictures[int(used[k])] for k in kept] for pictures, used in zip(found, frames, strict=True)]
    return kept, (grey[0], grey[1])


def number_poses(
    kept: Ints,
    frames: tuple[Ints, Ints],
    grey: tuple[list[Grey], list[Grey]],
    static: tuple[bool, bool],
) -> Keys:
    """Key moments with a number for every pose."""
    shown = np.stack([frames[0][kept], frames[1][kept]])
    poses: list[Ints] = []
    cameras: list[int] = []
    first = 0
    for camera in (0, 1):
        own = np.zeros(len(kept), np.int64)
        if not static[camera]:
            own = np.unique(shown[camera], return_inverse=True)[1].astype(np.int64)
        poses.append(first + own)
        first += int(own.max()) + 1
        cameras += [camera] * (first - len(cameras))
    return Keys(kept, shown, grey, np.stack(poses), np.array(cameras), static)


def stands_still(moved: list[NDArray[np.float64]], width: int) -> bool:
    """Whether a camera stands still, from how far its points (N,) moved, px, to each other key moment."""
    near = _STILL * width / 640
    return bool(moved) and all(len(each) >= 8 and np.mean(each < near) > _STILL_SHARE for each in moved)
