"""``rig.json``: two cameras and their poses in every frame.

``{"version": 1, "cameras": [{"name", "width", "height", "K": 3x3, "distortion": [k1, k2, p1, p2]} x2],
"frames": [{"index", "times": [ta, tb], "cam_from_world": [3x4, 3x4]} ...]}``; pixel centres at integers.
A camera with a rolling shutter also has "readout", the seconds from its first row to its last; a frame has
"late", the seconds by which B's picture was taken later than A's, where they are not of one moment.
"""

from __future__ import annotations

import json
import math
import os
from itertools import pairwise

from wideflow.errors import FileError, InputError
from wideflow.files.calibrated_set import rig_of_set
from wideflow.files.cameras import camera_from_fields, camera_to_fields
from wideflow.files.colmap.directory import read_colmap, rig_from_colmap
from wideflow.files.disk import AnyPath, write_bytes
from wideflow.files.easymocap import EXTRINSICS, INTRINSICS, read_easymocap
from wideflow.files.json_fields import Fields, parse_json, read_json
from wideflow.files.pose2sim import read_pose2sim
from wideflow.types import Camera, Rig, RigFrame, View

_VERSION = 1


def read_rig(path: AnyPath) -> Rig:
    """Read a ``rig.json``, a COLMAP model or EasyMocap calibration (a directory), or a Pose2Sim ``.toml``.

    A COLMAP model must be of two cameras; see `rig_from_colmap` for how its pictures are paired. A
    calibration must be of two cameras that stand, of which the first is A; its world is kept.

    Raises
    ------
    FileError
        The file cannot be read, or a field (named) is missing, of the wrong type or impossible.
    """
    if os.path.isdir(path) and os.path.exists(os.path.join(path, INTRINSICS)):
        return rig_of_set(path, read_easymocap(path))
    if os.path.basename(path) in (INTRINSICS, EXTRINSICS):
        return rig_of_set(path, read_easymocap(os.path.dirname(path)))
    if os.fspath(path).lower().endswith(".toml"):
        return rig_of_set(path, read_pose2sim(path))
    if os.path.isdir(path):
        try:
            return rig_from_colmap(read_colmap(path))
        except InputError as error:
            raise FileError(f"'{path}' cannot serve as a rig: {error}") from error
    return _rig(read_json(path, "rig.json"))


def rig_from_bytes(data: bytes, path: AnyPath) -> Rig:
    """The rig in the contents of a ``rig.json``; ``path`` is for messages."""
    return _rig(parse_json(data, path, "rig.json"))


def _rig(fields: Fields) -> Rig:
    path = fields.path
    if fields.integer("version") != _VERSION:
        raise FileError(
            f"'{path}' is a rig of version {fields.integer('version')}, this program reads {_VERSION}; "
            "write it anew with 'wideflow calibrate'"
        )
    cameras = [camera_from_fields(camera) for camera in fields.objects("cameras")]
    if len(cameras) != 2:
        raise FileError(f"'{path}' has {len(cameras)} cameras in the field cameras; a rig has exactly 2")
    pair = cameras[0], cameras[1]
    frames = tuple(_frame(frame, pair) for frame in fields.objects("frames"))
    if not frames:
        raise FileError(f"'{path}' has no entry in the field frames; a rig has at least one")
    if not _rises(frames):
        raise FileError(f"'{path}' must list its frames by rising index; sort the field frames")
    return Rig(pair, frames)


def _frame(fields: Fields, cameras: tuple[Camera, Camera]) -> RigFrame:
    times = fields.numbers("times", 2).tolist()
    poses = fields.numbers("cam_from_world", 2, 3, 4)
    try:
        views = View(cameras[0], poses[0]), View(cameras[1], poses[1])
    except InputError as error:
        raise FileError(f"'{fields.path}': {fields.where}.cam_from_world is wrong: {error}") from error
    late = float(fields.numbers("late")) if fields.has("late") else 0.0
    return RigFrame(fields.integer("index"), (times[0], times[1]), views, late=late)


def write_rig(path: AnyPath, rig: Rig) -> None:
    """Write ``rig.json``; `read_rig` returns the same rig bit for bit."""
    write_bytes(path, rig_to_bytes(rig))


def rig_to_bytes(rig: Rig) -> bytes:
    """Contents of a ``rig.json``, one line per camera and frame."""
    if not _rises(rig.frames):
        raise InputError("the frames of a rig must stand by rising index")
    if not all(math.isfinite(time) for frame in rig.frames for time in (*frame.times, frame.late)):
        raise InputError("a frame of the rig has a time that is not finite")
    cameras = [camera_to_fields(camera) for camera in rig.cameras]
    frames = [
        {
            "index": int(frame.index),
            "times": [float(time) for time in frame.times],
            "cam_from_world": [view.cam_from_world.tolist() for view in frame.views],
        }
        | ({"late": float(frame.late)} if frame.late else {})
        for frame in rig.frames
    ]
    text = (
        f'{{"version": {_VERSION},\n"cameras": [\n{_lines(cameras)}\n],\n"frames": [\n{_lines(frames)}\n]}}\n'
    )
    return text.encode("ascii")


def _rises(frames: tuple[RigFrame, ...]) -> bool:
    return all(before.index < after.index for before, after in pairwise(frames))


def _lines(objects: list[dict[str, object]]) -> str:
    return ",\n".join(json.dumps(item) for item in objects)
