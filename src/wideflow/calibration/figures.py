"""Figures of a calibration, and its witnesses: what the pairs alone, the halves of the clip and the parts of
the picture say must agree."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from wideflow.calibration.report import CalibrationReport, doubts_about, motion_of_rig
from wideflow.calibration.sightings.keys import Keys
from wideflow.calibration.sightings.matches import Pixels
from wideflow.calibration.sightings.tracks import Tracks
from wideflow.calibration.solving.bundle import NOISE, adjust, joined, residuals
from wideflow.calibration.solving.lens import LensPrior
from wideflow.calibration.solving.moments import solve_moments
from wideflow.calibration.solving.readout import Settled
from wideflow.calibration.solving.world import World
from wideflow.geometry import (
    fundamental_matrix,
    ideal_camera,
    relative_pose,
    sampson_distance,
    triangulate,
    undistort_points,
)
from wideflow.types import Rig, RigFrame, View

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NEAR = 1.5  # px of a picture 640 wide from its epipolar line within which a match agrees
_GRID = (8, 5)  # cells of A's picture that are counted
_HALVES = 6  # key moments with matches from which on the halves of a clip are compared
_STEPS = 8
_FREE = 0.25  # of the logarithm of a given focal length, to see whether another fits better
_FREE_STEPS = 25  # a valley that is long and narrow
_BETTER = 0.97  # of the squared residuals that free lenses must leave at most to be believed


@dataclass(frozen=True, eq=False)
class Agreement:
    """What the matches of the moments say about the cameras of the world.

    Attributes
    ----------
    off : (M,) float64
        Pixels of all matches from their epipolar lines.
    counts : (m,) int64
        Matches of each moment that agree.
    angle : (M,) float64
        Degrees between the two rays of each.
    cover : float
        Share of A's picture that has a match that agrees.
    """

    off: Floats
    counts: Ints
    angle: Floats
    cover: float


def measure(
    rig: Rig,
    others: tuple[Rig, ...],
    settled: Settled,
    keys: Keys,
    late: Floats,
    prior: LensPrior,
    frames: int,
    registered: tuple[int, int],
) -> CalibrationReport:
    """All figures of a calibration and the doubts that follow from them.

    B's pixels of the matches are at the time of A's pictures, which at key moments is ``late`` (K,) seconds
    before B's own.
    """
    world, tracks, matches, readout = settled.world, settled.tracks, settled.matches, settled.readout
    unit = max(map(max, prior.sizes)) / 640
    off = residuals(world.bundle)[world.bundle.weight > 0]
    agreement = _agreement(rig, matches, keys, late, unit)
    turn, way = _pairs_alone(rig, world, matches, keys, late, prior)
    lengths, angles = motion_of_rig(rig)
    focal = [float(0.5 * (camera.K[0, 0] + camera.K[1, 1])) for camera in rig.cameras]
    spread = [
        float(
            np.sqrt(sum(np.log(other.cameras[c].K[0, 0] / rig.cameras[c].K[0, 0]) ** 2 for other in others))
        )
        for c in (0, 1)
    ]
    still = all(keys.static)
    sources = tuple("guessed" if still and s == "self-calibrated" else s for s in prior.sources)
    report = CalibrationReport(
        frames=frames,
        registered=registered,
        reprojection_error_mean=float(off.mean()) if off.size else float("nan"),
        reprojection_error_median=float(np.median(off)) if off.size else float("nan"),
        points=int(np.count_nonzero(world.static)),
        inliers_across=float(np.median(agreement.counts)) if len(agreement.counts) else 0.0,
        ray_angle=float(np.median(agreement.angle)) if agreement.angle.size else 0.0,
        baseline=lengths,
        axis_angle=angles,
        focal_lengths=(focal[0], focal[1]),
        intrinsics_source=(sources[0], sources[1]),
        static=keys.static,
        moving=1 - float(world.static.mean()),
        support=world.support,
        agreeing=float(np.mean(agreement.off < _NEAR * unit)) if agreement.off.size else 0.0,
        cover=agreement.cover,
        pairs_turn=turn,
        pairs_way=way,
        focal_spread=(spread[0], spread[1]),
        tilt=tilt_of(rig, others, matches, keys),
        halves=_halves(world, tracks, keys, prior),
        lens_off=_lens_off(world, prior),
        flat=_flatness(matches, unit),
        readout=readout.seconds,
        readout_spread=readout.spread,
    )
    return replace(report, doubts=doubts_about(report, (max(prior.sizes[0]), max(prior.sizes[1]))))


def tilt_of(rig: Rig, others: tuple[Rig, ...], matches: dict[int, Pixels], keys: Keys) -> float:
    """Relative error of depth that the cameras leave, up to scale: the 90th percentile over all matches."""
    if not others:
        return float("nan")
    parts = []
    for key, both in matches.items():
        index = int(keys.frames[0, key])
        if not _has(rig, index):
            continue
        depth = _depth(rig.frame(index), both)
        total = np.zeros(len(depth))
        for other in others:
            change = np.log(_depth(other.frame(index), both) / depth)
            change = np.where(np.isfinite(change), change, np.nan)
            total += (change - np.nanmedian(change)) ** 2 if np.isfinite(change).any() else np.nan
        parts.append(np.sqrt(total))
    every = np.concatenate([np.zeros(0), *parts])
    every = every[np.isfinite(every)]
    return float(np.percentile(every, 90)) if every.size else float("nan")


def _depth(frame: RigFrame, both: Pixels) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        made = triangulate(*frame.views, *both)
        return np.where(made.in_front, made.depths[0], np.nan)


def _has(rig: Rig, index: int) -> bool:
    return any(frame.index == index for frame in rig.frames)


def _agreement(rig: Rig, matches: dict[int, Pixels], keys: Keys, late: Floats, unit: float) -> Agreement:
    off, counts, angles = [], [], []
    cells = np.zeros(_GRID, np.bool_)
    for key, both in matches.items():
        index = int(keys.frames[0, key])
        if not _has(rig, index):
            continue
        frame = rig.frame(index)
        views = frame.views[0], _b_at(rig, frame.times[1] - late[key])
        one, two = (View(ideal_camera(view.camera), view.cam_from_world) for view in views)
        xy = [undistort_points(view.camera, pixels) for view, pixels in zip(views, both, strict=True)]
        distance = np.abs(sampson_distance(fundamental_matrix(one, two), *xy))
        made = triangulate(one, two, *xy)
        near = (distance < _NEAR * unit) & made.in_front
        off.append(np.where(made.in_front, distance, np.inf)[np.isfinite(both[1][:, 0])])
        counts.append(np.count_nonzero(near))
        angles.append(np.degrees(made.angle[near]))
        cell = (both[0][near] * _GRID / views[0].camera.size).astype(np.int64)
        cells[tuple(np.clip(cell, 0, np.array(_GRID) - 1).T)] = True
    return Agreement(
        np.concatenate([np.zeros(0), *off]),
        np.array(counts, np.int64),
        np.concatenate([np.zeros(0), *angles]),
        float(cells.mean()),
    )


def _b_at(rig: Rig, time: float) -> View:
    """Camera B at any time of its clip, on the straight way between the frames around it."""
    times = np.array([frame.times[1] for frame in rig.frames])
    before = int(np.clip(np.searchsorted(times, time) - 1, 0, max(len(times) - 2, 0)))
    one, two = (rig.frames[i].views[1] for i in (before, min(before + 1, len(times) - 1)))
    span = times[min(before + 1, len(times) - 1)] - times[before]
    share = (time - times[before]) / span if span > 0 else 0.0
    turn = Rotation.from_rotvec(share * Rotation.from_matrix(two.R @ one.R.T).as_rotvec()).as_matrix()
    R, centre = turn @ one.R, one.centre + share * (two.centre - one.centre)
    return View(one.camera, np.column_stack([R, -R @ centre]))


def _pairs_alone(
    rig: Rig, world: World, matches: dict[int, Pixels], keys: Keys, late: Floats, prior: LensPrior
) -> tuple[float, float]:
    """Degrees between the relative poses of the rig and those of each pair alone, with the world's lenses:
    of the turn and of the way from camera to camera, medians over the moments."""
    fixed = replace(prior, mean=world.bundle.lenses, spread=np.zeros_like(prior.spread))
    alone = solve_moments(matches, fixed)
    turns, ways = [], []
    for key, pose in alone.poses.items() if alone else ():
        index = int(keys.frames[0, key])
        if _has(rig, index):
            frame = rig.frame(index)
            found = relative_pose(frame.views[0], _b_at(rig, frame.times[1] - late[key]))
            turns.append(_degrees((np.trace(found[:, :3] @ pose[:, :3].T) - 1) / 2))
            way = found[:, :3].T @ found[:, 3]
            ways.append(
                _degrees(float(way @ (pose[:, :3].T @ pose[:, 3])) / max(float(np.linalg.norm(way)), 1e-12))
            )
    return (float(np.median(turns)), float(np.median(ways))) if turns else (float("nan"), float("nan"))


def _degrees(cosine: float) -> float:
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def _flatness(matches: dict[int, Pixels], unit: float) -> float:
    """Share of the matches of a moment that one plane explains, the median over the moments."""
    shares = []
    for one, two in matches.values():
        known = np.isfinite(two).all(axis=1)
        if np.count_nonzero(known) >= _HALVES:
            _, inlier = cv2.findHomography(one[known], two[known], cv2.RANSAC, _NEAR * unit)
            shares.append(0.0 if inlier is None else float(inlier.mean()))
    return float(np.median(shares)) if shares else float("nan")


def _lens_off(world: World, prior: LensPrior) -> float:
    """Relative difference between the focal lengths given and those that the sightings would rather have.

    NaN if none is given, 0 if free lenses do not fit better than by chance.
    """
    known = prior.spread[:, 0] == 0
    if not known.any():
        return float("nan")
    unit = max(map(max, prior.sizes)) / 640
    start = joined(world.bundle, world.pairs)
    spread = np.where(known[:, None], np.array([_FREE, 0.0, 0.0, 0.0]), prior.spread)
    free = adjust(replace(start, spread=spread), 0.3 * unit, _FREE_STEPS, NOISE * unit, 1e-9)
    off, freed = (residuals(each)[each.weight > 0] for each in (start, free))
    if np.mean(np.minimum(freed, unit) ** 2) > _BETTER * np.mean(np.minimum(off, unit) ** 2):
        return 0.0
    return float(np.abs(free.lenses - start.lenses)[known, 0].max())


def _halves(world: World, tracks: Tracks, keys: Keys, prior: LensPrior) -> float:
    """Relative difference of a camera's focal length between the two halves of the clip.

    Each camera that moves gets a lens for either half, all else stays one world. NaN if none can tell.
    """
    free = (prior.spread[:, 0] > 0) & ~np.array(keys.static)
    if not free.any() or len(keys) < _HALVES:
        return float("nan")
    unit = max(map(max, prior.sizes)) / 640
    start = joined(world.bundle, world.pairs)
    when = np.zeros(len(start.poses), np.int64)
    when[keys.pose] = np.arange(len(keys))
    when[len(world.bundle.poses) + world.pairs.pose] = tracks.moment[world.pairs.point]
    late = when >= len(keys) // 2
    two = replace(
        start,
        lenses=np.concatenate([start.lenses, start.lenses]),
        prior=np.concatenate([start.prior, start.prior]),
        spread=np.concatenate([start.spread, start.spread]),
        camera=start.camera + 2 * late,
    )
    found = adjust(two, 0.3 * unit, _FREE_STEPS, NOISE * unit, 1e-9).lenses[:, 0]
    return float(np.abs(found[2:] - found[:2])[free].max())
