"""All frames in the world of the key moments: each is placed by the points that stand still."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.between import follow_between
from wideflow.calibration.sightings.crossing import Readouts
from wideflow.calibration.sightings.keys import Keys
from wideflow.calibration.sightings.tracks import Tracks
from wideflow.calibration.solving.bundle import resect, residuals
from wideflow.calibration.solving.lens import LensPrior, plain_camera
from wideflow.calibration.solving.world import World
from wideflow.geometry import baseline, project, proper_pose
from wideflow.geometry.unrolled import back_in_time
from wideflow.types import Camera, Rig, RigFrame, View
from wideflow.video.read import Video

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEWEST = 15  # points that must agree on a pose
_AGREE = 0.3  # share of the points followed that must
_SCALES = (2.0, 0.5)  # px of a picture 640 wide from which a point counts less and less
_NEAR = 1.5  # px of such a picture within which a point agrees
_ROLLED = 3  # rounds in which a path tells how points cross the pictures, and these tell the path
_JUMP = 0.05  # relative difference of the cameras' distance from that of the frames around


def place_frames(
    videos: tuple[Video, Video],
    frames: tuple[Ints, Ints],
    keys: Keys,
    tracks: Tracks,
    world: World,
    prior: LensPrior,
    readouts: Readouts,
    followed: int,
    width: int,
    step: Callable[[], None],
) -> list[dict[int, Floats]]:
    """Pose (3, 4) of every frame of both videos that could be placed.

    Parameters
    ----------
    videos : (Video, Video)
        The clips.
    frames : ((n,), (n,)) int64
        Pairs of frames.
    keys, tracks, world
        The key moments and their world.
    prior : LensPrior
        Which lenses are known.
    readouts : (float, float)
        Seconds from the first row to the last.
    followed : int
        Most points of a key frame that are followed.
    width : int
        Longer side of the pictures that are compared.
    step : callable
        Called once a frame.
    """
    found: list[dict[int, Floats]] = []
    for camera, video in enumerate(videos):
        shown = np.unique(frames[camera])
        at_keys = {
            int(keys.frames[camera, key]): world.bundle.poses[keys.pose[camera, key]]
            for key in range(len(keys))
            if world.placed[keys.pose[camera, key]]
        }
        if keys.static[camera]:
            found.append({int(frame): world.bundle.poses[keys.pose[camera, 0]] for frame in shown})
            continue
        anchors = _anchors(camera, keys, tracks, world, followed)
        between = follow_between(video, shown, anchors, width, step)
        lens, unit, places = world.bundle.lenses[camera], max(prior.sizes[camera]) / 640, dict(at_keys)
        for frame, (xy, number) in between.items():
            nearest = min(at_keys, key=lambda key, frame=frame: abs(key - frame))  # type: ignore[misc]
            pose = _placed(lens, at_keys[nearest], world.bundle.points[number], prior.plain(camera, xy), unit)
            if pose is not None:
                places[frame] = pose
        for _ in range(_ROLLED if readouts[camera] else 0):
            path = dict(places)
            for frame in path.keys() & between.keys():
                xy, number = between[frame]
                late = readouts[camera] * ((xy[:, 1] + 0.5) / video.size[1] - 0.5)
                points = world.bundle.points[number]
                crossed = _crossed(plain_camera("", prior.sizes[camera], lens), path, frame, video, points)
                moved = prior.plain(camera, xy) + back_in_time(*crossed, late)
                pose = _placed(lens, path[frame], points, moved, unit)
                places[frame] = path[frame] if pose is None else pose
        found.append(places)
    return found


def _crossed(
    camera: Camera, path: dict[int, Floats], frame: int, video: Video, points: Floats
) -> tuple[Floats, Floats]:
    """How points (N, 3) cross the picture of a frame as the camera goes its way: speed and its change."""
    here, steps = project(camera, points @ path[frame][:, :3].T + path[frame][:, 3]), []
    for other in (frame - 1, frame + 1):
        if other in path:
            seconds = float(video.times[other] - video.times[frame])
            there = project(camera, points @ path[other][:, :3].T + path[other][:, 3])
            steps.append((seconds, (there - here) / seconds))
    if not steps:
        return np.zeros_like(here), np.zeros_like(here)
    if len(steps) == 1:
        return np.nan_to_num(steps[0][1]), np.zeros_like(here)
    (before, one), (after, two) = steps
    change = 2 * (two - one) / (after - before)
    return np.nan_to_num(one - 0.5 * before * change), np.nan_to_num(change)


def rig_of(
    places: list[dict[int, Floats]],
    cameras: tuple[Camera, Camera],
    videos: tuple[Video, Video],
    frames: tuple[Ints, Ints],
) -> Rig | None:
    """The rig of the pairs of which both poses are known, None if there is none."""
    rows = []
    for a, b in zip(frames[0].tolist(), frames[1].tolist(), strict=True):
        if a in places[0] and b in places[1]:
            views = View(cameras[0], proper_pose(places[0][a])), View(cameras[1], proper_pose(places[1][b]))
            rows.append(RigFrame(a, (float(videos[0].times[a]), float(videos[1].times[b])), views))
    return Rig(cameras, tuple(_steady(rows))) if rows else None


def _steady(rows: list[RigFrame]) -> list[RigFrame]:
    """Without single frames in which the cameras seem to have jumped apart: one of them is misplaced.

    Where many do, all stay, for the doubt that this is.
    """
    length = np.log([baseline(*row.views) for row in rows])
    usual = np.array([np.median(length[max(0, k - 3) : k + 4]) for k in range(len(rows))])
    steady = np.abs(length - usual) < _JUMP
    return [row for row, good in zip(rows, steady, strict=True) if good] if steady.mean() > 0.8 else rows


def _anchors(
    camera: int, keys: Keys, tracks: Tracks, world: World, most: int
) -> dict[int, tuple[Floats, Ints]]:
    """Pixels and numbers of the points that stand still in every key frame, those seen best first."""
    bundle = world.bundle
    off = residuals(bundle)
    anchors = {}
    for key in range(len(keys)):
        sighting = world.sighting
        own = np.flatnonzero(
            (tracks.camera[sighting] == camera) & (tracks.key[sighting] == key) & (bundle.weight > 0)
        )
        own = own[world.static[bundle.point[own]]]
        own = own[np.argsort(off[own], kind="stable")[:most]]
        if len(own) >= _FEWEST:
            anchors[int(keys.frames[camera, key])] = tracks.xy[sighting[own]], bundle.point[own]
    return anchors


def _placed(lens: Floats, start: Floats, points: Floats, xy: Floats, unit: float) -> Floats | None:
    pose, off = start, np.zeros(0)
    for scale in _SCALES:
        pose, off = resect(lens, pose, points, xy, np.ones(len(xy)), scale * unit)
    near = off < _NEAR * unit
    if np.count_nonzero(near) < max(_FEWEST, _AGREE * len(xy)) or not np.isfinite(pose).all():
        return None
    return pose
