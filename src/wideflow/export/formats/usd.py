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
from wideflow.types import Camera

_APERTURE = 36.0  # width of the film in mm; only its ratio to the focal length has a meaning
_RATE = 24.0  # time codes a second of a result with one moment


def export_usd(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``/World/Points``, ``/World/CameraA`` and ``/World/CameraB`` to one .usd, .usdc or .usda file.

    Moment t is time code t, and the stage's codes a second are the median rate of the moments. Velocities
    are motion times that rate: USD moves a point by velocity times (code - sample) / rate, which is our
    motion at the next code. Zero where unknown. Metres per unit are not authored: nobody knows them. The
    stage has y up: ``/World`` is turned so that up in camera A's pictures is up.
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
            stage.Save()
        except require("pxr.Tf", "usd").ErrorException as error:
            raise write_failed(path, "USD") from error


class _Stage:
    """A stage that takes one moment after the other."""

    def __init__(self, stage: Any, result: Result, moments: range) -> None:
        self.geom, self.gf, self.vt = (require(f"pxr.{name}", "usd") for name in ("UsdGeom", "Gf", "Vt"))
        self.result = result
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

    def _lens(self, prim: Any, camera: Camera) -> None:
        K = K_to_corner_origin(camera.K)
        focal = float(K[0, 0]) * _APERTURE / camera.width
        height = focal * camera.height / float(K[1, 1])
        prim.CreateFocalLengthAttr(focal)
        prim.CreateHorizontalApertureAttr(_APERTURE)
        prim.CreateVerticalApertureAttr(height)
        prim.CreateHorizontalApertureOffsetAttr(_APERTURE * (0.5 - float(K[0, 2]) / camera.width))
        prim.CreateVerticalApertureOffsetAttr(height * (float(K[1, 2]) / camera.height - 0.5))
