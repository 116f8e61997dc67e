"""rerun: a recording with points, motion, cameras and pictures on a time line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wideflow.export.moments import cloud, require_points, seconds
from wideflow.export.options import ExportOptions
from wideflow.export.target import require, target_file
from wideflow.files import write_bytes
from wideflow.geometry import K_to_corner_origin
from wideflow.progress import Progress
from wideflow.storage.result import Result

_JPEG_QUALITY = 90
_ARROW_GRID = 8  # an arrow for every so many pixels each way: more would hide each other


def export_rerun(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write one ``.rrd`` file: ``world/points``, ``world/motion`` (arrows to the next moment), ``world/a``
    and ``world/b`` (cameras with their pictures), on the time lines ``time`` (seconds of A) and ``moment``.

    The recording is built in memory, since rerun's own file writer never returns when a disk is full.
    """
    rr = require("rerun", "rerun")
    path = target_file(out, (".rrd",))
    require_points(result, options)
    times = seconds(result)
    moments = options.moments(result)
    recording = rr.RecordingStream("wideflow")
    stream = recording.binary_stream()
    for done, t in enumerate(moments):
        progress(done, len(moments), f"points of moment {t}")
        recording.set_time("moment", sequence=t)
        recording.set_time("time", duration=float(times[t]))
        _log_points(rr, recording, result, t, options)
        _log_cameras(rr, recording, result, t)
    write_bytes(path, stream.read())


def _log_points(rr: Any, recording: Any, result: Result, t: int, options: ExportOptions) -> None:
    points = cloud(result, t, options)
    recording.log("world/points", rr.Points3D(points.xyz, colors=points.rgb))
    if points.motion is None:
        recording.log("world/motion", rr.Clear(recursive=False))
        return
    shown = (points.pixels % _ARROW_GRID == 0).all(axis=1) & np.isfinite(points.motion).all(axis=1)
    arrows = rr.Arrows3D(origins=points.xyz[shown], vectors=points.motion[shown], colors=points.rgb[shown])
    recording.log("world/motion", arrows)


def _log_cameras(rr: Any, recording: Any, result: Result, t: int) -> None:
    pictures = result.picture_a(t), result.picture_b(t)
    for letter, view, picture in zip("ab", result.frame(t).views, pictures, strict=True):
        recording.log(f"world/{letter}", rr.Transform3D(translation=view.centre, mat3x3=view.R.T))
        lens = rr.Pinhole(
            image_from_camera=K_to_corner_origin(view.camera.K),
            resolution=view.camera.size,
            camera_xyz=rr.ViewCoordinates.RDF,
        )
        recording.log(f"world/{letter}/picture", lens)
        image = rr.Image(np.ascontiguousarray(picture)).compress(jpeg_quality=_JPEG_QUALITY)
        recording.log(f"world/{letter}/picture", image)
