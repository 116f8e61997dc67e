"""USD: time-sampled points with velocities and colours, and both cameras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wideflow.export.moments import Cloud, cloud, require_points, seconds
from wideflow.export.options import ExportOptions
from wideflow.export.pinhole import check_no_skew, linear_light, opengl_pose
from wideflow.export.target import require, target_file, write_failed
from wideflow.export.upright import upright
from wideflow.files import atomic_path
from wideflow.geometry import K_to_corner_origin
from wideflow.progress import Progress
from wideflow.storage.result import Result
from wideflow.storage.tracks import Tracks
from wideflow.types import Camera

_APERTURE = 36.0  # width of the film in mm; only its ratio to the focal length has a meaning
_RATE = 24.0  # time codes a second of a result with one moment


def export_usd(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``/World/Points``, ``/World/CameraA`` and ``/World/CameraB`` to one .usd, .usdc or .usda file.

    Moment t is time code t, and the stage's codes a second are the median rate of the moments. Velocities
    are motion times that rate: USD moves a point by velocity times (code - sample) / rate, which is our
    motion at the next code. Zero where unknown. Metres per unit are not authored: nobody knows them. The
    stage has y up: ``/World`` is turned so that up in camera A's pictures is up.

    Tracks that are kept with the result are ``/World/Tracks``, a curve each through all chosen moments, and
    ``/World/TrackPoints``, the same points at each moment.
    """
    usd = require("pxr.Usd", "usd")
    path = target_file(out, (".usd", ".usdc", ".usda"))
    require_points(result, options)
    for camera in result.rig.cameras:
        check_no_skew(camera, "USD")
    moments = options.moments(result)
    with atomic_path(path) as temporary:
        try:
            stage = usd.Stage.CreateNew(str(temporary))
            writer = _Stage(stage, result, moments)
            for done, t in enumerate(moments):
                progress(done, len(moments), f"points of moment {t}")
                writer.put(t, cloud(result, t, options))
                if path.suffix.lower() != ".usda":
                    stage.Save()  # samples on disk leave memory; text would be written whole each time
            if result.view == "a" and result.has_tracks:
                writer.put_tracks(result.tracks(), moments)
            stage.Save()
        except require("pxr.Tf", "usd").ErrorException as error:
            raise write_failed(path, "USD") from error


