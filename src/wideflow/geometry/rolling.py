"""A rolling shutter: rows of one picture are exposed one after the other, each from a place of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import InputError
from wideflow.geometry.camera import ideal_camera, pixel_grid, project, unproject
from wideflow.geometry.pose import interpolate_pose
from wideflow.types import Camera, RigFrame, Truth

Floats = NDArray[np.float64]

_ROUNDS = 4  # a pixel's row tells its time, and its time the row: each round is a hundred times as exact


def row_delay(camera: Camera, rows: ArrayLike) -> Floats:
    """Seconds after the time of a picture, which is that of its middle, at which rows (...) are exposed."""
    return camera.readout * ((np.asarray(rows, np.float64) + 0.5) / camera.height - 0.5)


def row_poses(frames: tuple[RigFrame, RigFrame], camera: int, rows: ArrayLike, which: int = 0) -> Floats:
    """Where a camera was when it exposed rows of a picture.

    It is taken to turn and to move evenly between first row, middle and last row where the frame tells them,
    otherwise between the two frames, and on beyond them.

    Parameters
    ----------
    frames : (RigFrame, RigFrame)
        Two frames of a rig; their times are seconds.
    camera : {0, 1}
        Which camera.
    rows : (...) array_like
        Of its picture.
    which : {0, 1}
        The frame of the picture.

    Returns
    -------
    (..., 3, 4) float64
        ``cam_from_world`` of each row.
    """
    one, two = (frame.views[camera] for frame in frames)
    late, known = row_delay(one.camera, rows), frames[which].rows
    if known is None:
        share = which + late / _seconds(frames, camera)
        return interpolate_pose(one.cam_from_world, two.cam_from_world, share)
    middle = frames[which].views[camera].cam_from_world
    share = late / row_delay(one.camera, one.camera.height - 1)
    first, last = (interpolate_pose(middle, known[camera, end], np.abs(share)) for end in (0, 1))
    return np.where((share < 0)[..., None, None], first, last)


def rolling_flow(
    truth: Truth, frames: tuple[RigFrame, RigFrame], camera: int, target: int, which: int
) -> Floats:
    """Flow (H, W, 2) from a picture to one of the four, each pixel at the time of its own row.

    Parameters
    ----------
    truth : Truth
        Of the picture that ``camera`` took at the first frame: of every row at its own time.
    frames : (RigFrame, RigFrame)
        t and t + 1, in seconds; views without distortion.
    camera, target : {0, 1}
        The camera whose pixels these are, and that in whose picture they are sought.
    which : {0, 1}
        The frame of that picture.
    """
    own, other = frames[0].views[camera].camera, frames[0].views[target].camera
    points, speed, start = _points(truth.depth, truth.motion, frames, camera)
    table = row_poses(frames, target, np.arange(other.height), which)
    rows = np.arange(own.height) * (other.height / own.height)
    row = np.broadcast_to(rows[:, None], truth.depth.shape)
    for _ in range(_ROUNDS):
        late = row_delay(other, row)[..., None]
        moved = points + speed * (which * _seconds(frames, target) + late - start)
        pose = table[np.clip(np.nan_to_num(row).round(), 0, other.height - 1).astype(np.int64)]
        there = project(ideal_camera(other), np.einsum("rcij,rcj->rci", pose[..., :3], moved) + pose[..., 3])
        row = there[..., 1]
    return there - pixel_grid(*own.size)


def places_at_one_time(
    depth: ArrayLike,
    motion: ArrayLike,
    frames: tuple[RigFrame, RigFrame],
    camera: int,
    target: int,
    which: int,
) -> tuple[Floats, Floats]:
    """Where a shutter that opens at once, when the middle row is exposed, would have the pixels of a picture.

    Parameters
    ----------
    depth, motion : (H, W) and (H, W, 3)
        Truth of every row at its own time.
    frames, camera, target, which
        As for `rolling_flow`.

    Returns
    -------
    places : (H, W, 2) float64
        In the picture of ``target`` at the frame ``which``.
    depth : (H, W) float64
        There.
    """
    points, speed, start = _points(depth, motion, frames, camera)
    moved = points + speed * (which * _seconds(frames, target) - start)
    view = frames[which].views[target]
    local = moved @ view.R.T + view.t
    return project(ideal_camera(view.camera), local), local[..., 2]


def _points(
    depth: ArrayLike, motion: ArrayLike, frames: tuple[RigFrame, RigFrame], camera: int
) -> tuple[Floats, Floats, Floats]:
    """What each pixel sees (H, W, 3), how that moves in a second, and when it was exposed (H, 1, 1)."""
    own = frames[0].views[camera].camera
    rows = np.arange(own.height)
    poses = row_poses(frames, camera, rows)
    seen = unproject(own, pixel_grid(*own.size)) * np.asarray(depth, np.float64)[..., None]
    points = np.einsum("rji,rcj->rci", poses[:, :, :3], seen - poses[:, None, :, 3])
    speed = np.asarray(motion, np.float64) / _seconds(frames, camera)
    return points, speed, row_delay(own, rows)[:, None, None]


def _seconds(frames: tuple[RigFrame, RigFrame], camera: int) -> float:
    step = frames[1].times[camera] - frames[0].times[camera]
    if not step > 0:
        raise InputError("rows of a rolling shutter need two frames at different times, in seconds")
    return float(step)
