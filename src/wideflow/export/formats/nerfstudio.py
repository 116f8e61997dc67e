"""nerfstudio: ``transforms.json`` with times, undistorted pictures, points to start from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wideflow.export.moments import cloud, seconds
from wideflow.export.options import ExportOptions
from wideflow.export.picture_files import picture_name, write_pictures
from wideflow.export.pinhole import check_no_skew, opengl_pose
from wideflow.export.target import target_folder
from wideflow.files import PointCloud, write_bytes, write_ply
from wideflow.geometry import K_to_corner_origin
from wideflow.progress import Progress
from wideflow.storage.result import Result
from wideflow.types import View


def export_nerfstudio(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``images/``, ``points.ply`` of the first moment, and last ``transforms.json``.

    Every picture has its intrinsics, its camera-to-world matrix in OpenGL's axes, ``time`` from 0 (first
    moment) to 1 (last), as dynamic models want it, and ``seconds`` on A's clock.
    """
    for camera in result.rig.cameras:
        check_no_skew(camera, "transforms.json")
    moments = options.moments(result)
    times = seconds(result)[moments]
    span = float(times[-1] - times[0]) or 1.0
    target_folder(out)
    frames = []
    for done, t in enumerate(moments):
        progress(done, len(moments), f"pictures of moment {t}")
        write_pictures(result, t, target_folder(out, "images"))
        when = {"time": float(times[done] - times[0]) / span, "seconds": float(times[done])}
        for letter, view in zip("ab", result.frame(t).views, strict=True):
            frames.append({"file_path": f"images/{picture_name(letter, t)}", **when, **_camera(view)})
    scene: dict[str, Any] = {"camera_model": "OPENCV", "frames": frames}
    points = cloud(result, moments[0], options)
    if len(points.xyz):
        write_ply(out / "points.ply", PointCloud(points.xyz, points.rgb))
        scene["ply_file_path"] = "points.ply"
    write_bytes(out / "transforms.json", json.dumps(scene, indent=1).encode())


def _camera(view: View) -> dict[str, Any]:
    K = K_to_corner_origin(view.camera.K)  # nerfstudio shoots the first ray through (0.5, 0.5)
    return {
        "fl_x": K[0, 0],
        "fl_y": K[1, 1],
        "cx": K[0, 2],
        "cy": K[1, 2],
        "w": view.camera.width,
        "h": view.camera.height,
        "transform_matrix": opengl_pose(view).tolist(),
    }
