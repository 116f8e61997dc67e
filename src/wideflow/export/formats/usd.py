"""USD: time-sampled points with velocities and colours, and both cameras."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from wideflow.export.moments import cloud
from wideflow.export.options import ExportOptions
from wideflow.export.pinhole import linear_light
from wideflow.export.usd_stage import UsdStage, write_usd
from wideflow.progress import Progress
from wideflow.storage.result import Result
from wideflow.storage.tracks import Tracks


def export_usd(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``/World/Points``, ``/World/CameraA`` and ``/World/CameraB`` to one .usd, .usdc or .usda file.

    Moment t is time code t, and the stage's codes a second are the median rate of the moments. Velocities
    are motion times that rate: USD moves a point by velocity times (code - sample) / rate, which is our
    motion at the next code. Zero where unknown. Metres per unit are not authored: nobody knows them. The
    stage has y up: ``/World`` is turned so that up in camera A's pictures is up.

    Tracks that are kept with the result are ``/World/Tracks``, a curve each through all chosen moments, and
    ``/World/TrackPoints``, the same points at each moment.
    """

    def start(stage: UsdStage) -> Callable[[int], None]:
        if result.view == "a" and result.has_tracks:
            _put_tracks(stage, result.tracks(), options.moments(result))
        points = stage.geom.Points.Define(stage.stage, "/World/Points")
        points.CreateDisplayColorPrimvar("vertex")
        points.SetWidthsInterpolation("vertex")

        def put(t: int) -> None:
            found = cloud(result, t, options)
            motion = (
                np.zeros_like(found.xyz) if found.motion is None else np.nan_to_num(found.motion, nan=0.0)
            )
            points.GetPointsAttr().Set(stage.vectors(found.xyz), t)
            points.GetVelocitiesAttr().Set(stage.vectors(motion * stage.rate), t)
            points.GetDisplayColorAttr().Set(stage.vectors(linear_light(found.rgb)), t)
            # as wide as a pixel at its depth, so that surfaces close
            width = (found.depth / result.rig.cameras[0].K[0, 0]).astype(np.float32)
            points.GetWidthsAttr().Set(stage.vt.FloatArray.FromNumpy(width), t)
            if len(found.xyz):
                half = width.max() / 2
                extent = np.stack([found.xyz.min(axis=0) - half, found.xyz.max(axis=0) + half])
                points.GetExtentAttr().Set(stage.vectors(extent), t)

        return put

    write_usd(result, out, options, progress, "points", start)


def _put_tracks(stage: UsdStage, tracks: Tracks, moments: range) -> None:
    """Add the tracks that are known at all these moments; their colour is that of the query."""
    result = stage.result
    way = tracks.xyz[moments.start : moments.stop : moments.step]
    known = np.isfinite(way).all(axis=(0, 2))
    if not known.any():
        return
    way, asked = way[:, known], np.rint(tracks.queries[known]).astype(np.intp)
    pictures = {t: result.picture_a(int(t)) for t in np.unique(asked[:, 2])}
    rgb = np.stack([pictures[t][y, x] for x, y, t in asked])
    vectors, whole = stage.vectors, stage.vt.IntArray.FromNumpy
    colour = vectors(linear_light(rgb))
    curves = stage.geom.BasisCurves.Define(stage.stage, "/World/Tracks")
    curves.CreateTypeAttr("linear")
    curves.CreateCurveVertexCountsAttr(whole(np.full(way.shape[1], len(way), np.int32)))
    curves.CreatePointsAttr(vectors(np.ascontiguousarray(way.transpose(1, 0, 2)).reshape(-1, 3)))
    width = float(np.median(np.linalg.norm(way[0] - result.frame(moments[0]).views[0].centre, axis=1)))
    width /= float(result.rig.cameras[0].K[0, 0])  # a pixel at the middle of them
    curves.CreateWidthsAttr(stage.vt.FloatArray([width]))
    curves.SetWidthsInterpolation("constant")
    curves.CreateDisplayColorPrimvar("uniform").Set(colour)
    curves.CreateExtentAttr(vectors(np.stack([way.min(axis=(0, 1)), way.max(axis=(0, 1))])))
    points = stage.geom.Points.Define(stage.stage, "/World/TrackPoints")
    points.CreateIdsAttr(stage.vt.Int64Array.FromNumpy(np.flatnonzero(known).astype(np.int64)))
    points.CreateDisplayColorPrimvar("vertex").Set(colour)
    points.CreateWidthsAttr(stage.vt.FloatArray([2 * width]))
    points.SetWidthsInterpolation("constant")
    for t, xyz in zip(moments, way, strict=True):
        points.GetPointsAttr().Set(vectors(np.ascontiguousarray(xyz)), t)
        points.GetExtentAttr().Set(vectors(np.stack([xyz.min(axis=0), xyz.max(axis=0)])), t)
