"""Points that both cameras see at a key moment, dense where a matcher is at hand, and followed over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.grey_frames import grey_frames
from wideflow.calibration.sightings.keys import Keys, number_poses, stands_still
from wideflow.calibration.sightings.tracks import WINDOW, Tracks, compared, corners, follow, join_tracks
from wideflow.config import CalibrateConfig
from wideflow.errors import CalibrationError, InputError
from wideflow.geometry.features import detect_features, match_features
from wideflow.geometry.pyramid import Grey, from_full, to_full
from wideflow.progress import Progress
from wideflow.storage.packed import Arrays
from wideflow.storage.parts import Parts
from wideflow.video.read import Video

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pixels = tuple[Floats, Floats]
# pictures of A and B to the flow (H, W, 2) from A to B in px and its confidence (H, W)
Matcher = Callable[[NDArray[np.uint8], NDArray[np.uint8]], tuple[NDArray[np.float32], NDArray[np.float32]]]

FEWEST = 24  # matches of a moment that tells anything
NEAR = 1.5  # px of a picture 640 wide from the epipolar line
_TRUSTED = 0.3  # confidence of a dense match that counts
_LARGEST = 640  # longer side of the pictures that are matched densely, px
_SHIFT = 1.5  # px that a dense match may be off below what it resolves
_LEVEL, _QUIET = 8.0, 4.0  # px over which contrast is levelled, and grey levels that are noise
_TOGETHER = 0.02  # frames between the pictures of a pair that make no difference


def match_moments(
    videos: tuple[Video, Video],
    keys: Keys,
    late: Floats,
    settings: CalibrateConfig,
    matcher: Matcher | None,
    kept: Parts,
    report: Progress,
) -> tuple[dict[int, Pixels], dict[int, Pixels]]:
    """Matches between the cameras at some key moments, and the same with B's pixels at the time of A's.

    ``late`` (K,) is by how many seconds B's picture was taken later than A's.
    """
    count = len(keys)
    dense = _evenly(count, settings.dense_moments) if matcher else np.zeros(0, np.int64)
    chosen = np.union1d(dense, _evenly(count, settings.sparse_moments)).tolist()
    found: dict[int, Pixels] = {}
    together: dict[int, Pixels] = {}
    for number, key in enumerate(chosen):
        report(number, len(chosen), "matching the two cameras at one moment")

        def compute(key: int = key) -> Arrays:
            both = None
            if matcher is not None and key in dense:
                here = int(keys.frames[0, key]), int(keys.frames[1, key])
                both = dense_matches(videos, here, keys.grey[0][key], matcher)
            if both is None or len(both[0]) < FEWEST:
                sizes = videos[0].size, videos[1].size
                both = sparse_matches(keys, key, sizes, settings.features)
            one, two = both or (np.zeros((0, 2)), np.zeros((0, 2)))
            then = at_time_of_a(videos[1], int(keys.frames[1, key]), keys.grey[1][key], two, float(late[key]))
            return {"a": one, "b": two, "then": then}

        arrays = kept.part(f"matches-{int(keys.pairs[key]):06d}", compute)
        if len(arrays["a"]) >= FEWEST:
            found[key], together[key] = (arrays["a"], arrays["b"]), (arrays["a"], arrays["then"])
    if not found:
        names = [str(video.path) for video in videos]
        raise CalibrationError(
            "matching the two cameras at one moment",
            f"the views of '{names[0]}' and '{names[1]}' share too little at each of {len(chosen)} moments",
            "film with more overlap, closer to each other, in front of more texture, or check the offset",
        )
    return found, together


def follow_matches(
    videos: tuple[Video, Video],
    frames: tuple[Ints, Ints],
    keys: Keys,
    matches: dict[int, Pixels],
    settings: CalibrateConfig,
    report: Progress,
) -> tuple[Keys, Tracks]:
    """The matches followed over time, and the keys with the knowledge of which camera stands still."""
    followed = {}
    for number, (key, both) in enumerate(matches.items()):
        report(number, len(matches), "following points over time")
        for camera in (0, 1):
            followed[key, camera] = follow(
                keys.grey[camera], key, both[camera], videos[camera].size, settings.reach
            )
    static = []
    for camera in (0, 1):
        moved = [
            np.linalg.norm(xy - matches[key][camera][number], axis=1)
            for key in matches
            for number, xy in followed[key, camera].values()
        ]
        static.append(stands_still(moved, max(videos[camera].size)))
    keys = number_poses(keys.pairs, frames, keys.grey, (static[0], static[1]))
    return keys, join_tracks(matches, followed)


def dense_matches(
    videos: tuple[Video, Video], frames: tuple[int, int], grey: Grey, matcher: Matcher
) -> Pixels | None:
    """Pixels of A, one a cell, and where a dense match finds them in B; None if it finds nothing."""
    pictures, scales = [], []
    for video, frame in zip(videos, frames, strict=True):
        picture = video.frame(frame)
        shrink = min(1.0, _LARGEST / max(picture.shape[:2]))
        size = round(picture.shape[1] * shrink), round(picture.shape[0] * shrink)
        if shrink < 1:
            picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
        pictures.append(picture)
        scales.append(np.array(video.size) / size)
    try:
        flow, confidence = matcher(pictures[0], pictures[1])
    except InputError:
        return None
    xy = corners(grey, videos[0].size)
    near = (xy + 0.5) / scales[0] - 0.5
    column, row = np.rint(near).astype(np.int64).T
    sure = confidence[row, column] > _TRUSTED
    xy, near = xy[sure], near[sure]
    there, sure = _sharpened(pictures, flow, near)
    there = (there + 0.5) * scales[1] - 0.5
    sure &= ((there > 0) & (there < np.array(videos[1].size) - 1)).all(axis=1)
    return xy[sure], there[sure]


def _sharpened(
    pictures: Sequence[NDArray[np.uint8]], flow: NDArray[np.float32], xy: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Pixels of B for pixels of A, below what the flow resolves, and whether they can be told.

    B is drawn as A sees it, so that what is left is a small shift, which Lucas and Kanade measure.
    """
    height, width = flow.shape[:2]
    grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(np.float32)
    target = grid + np.where(np.isfinite(flow), flow, -1e4)
    drawn = cv2.remap(pictures[1], target, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    one, two = _levelled(pictures[0]), _levelled(drawn)
    if len(xy) == 0:
        return xy, np.zeros(0, np.bool_)
    start = xy.astype(np.float32)
    moved, good = compared(one, two, start, start)
    shift = moved - start
    good &= np.linalg.norm(shift, axis=1) < _SHIFT
    uv = cv2.remap(flow, moved[:, None, 0], moved[:, None, 1], cv2.INTER_LINEAR)[:, 0]
    return moved.astype(np.float64) + uv, good & np.isfinite(uv).all(axis=1)


def _levelled(picture: NDArray[np.uint8]) -> Grey:
    """Brightness with the local mean and contrast taken out: two cameras expose differently."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    mean = cv2.GaussianBlur(grey, (0, 0), _LEVEL)
    contrast = np.sqrt(np.maximum(cv2.GaussianBlur((grey - mean) ** 2, (0, 0), _LEVEL), 0)) + _QUIET
    return np.clip(128 + 48 * (grey - mean) / contrast, 0, 255).astype(np.uint8)


def sparse_matches(keys: Keys, key: int, sizes: Sequence[tuple[int, int]], count: int) -> Pixels | None:
    """Pixels of A and B whose SIFT descriptors match and that agree with one epipolar geometry."""
    points = [detect_features(keys.grey[camera][key], count, sizes[camera]) for camera in (0, 1)]
    pairs = match_features(points[0], points[1])
    x, y = (points[c].xy[pairs[:, c]].astype(np.float64) for c in (0, 1))
    if len(x) < FEWEST:
        return None
    near = NEAR * max(map(max, sizes)) / 640
    try:
        F, inlier = cv2.findFundamentalMat(x, y, cv2.USAC_MAGSAC, near, 0.9999, 20_000)
    except cv2.error:
        return None  # matches that leave it without any sample
    if F is None or inlier is None or np.count_nonzero(inlier) < FEWEST:
        return None
    good = inlier.ravel() > 0
    return x[good], y[good]


def at_time_of_a(video: Video, frame: int, grey: Grey, xy: Floats, late: float) -> Floats:
    """Where B's pixels (N, 2) were when A took its picture, ``late`` seconds before B took this one.

    Points are followed to the neighbouring frame and moved along that way; NaN where they cannot be. What
    moves is then where A saw it, so that it tells the relative pose as well as what stands still.
    """
    near = frame - 1 if late > 0 else frame + 1
    if not 0 <= near < len(video):
        near = 2 * frame - near
    if len(xy) == 0 or abs(late) * video.fps < _TOGETHER or not 0 <= near < len(video):
        return xy
    pictures = [picture for _, picture in grey_frames(video, [near], max(grey.shape))]
    if not pictures:
        return np.full_like(xy, np.nan)
    start = from_full(xy, grey, video.size).astype(np.float32)
    guess, alive, _ = cv2.calcOpticalFlowPyrLK(grey, pictures[0], start, None, **WINDOW)
    there, good = compared(grey, pictures[0], start, guess)
    share = late / float(video.times[frame] - video.times[near])
    moved = to_full(start + share * (there - start), grey, video.size)
    return np.where((good & (alive.ravel() > 0))[:, None], moved, np.nan)


def _evenly(count: int, most: int) -> Ints:
    """At most ``most`` of the numbers below ``count``, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))
