"""glTF: one mesh a moment with A's picture on it, as a .glb file."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from wideflow.export.moments import require_points
from wideflow.export.options import ExportOptions
from wideflow.export.surface import moment_surface
from wideflow.export.target import target_folder
from wideflow.export.upright import upright
from wideflow.files.glb import TexturedMesh, write_glb
from wideflow.progress import Progress
from wideflow.storage.result import Result

_QUALITY = 92  # of the JPEG on it


def export_gltf(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``mesh.0000.glb``, ...: what A shows, turned so that up is up, in world units.

    Triangles join neighbouring pixels; there are none across jumps of depth and none where depth is not
    known or its confidence too low.
    """
    require_points(result, options)
    moments = options.moments(result)
    folder = target_folder(out)
    turn = upright(result, moments)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"mesh of moment {t}")
        write_glb(folder / f"mesh.{t:04d}.glb", _mesh(result, t, options, turn))


def _mesh(result: Result, t: int, options: ExportOptions, turn: np.ndarray) -> TexturedMesh:
    used, faces = moment_surface(result, t, options)
    width, height = result.size_a
    y, x = np.divmod(used, width)
    vertices = result.points(t).reshape(-1, 3)[used] @ turn.T
    uv = np.stack([(x + 0.5) / width, (y + 0.5) / height], axis=1)
    _, texture = cv2.imencode(".jpg", result.picture_a(t)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return TexturedMesh(
        vertices.astype(np.float32),
        uv.astype(np.float32),
        faces.astype(np.uint32),
        texture.tobytes(),
    )
