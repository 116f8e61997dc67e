"""The network of key frames: their features, and which of these match within and across the cameras."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.features import Features, detect, match, stands_still
from wideflow.calibration.keyframes import neighbours
from wideflow.calibration.pictures import grey_frames
from wideflow.calibration.steps import Arrays, Steps
from wideflow.config import CalibrateConfig
from wideflow.progress import Progress
from wideflow.video.read import Video

_STILL_MOMENTS = 6  # key frames whose points count when neither camera moves
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Network:
    """Pictures and their features. Those of a camera that stands still are one place, each other its own.

    Attributes
    ----------
    features : list of Features
        Of every picture, those of A first.
    camera : (n,) int64
        0 for A, 1 for B.
    frame : (n,) int64
        Number of the video's frame.
    moment : (n,) int64
        Which key frame it is; pictures of one moment were taken at the same time.
    place : (n,) int64
        Pictures of the same place have the same pose; numbered from 0 as they come.
    static : (bool, bool)
        The camera stands still.
    """

    features: list[Features]
    camera: Ints
    frame: Ints
    moment: Ints
    place: Ints
    static: tuple[bool, bool]

    @property
    def place_camera(self) -> Ints:
        """Camera of every place."""
        return self.camera[np.unique(self.place, return_index=True)[1]]

    def as_arrays(self) -> Arrays:
        """What COLMAP must know: a picture there is a place here, with the points of all its pictures."""
        counts = [len(features.xy) for features in self.features]
        last = np.flatnonzero(np.diff(self.place, append=-1))
        return {
            "image_camera": self.place_camera,
            "image_start": np.concatenate([[0], np.cumsum(counts)[last]]),
            "image_xy": np.concatenate([features.xy for features in self.features]).astype(np.float64),
        }

    def first_point(self) -> Ints:
        """Number within its place of the first point of every picture, (n,)."""
        counts = np.array([len(features.xy) for features in self.features])
        start = np.cumsum(counts) - counts
        return start - start[np.searchsorted(self.place, self.place)]


def keyframe_features(
    videos: tuple[Video, Video],
    frames: tuple[Ints, Ints],
    keyframes: Ints,
    settings: CalibrateConfig,
    kept: Steps,
    report: Progress,
) -> Network:
    """Features of both cameras at the key frames, numbers of pairs of ``frames``."""
    both, static = [], []
    for camera, (video, used) in enumerate(zip(videos, frames, strict=True)):
        found = _detected(video, used[keyframes], camera, 2 * len(keyframes), settings, kept, report)
        both.append(found)
        static.append(stands_still(list(found.values()), max(video.size)))
    moments = np.arange(len(keyframes))
    if all(static):
        moments = moments[:: -(-len(moments) // _STILL_MOMENTS)]
    return _network(frames, keyframes, moments, both, (static[0], static[1]))


def match_network(network: Network, kept: Steps, report: Progress) -> Arrays:
    """Matches of all pairs of pictures that are worth comparing, by pairs of places."""
    return kept.step("matches", lambda: _matched(network, report))


def _matched(network: Network, report: Progress) -> Arrays:
    found: dict[tuple[int, int], list[Ints]] = {}
    start, todo = network.first_point(), _picture_pairs(network)
    for number, (one, two) in enumerate(todo):
        report(number, len(todo), "matching key frames within and across the cameras")
        matches = match(network.features[one], network.features[two]) + start[[one, two]]
        found.setdefault((int(network.place[one]), int(network.place[two])), []).append(matches)
    joined = [np.concatenate(parts) for parts in found.values()]
    return {
        "match_pairs": np.array(list(found), np.int64).reshape(-1, 2),
        "match_start": np.cumsum([0, *map(len, joined)]),
        "matches": np.concatenate([np.zeros((0, 2), np.int64), *joined]),
        "same_moment": _same_moment(network),
    }


def _detected(
    video: Video,
    frames: Ints,
    camera: int,
    total: int,
    settings: CalibrateConfig,
    kept: Steps,
    report: Progress,
) -> dict[int, Features]:
    """Features by frame. Each frame's are kept on disk, so that not much is lost when the run is ended."""
    found: dict[int, Features] = {}
    unique = np.unique(frames)
    pictures = None
    for number, frame in enumerate(unique.tolist()):
        report(camera * total // 2 + number, total, "finding points in the key frames")

        def compute(frame: int = frame) -> Arrays:
            nonlocal pictures
            if pictures is None:
                pictures = grey_frames(video, unique[unique >= frame], settings.size)
            for index, grey in pictures:
                if index == frame:
                    features = detect(grey, video.size, settings.features)
                    return {"xy": features.xy, "descriptors": features.descriptors}
                if index > frame:
                    break
            return {"xy": np.zeros((0, 2), np.float32), "descriptors": np.zeros((0, 128), np.uint8)}

        arrays = kept.step(f"features-{'ab'[camera]}-{frame:06d}", compute)
        found[frame] = Features(arrays["xy"], arrays["descriptors"])
    return found


def _network(
    frames: tuple[Ints, Ints],
    keyframes: Ints,
    moments: Ints,
    both: list[dict[int, Features]],
    static: tuple[bool, bool],
) -> Network:
    features, rows = [], []
    place = -1
    for camera, (used, found) in enumerate(zip(frames, both, strict=True)):
        shown = used[keyframes[moments]]
        for number, frame in enumerate(shown.tolist()):
            if number and shown[number - 1] == frame:
                continue  # the slower camera shows one frame at two moments
            place += not (static[camera] and number)
            features.append(found[frame])
            rows.append((camera, frame, moments[number], place))
    cameras, numbers, shown_at, places = np.array(rows, np.int64).T
    return Network(features, cameras, numbers, shown_at, places, static)


def _same_moment(network: Network) -> Ints:
    """Places (m, 2) of A and of B at the same time."""
    of = [np.flatnonzero(network.camera == camera) for camera in (0, 1)]
    same = np.argwhere(network.moment[of[0]][:, None] == network.moment[of[1]])
    return np.unique(network.place[np.stack([of[0][same[:, 0]], of[1][same[:, 1]]], axis=1)], axis=0)


def _picture_pairs(network: Network) -> list[tuple[int, int]]:
    """Pairs of pictures to compare: some neighbours in each camera that moves, and near moments across."""
    of = [np.flatnonzero(network.camera == camera) for camera in (0, 1)]
    todo = [
        (int(own[i]), int(own[j]))
        for own, still in zip(of, network.static, strict=True)
        if not still
        for i, j in neighbours(len(own))
    ]
    reach = 0 if all(network.static) else 1
    moments = np.unique(network.moment)
    rank = np.searchsorted(moments, network.moment)
    near = np.abs(rank[of[0]][:, None] - rank[of[1]]) <= reach
    return todo + [(int(of[0][i]), int(of[1][j])) for i, j in np.argwhere(near)]
