"""A USD stage with both cameras, the right way up, that takes one moment after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.export.moments import require_points, seconds
from wideflow.export.options import ExportOptions
from wideflow.export.pinhole import check_no_skew, opengl_pose
from wideflow.export.target import require, target_file, write_failed
from wideflow.export.upright import upright
from wideflow.files import atomic_path
from wideflow.geometry import K_to_corner_origin
from wideflow.progress import Progress
from wideflow.storage.result import Result
from wideflow.types import Camera

_APERTURE = 36.0  # width of the film in mm; only its ratio to the focal length has a meaning
_RATE = 24.0  # time codes a second of a result with one moment


class UsdStage:
    """``/World``, turned so that up is up, with both cameras; moment t is time code t.

    Parameters
    ----------
    stage : pxr.Usd.Stage
        An empty one.
    result : Result
        Whose cameras.
    moments : range
        Those that will be put.
    """

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
        # what is below keeps its coordinates
        world.AddTransformOp().Set(self.gf.Matrix4d(turn.T.tolist()))
        stage.SetDefaultPrim(world.GetPrim())
        self._poses = []
        for letter, camera in zip("AB", result.rig.cameras, strict=True):
            prim = self.geom.Camera.Define(stage, f"/World/Camera{letter}")
            _set_lens(prim, camera)
            self._poses.append(prim.AddTransformOp())

    def vectors(self, values: NDArray[np.floating[Any]]) -> Any:
        """(N, 3) as USD takes them."""
        return self.vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))

    def put_cameras(self, t: int) -> None:
        """Where both cameras are at a moment."""
        for pose, view in zip(self._poses, self.result.frame(t).views, strict=True):
            pose.Set(self.gf.Matrix4d(opengl_pose(view).T.tolist()), t)  # USD's vectors are rows


def write_usd(
    result: Result,
    out: Path,
    options: ExportOptions,
    progress: Progress,
    what: str,
    start: Callable[[UsdStage], Callable[[int], None]],
) -> None:
    """Write one .usd, .usdc or .usda file.

    Parameters
    ----------
    result, out, options, progress
        As every exporter has them.
    what : str
        Is put at each moment: for the progress.
    start : callable
        Given the stage, a function that puts a moment.
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
            writer = UsdStage(stage, result, moments)
            put = start(writer)
            for done, t in enumerate(moments):
                progress(done, len(moments), f"{what} of moment {t}")
                put(t)
                writer.put_cameras(t)
                if path.suffix.lower() != ".usda":
                    stage.Save()  # samples on disk leave memory; text would be written whole each time
            stage.Save()
        except require("pxr.Tf", "usd").ErrorException as error:
            raise write_failed(path, "USD") from error


def _set_lens(prim: Any, camera: Camera) -> None:
    K = K_to_corner_origin(camera.K)
    focal = float(K[0, 0]) * _APERTURE / camera.width
    height = focal * camera.height / float(K[1, 1])
    prim.CreateFocalLengthAttr(focal)
    prim.CreateHorizontalApertureAttr(_APERTURE)
    prim.CreateVerticalApertureAttr(height)
    prim.CreateHorizontalApertureOffsetAttr(_APERTURE * (0.5 - float(K[0, 2]) / camera.width))
    prim.CreateVerticalApertureOffsetAttr(height * (float(K[1, 2]) / camera.height - 0.5))
