"""``cameras.json``: the poses of both cameras over time."""

from __future__ import annotations

import json
from typing import Any

from wideflow.files import write_bytes
from wideflow.files.disk import AnyPath
from wideflow.types import Rig, View


def write_cameras(path: AnyPath, rig: Rig) -> None:
    """Write ``cameras.json`` of a rig: [camera][time] of K, R, t."""
    poses = [[pose_fields(frame.views[c]) for frame in rig.frames] for c in (0, 1)]
    write_bytes(path, json.dumps(poses).encode())


def pose_fields(view: View) -> dict[str, Any]:
    """K, R and t of a view as ``cameras.json`` and ``truth.json`` list them."""
    return {"K": view.camera.K.tolist(), "R": view.R.tolist(), "t": view.t.tolist()}
