"""nerfstudio: ``transforms.json`` with times, undistorted pictures, masks, depth, points to start from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.export.both_cameras import depths, moving_masks, other_result
from wideflow.export.fuse import fused_background
from wideflow.export.moments import cloud, seconds
from wideflow.export.options import ExportOptions
from wideflow.export.picture_files import picture_name, write_pictures
from wideflow.export.pinhole import check_no_skew, opengl_pose
from wideflow.export.target import target_folder
from wideflow.files import PointCloud, write_bytes, write_image, write_ply
from wideflow.geometry import K_to_corner_origin
from wideflow.progress import Progress, silent
from wideflow.storage.result import Result
from wideflow.types import View

_DEPTH_STEPS = 1000  # a world unit: nerfstudio takes the numbers of a depth picture for millimetres
_MOST_POINTS = 500_000


def export_nerfstudio(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``images/``, ``masks/``, ``depths/``, the clouds, and last the two ``transforms`` files.

    Every picture has its intrinsics, its camera-to-world matrix in OpenGL's axes, ``time`` from 0 (first
    moment) to 1 (last), as dynamic models want it, and ``seconds`` on A's clock. ``transforms.json`` is the
    scene that stands still: masks leave out what moves, and the points to start from are those that stand
    still over all moments. ``transforms_dynamic.json`` has no masks, and the points of the first moment.
    """
    for camera in result.rig.cameras:
        check_no_skew(camera, "transforms.json")
    moments = options.moments(result)
    times = seconds(result)[moments]
    span = float(times[-1] - times[0]) or 1.0
    other = other_result(result)
    target_folder(out)
    frames, masks = [], []
    for done, t in enumerate(moments):
        progress(done, len(moments), f"pictures of moment {t}")
        write_pictures(result, t, target_folder(out, "images"))
        names = [picture_name(letter, t) for letter in "ab"]
        moving = moving_masks(result, other, t)
        found = depths(result, other, t, options)
        when = {"time": float(times[done] - times[0]) / span, "seconds": float(times[done])}
        for i, (name, view) in enumerate(zip(names, result.frame(t).views, strict=True)):
            write_image(target_folder(out, "depths") / name, depth_steps(found[i]))
            if moving is not None:
                write_image(target_folder(out, "masks") / name, ~moving[i])  # black is ignored
                masks.append({"mask_path": f"masks/{name}"})
            frames.append(
                {
                    "file_path": f"images/{name}",
                    "depth_file_path": f"depths/{name}",
                    **when,
                    **_camera(view),
                }
            )
    dynamic: dict[str, Any] = {"camera_model": "OPENCV", "frames": frames}
    first = cloud(result, moments[0], options)
    if len(first.xyz):
        write_ply(out / "points.ply", PointCloud(first.xyz, first.rgb))
        dynamic["ply_file_path"] = "points.ply"
    static = dynamic
    if masks:
        static = dynamic | {"frames": [frame | mask for frame, mask in zip(frames, masks, strict=True)]}
        background = fused_background(result, moments, options, silent, _MOST_POINTS)
        if len(background.xyz):
            write_ply(out / "background.ply", background)
            static["ply_file_path"] = "background.ply"
    write_bytes(out / "transforms_dynamic.json", json.dumps(dynamic, indent=1).encode())
    write_bytes(out / "transforms.json", json.dumps(static, indent=1).encode())


def depth_steps(depth: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Depth in thousandths of a world unit; 0 where it is unknown or does not fit into 16 bits."""
    steps = np.rint(depth * _DEPTH_STEPS)
    fits = (steps >= 1) & (steps < 2**16)
    return np.where(fits, steps, 0).astype(np.uint16)


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