class _Stage:
    """A stage that takes one moment after the other."""

    def __init__(self, stage: Any, result: Result, moments: range) -> None:
        self.geom, self.gf, self.vt = (require(f"pxr.{name}", "usd") for name in ("UsdGeom", "Gf", "Vt"))
        self.result, self.stage = result, stage
        steps = np.diff(seconds(result))
        self.rate = float(1 / np.median(steps)) if len(steps) else _RATE
        stage.SetTimeCodesPerSecond(self.rate)
        stage.SetFramesPerSecond(self.rate)
        stage.SetStartTimeCode(moments[0])
        stage.SetEndTimeCode(moments[-1])
        self.geom.SetStageUpAxis(stage, "Y")
        world = self.geom.Xform.Define(stage, "/World")
        turn = np.eye(4)
        turn[:3, :3] = upright(result, moments)
        world.AddTransformOp().Set(
            self.gf.Matrix4d(turn.T.tolist())
        )  # points and cameras below stay as they are
        stage.SetDefaultPrim(world.GetPrim())
        self.points = self.geom.Points.Define(stage, "/World/Points")
        self.points.CreateDisplayColorPrimvar("vertex")
        self.points.SetWidthsInterpolation("vertex")
        self.poses = []
        for letter, camera in zip("AB", result.rig.cameras, strict=True):
            prim = self.geom.Camera.Define(stage, f"/World/Camera{letter}")
            self._lens(prim, camera)
            self.poses.append(prim.AddTransformOp())

    def put(self, t: int, points: Cloud) -> None:
        """Add the samples of one moment."""
        motion = np.zeros_like(points.xyz) if points.motion is None else np.nan_to_num(points.motion, nan=0.0)
        vectors = self.vt.Vec3fArray.FromNumpy
        self.points.GetPointsAttr().Set(vectors(points.xyz), t)
        self.points.GetVelocitiesAttr().Set(vectors((motion * self.rate).astype(np.float32)), t)
        self.points.GetDisplayColorAttr().Set(vectors(linear_light(points.rgb)), t)
        # as wide as a pixel at its depth, so that surfaces close
        width = (points.depth / self.result.rig.cameras[0].K[0, 0]).astype(np.float32)
        self.points.GetWidthsAttr().Set(self.vt.FloatArray.FromNumpy(width), t)
        if len(points.xyz):
            half = width.max() / 2
            extent = np.stack([points.xyz.min(axis=0) - half, points.xyz.max(axis=0) + half])
            self.points.GetExtentAttr().Set(vectors(extent), t)
        for pose, view in zip(self.poses, self.result.frame(t).views, strict=True):
            pose.Set(self.gf.Matrix4d(opengl_pose(view).T.tolist()), t)  # USD's vectors are rows

    def put_tracks(self, tracks: Tracks, moments: range) -> None:
        """Add the tracks that are known at all these moments; their colour is that of the query."""
        way = tracks.xyz[moments.start : moments.stop : moments.step]
        known = np.isfinite(way).all(axis=(0, 2))
        if not known.any():
            return
        way, asked = way[:, known], np.rint(tracks.queries[known]).astype(np.intp)
        pictures = {t: self.result.picture_a(int(t)) for t in np.unique(asked[:, 2])}
        rgb = np.stack([pictures[t][y, x] for x, y, t in asked])
        vectors, whole = self.vt.Vec3fArray.FromNumpy, self.vt.IntArray.FromNumpy
        colour = vectors(linear_light(rgb))
        curves = self.geom.BasisCurves.Define(self.stage, "/World/Tracks")
        curves.CreateTypeAttr("linear")
        curves.CreateCurveVertexCountsAttr(whole(np.full(way.shape[1], len(way), np.int32)))
        curves.CreatePointsAttr(vectors(np.ascontiguousarray(way.transpose(1, 0, 2)).reshape(-1, 3)))
        width = float(
            np.median(np.linalg.norm(way[0] - self.result.frame(moments[0]).views[0].centre, axis=1))
        )
        width /= float(self.result.rig.cameras[0].K[0, 0])  # a pixel at the middle of them
        curves.CreateWidthsAttr(self.vt.FloatArray([width]))
        curves.SetWidthsInterpolation("constant")
        curves.CreateDisplayColorPrimvar("uniform").Set(colour)
        curves.CreateExtentAttr(vectors(np.stack([way.min(axis=(0, 1)), way.max(axis=(0, 1))])))
        points = self.geom.Points.Define(self.stage, "/World/TrackPoints")
        points.CreateIdsAttr(self.vt.Int64Array.FromNumpy(np.flatnonzero(known).astype(np.int64)))
        points.CreateDisplayColorPrimvar("vertex").Set(colour)
        points.CreateWidthsAttr(self.vt.FloatArray([2 * width]))
        points.SetWidthsInterpolation("constant")
        for t, xyz in zip(moments, way, strict=True):
            points.GetPointsAttr().Set(vectors(np.ascontiguousarray(xyz)), t)
            points.GetExtentAttr().Set(vectors(np.stack([xyz.min(axis=0), xyz.max(axis=0)])), t)

    def _lens(self, prim: Any, camera: Camera) -> None:
        K = K_to_corner_origin(camera.K)
        focal = float(K[0, 0]) * _APERTURE / camera.width
        height = focal * camera.height / float(K[1, 1])
        prim.CreateFocalLengthAttr(focal)
        prim.CreateHorizontalApertureAttr(_APERTURE)
        prim.CreateVerticalApertureAttr(height)
        prim.CreateHorizontalApertureOffsetAttr(_APERTURE * (0.5 - float(K[0, 2]) / camera.width))
        prim.CreateVerticalApertureOffsetAttr(height * (float(K[1, 2]) / camera.height - 0.5))
