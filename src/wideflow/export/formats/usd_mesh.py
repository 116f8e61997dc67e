"""USD: a mesh whose surface and colours change from moment to moment, and both cameras."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from wideflow.export.options import ExportOptions
from wideflow.export.pinhole import linear_light
from wideflow.export.surface import moment_surface
from wideflow.export.usd_stage import UsdStage, write_usd
from wideflow.progress import Progress
from wideflow.storage.result import Result


def export_usd_mesh(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``/World/Mesh`` and both cameras to one .usd, .usdc or .usda file, as `export_usd` does points.

    Every trusted pixel of A is a vertex with its colour, so that no texture is needed; triangles are those of
    `export_gltf`. Their number changes with time: programs hold a sample until the next.
    """

    def start(stage: UsdStage) -> Callable[[int], None]:
        mesh = stage.geom.Mesh.Define(stage.stage, "/World/Mesh")
        mesh.CreateSubdivisionSchemeAttr("none")
        mesh.CreateDoubleSidedAttr(True)
        colour = mesh.CreateDisplayColorPrimvar("vertex")
        whole = stage.vt.IntArray.FromNumpy

        def put(t: int) -> None:
            pixels, faces = moment_surface(result, t, options)
            points = result.points(t).reshape(-1, 3)[pixels]
            mesh.GetPointsAttr().Set(stage.vectors(points), t)
            mesh.GetFaceVertexCountsAttr().Set(whole(np.full(len(faces), 3, np.int32)), t)
            mesh.GetFaceVertexIndicesAttr().Set(whole(faces.astype(np.int32).ravel()), t)
            colour.Set(stage.vectors(linear_light(result.picture_a(t).reshape(-1, 3)[pixels])), t)
            if len(points):
                mesh.GetExtentAttr().Set(stage.vectors(np.stack([points.min(axis=0), points.max(axis=0)])), t)

        return put

    write_usd(result, out, options, progress, "mesh", start)
