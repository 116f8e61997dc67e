"""Dynamic 3D Gaussians: pictures, masks and cameras of every moment, and points to start from."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.export.both_cameras import moving_masks, other_result
from wideflow.export.fuse import background_options, fused_background, require_moving, split_cloud
from wideflow.export.moments import require_points
from wideflow.export.options import ExportOptions
from wideflow.export.pinhole import check_no_skew
from wideflow.export.target import target_folder
from wideflow.files import write_bytes, write_image
from wideflow.geometry import K_to_corner_origin
from wideflow.progress import Progress, silent
from wideflow.storage.result import Result
from wideflow.types import Array, View

_MOST_POINTS = 200_000  # of the background: each becomes a Gaussian


def export_dynamic3dgaussians(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``ims/0/000000.png``, ``seg/0/000000.png`` (1 where it moves, else 0), camera 1 is B; then
    ``init_pt_cld.npz`` and last ``train_meta.json``.

    The format has one size for all pictures, so those of B are scaled to that of A, with their intrinsics.
    """
    require_moving(result)
    sure = background_options(options)
    require_points(result, sure)
    for camera in result.rig.cameras:
        check_no_skew(camera, "train_meta.json")
    moments = options.moments(result)
    other = other_result(result)
    size = result.size_a
    target_folder(out)
    meta: dict[str, Any] = {"w": size[0], "h": size[1], "k": [], "w2c": [], "fn": [], "cam_id": []}
    for done, t in enumerate(moments):
        progress(done, len(moments), f"pictures of moment {t}")
        moving = moving_masks(result, other, t)
        assert moving is not None  # `require_moving`
        names = [f"{i}/{done:06d}.png" for i in range(2)]
        for i, picture in enumerate((result.picture_a(t), result.picture_b(t))):
            scaled = _resized(picture, size, cv2.INTER_AREA)
            write_image(target_folder(out, "ims", str(i)) / f"{done:06d}.png", scaled)
            mask = _resized(moving[i].astype(np.uint8), size, cv2.INTER_NEAREST)
            write_image(target_folder(out, "seg", str(i)) / f"{done:06d}.png", mask)
        views = result.frame(t).views
        meta["k"].append([_intrinsics(view, size).tolist() for view in views])
        meta["w2c"].append([[*view.cam_from_world.tolist(), [0.0, 0.0, 0.0, 1.0]] for view in views])
        meta["fn"].append(names)
        meta["cam_id"].append([0, 1])
    content = io.BytesIO()
    np.savez(content, data=_first_points(result, moments, sure))
    write_bytes(out / "init_pt_cld.npz", content.getvalue())
    write_bytes(out / "train_meta.json", json.dumps(meta).encode())


def _resized(picture: Array, size: tuple[int, int], how: int) -> NDArray[np.uint8]:
    if picture.shape[1::-1] == size:
        return picture
    return np.asarray(cv2.resize(picture, size, interpolation=how), np.uint8)


def _intrinsics(view: View, size: tuple[int, int]) -> NDArray[np.float64]:
    """(3, 3) for a picture of this size; the renderer's pixel centres are at 0.5."""
    scale = np.array([size[0] / view.camera.width, size[1] / view.camera.height, 1.0])
    return K_to_corner_origin(view.camera.K) * scale[:, None]


def _first_points(result: Result, moments: range, options: ExportOptions) -> NDArray[np.float64]:
    """(N, 7): x, y, z, colour 0..1, and 1 for what moves at the first moment, 0 for the background."""
    background = fused_background(result, moments, options, silent, _MOST_POINTS)
    assert background.rgb is not None
    points, still = split_cloud(result, moments[0], options)
    xyz = np.concatenate([background.xyz, points.xyz[~still]])
    rgb = np.concatenate([background.rgb, points.rgb[~still]]) / 255
    moves = np.arange(len(xyz)) >= len(background.xyz)
    return np.column_stack([xyz, rgb, moves])
