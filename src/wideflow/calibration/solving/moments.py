"""The two cameras at one moment: everything is rigid then, whatever moves over time.

Each key moment gives matches between the cameras, dense where a matcher is at hand, and from these alone the
relative pose. Several moments together tell the lenses roughly: pairs never lose their way, but only time,
in `wideflow.calibration.solving.world`, makes them sharp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.grey_frames import grey_frames
from wideflow.calibration.sightings.keys import Keys
from wideflow.calibration.sightings.tracks import WINDOW, compared, corners
from wideflow.calibration.solving.bundle import NOISE, Bundle, adjust, residuals
from wideflow.calibration.solving.lens import LensPrior, plain_camera
from wideflow.errors import InputError
from wideflow.geometry import triangulate, unproject
from wideflow.geometry.features import detect_features, match_features
from wideflow.geometry.pyramid import Grey, from_full, to_full
from wideflow.types import View
from wideflow.video.read import Video

Floats = NDArray[np.float64]
Pixels = tuple[Floats, Floats]
# pictures of A and B to the flow (H, W, 2) from A to B in px and its confidence (H, W)
Matcher = Callable[[NDArray[np.uint8], NDArray[np.uint8]], tuple[NDArray[np.float32], NDArray[np.float32]]]

FEWEST = 24  # matches of a moment that tells anything
_TRUSTED = 0.3  # confidence of a dense match that counts
_LARGEST = 640  # longer side of the pictures that are matched densely, px
_SHIFT = 1.5  # px that a dense match may be off below what it resolves
_LEVEL, _QUIET = 8.0, 4.0  # px over which contrast is levelled, and grey levels that are noise
_NEAR = 1.5  # px of a picture 640 wide from the epipolar line
_TOGETHER = 0.02  # frames between the pictures of a pair that make no difference
_STARTS = (1.0, 0.75, 1.3)  # of the focal lengths to begin with
_SMALLEST_ANGLE = np.radians(0.3)  # between the rays of a point that has a depth


@dataclass(frozen=True, eq=False)
class Moments:
    """What the pairs of pictures say, each for itself.

    Attributes
    ----------
    lenses : (2, 4) float64
        That fit all moments together.
    poses : dict
        Key moment to the pose (3, 4) of B in the frame of A, the cameras 1 apart.
    points : (P, 3) float64
        Of every match in the frame of A at its moment, in that unit; NaN where the rays do not meet.
    error : float
        Median px between matches and points.
    bundle : Bundle
        All of this: two poses a moment, a point a match.
    """

    lenses: Floats
    poses: dict[int, Floats]
    points: Floats
    error: float
    bundle: Bundle


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
    near = _NEAR * max(map(max, sizes)) / 640
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


def solve_moments(matches: dict[int, Pixels], prior: LensPrior) -> Moments | None:
    """Relative poses of all moments and the lenses that fit them together; None if no moment tells any."""
    best: tuple[float, Bundle] | None = None
    for factor in _STARTS:
        lenses = prior.mean.copy()
        lenses[:, 0] += np.where(prior.spread[:, 0] > 0, np.log(factor), 0.0)
        first = _first_bundle(matches, prior, lenses)
        if first is None:
            continue
        unit = max(map(max, prior.sizes)) / 640
        found = first
        for scale in (2.0, 0.7, 0.3):
            found = adjust(found, scale * unit, 8, noise=NOISE * unit)
        off = residuals(found)
        cost = float(np.sum(np.log1p((np.minimum(off, 10 * unit) / (0.3 * unit)) ** 2)))
        if best is None or cost < best[0]:
            best = cost, found
        if (prior.spread[:, 0] == 0).all():
            break
    return None if best is None else _summed_up(matches, best[1])


def _first_bundle(matches: dict[int, Pixels], prior: LensPrior, lenses: Floats) -> Bundle | None:
    """Essential matrices with the lenses as they are, and the points where rays meet."""
    cameras = [plain_camera("ab"[c], prior.sizes[c], lenses[c]) for c in (0, 1)]
    poses = np.tile(np.eye(3, 4), (2 * len(matches), 1, 1))
    points, xy, weight = [], [], []
    found = False
    for number, both in enumerate(matches.values()):
        plain = [prior.plain(c, both[c]) for c in (0, 1)]
        known = np.isfinite(plain[1]).all(axis=1)
        pose = pair_pose([unproject(cameras[c], plain[c][known])[:, :2] for c in (0, 1)])
        made = None
        if pose is not None:
            made = triangulate(View(cameras[0], np.eye(3, 4)), View(cameras[1], pose), *plain)
            poses[2 * number + 1], found = pose, True
        ok = (
            np.zeros(len(both[0]), bool)
            if made is None
            else made.in_front & (made.angle > _SMALLEST_ANGLE) & np.isfinite(made.points).all(axis=1)
        )
        points.append(np.where(ok[:, None], made.points if made is not None else 0.0, [0.0, 0.0, 10.0]))
        xy.append(np.nan_to_num(np.stack(plain, axis=1)))
        weight.append(np.repeat(ok[:, None], 2, axis=1))
    if not found:
        return None
    counts = [len(each) for each in points]
    moment = np.repeat(np.arange(len(matches)), counts)
    point = np.repeat(np.arange(sum(counts)), 2)
    return Bundle(
        lenses,
        prior.mean,
        prior.spread,
        poses,
        np.tile([0, 1], len(matches)),
        np.tile([True, False], len(matches)),
        np.concatenate(points),
        2 * moment[point] + np.tile([0, 1], sum(counts)),
        point,
        np.concatenate(xy).reshape(-1, 2),
        np.concatenate(weight).ravel().astype(np.float64),
    )


def pair_pose(rays: Sequence[Floats]) -> Floats | None:
    """Pose (3, 4) of B in the frame of A from normalised pixels (N, 2) of both, or None."""
    if len(rays[0]) < FEWEST or not all(np.isfinite(each).all() for each in rays):
        return None
    near = _NEAR / 640 / 0.8  # the angle of so many pixels, at the focal length that is usual
    try:
        E, inlier = cv2.findEssentialMat(
            rays[0], rays[1], np.eye(3), method=cv2.USAC_MAGSAC, prob=0.9999, threshold=near
        )
    except cv2.error:
        return None  # matches that leave it without any sample
    if E is None or E.shape != (3, 3) or not np.isfinite(E).all():
        return None
    count, R, t, _ = cv2.recoverPose(E, rays[0], rays[1], np.eye(3), mask=inlier.copy())
    return np.column_stack([R, t]) if count >= FEWEST else None


def _summed_up(matches: dict[int, Pixels], bundle: Bundle) -> Moments:
    off = residuals(bundle)
    bad = np.maximum(off[::2], off[1::2]) > 5 * max(float(np.median(off[bundle.weight > 0])), 0.1)
    points = np.where((bad | (bundle.weight[::2] == 0))[:, None], np.nan, bundle.points)
    poses, first = {}, 0
    for number, (key, both) in enumerate(matches.items()):
        own = slice(first, first + len(both[0]))
        first += len(both[0])
        pose = bundle.poses[2 * number + 1]
        length = float(np.linalg.norm(pose[:, 3]))
        if length == 0 or not np.isfinite(points[own, 0]).any():
            continue  # no geometry was found at this moment
        points[own] /= length
        poses[key] = np.column_stack([pose[:, :3], pose[:, 3] / length])
    weight = np.where(np.repeat(bad, 2), 0.0, bundle.weight)
    error = float(np.median(off[bundle.weight > 0]))
    return Moments(bundle.lenses, poses, points, error, replace(bundle, weight=weight))
