"""``cameras.json``: the poses of both cameras over time."""

from __future__ import annotations

import json
from typing import Any

from wideflow.files import write_bytes
from wideflow.files.disk import AnyPath
from wideflow.types import Rig, RigFrame, View


def write_cameras(path: AnyPath, rig: Rig) -> None:
    """Write ``cameras.json`` of a rig: [camera][time] of K, R, t."""
    poses = [[_timed_fields(frame, c) for frame in rig.frames] for c in (0, 1)]
    write_bytes(path, json.dumps(poses).encode())


def _timed_fields(frame: RigFrame, camera: int) -> dict[str, Any]:
    """Of a rolling shutter also read-out, time of the middle row, and poses of the first and the last."""
    view = frame.views[camera]
    if not view.camera.readout:
        return pose_fields(view)
    rolling: dict[str, Any] = {"readout": float(view.camera.readout), "time": float(frame.times[0])}
    if frame.rows is not None:
        rolling["rows"] = frame.rows[camera].tolist()
    return pose_fields(view) | rolling


def pose_fields(view: View) -> dict[str, Any]:
    """K, R and t of a view as ``cameras.json`` and ``truth.json`` list them."""
    return {"K": view.camera.K.tolist(), "R": view.R.tolist(), "t": view.t.tolist()}
