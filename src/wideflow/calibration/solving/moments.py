"""The two cameras at one moment: everything is rigid then, whatever moves over time.

The matches between the cameras at a key moment give their relative pose, from that moment alone. Several
moments together tell the lenses roughly: pairs never lose their way, but only time, in
`wideflow.calibration.solving.world`, makes them sharp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.matches import FEWEST, NEAR, Pixels
from wideflow.calibration.solving.bundle import NOISE, Bundle, adjust, residuals
from wideflow.calibration.solving.lens import LensPrior, plain_camera
from wideflow.geometry import triangulate, unproject
from wideflow.types import View

Floats = NDArray[np.float64]

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
    near = NEAR / 640 / 0.8  # the angle of so many pixels, at the focal length that is usual
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
