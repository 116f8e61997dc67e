"""COLMAP's dense workspace: the model, and depth and normals of every pixel, as its fusion reads them."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.export.both_cameras import a_in_b, depths, known_depth, other_result
from wideflow.export.formats.colmap import write_workspace
from wideflow.export.moments import require_points
from wideflow.export.options import ExportOptions
from wideflow.export.picture_files import picture_name
from wideflow.export.target import target_folder
from wideflow.files import write_bytes, write_colmap
from wideflow.geometry import points_from_depth
from wideflow.progress import Progress
from wideflow.storage.result import Result
from wideflow.types import Array, View

_REACH = 2  # px to each side over which a surface's direction is measured
_SMOOTH = 5  # px over which directions are averaged
_SAME_SURFACE = 0.05  # neighbours whose depths differ by more of it lie on different surfaces


def export_colmap_dense(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write what `export_colmap` does with the model in ``sparse/``, and ``stereo/`` with depth and normals.

    ``stereo/depth_maps/a_000000.png.geometric.bin`` is in world units, 0 where unknown; the normals beside it
    are in the axes of their camera and look at it.
    """
    require_points(result, options)
    model = write_workspace(result, out, options, lambda done, of, text: progress(done, 2 * of, text))
    moments = options.moments(result)
    other = other_result(result)
    names = []
    for done, t in enumerate(moments):
        progress(len(moments) + done, 2 * len(moments), f"depth of moment {t}")
        views = result.frame(t).views
        depth = depths(result, other, t, options)
        normals = [_normals(views[0], depth[0])]
        if other is None:
            normals.append(_carried(result, t, options, normals[0]))
        else:
            normals.append(_normals(views[1], known_depth(other, t, options)))
        for i, letter in enumerate("ab"):
            name = picture_name(letter, t)
            local = np.nan_to_num(normals[i] @ views[i].R.T.astype(np.float32))
            _write_map(target_folder(out, "stereo", "depth_maps"), name, np.nan_to_num(depth[i])[..., None])
            _write_map(target_folder(out, "stereo", "normal_maps"), name, local)
            names.append(name)
    write_bytes(out / "stereo" / "fusion.cfg", ("\n".join(names) + "\n").encode())
    write_colmap(target_folder(out, "sparse"), model, binary=True)


def _write_map(folder: Path, name: str, values: Array) -> None:
    """COLMAP's array: "width&height&channels&", then float32 row by row, one channel after the other."""
    height, width, channels = values.shape
    planes = np.ascontiguousarray(values.transpose(2, 0, 1), "<f4")
    write_bytes(folder / f"{name}.geometric.bin", f"{width}&{height}&{channels}&".encode(), planes)


def _normals(view: View, depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """(H, W, 3) unit vectors in the world that look at the camera, NaN where depth is unknown.

    Next to an edge, where neighbours lie on another surface, the direction to the camera stands in.
    """
    points = points_from_depth(view, depth).astype(np.float32)
    to_camera = view.centre.astype(np.float32) - points
    to_camera /= np.linalg.norm(to_camera, axis=2, keepdims=True)
    padded = np.pad(points, ((_REACH, _REACH), (_REACH, _REACH), (0, 0)), "edge")
    span = 2 * _REACH
    across = padded[_REACH:-_REACH, span:] - padded[_REACH:-_REACH, :-span]
    down = padded[span:, _REACH:-_REACH] - padded[:-span, _REACH:-_REACH]
    normal = np.cross(down, across)
    limit = _SAME_SURFACE * depth
    with np.errstate(invalid="ignore"):
        jumps = (np.abs(across @ view.R[2]) > limit) | (np.abs(down @ view.R[2]) > limit)
        normal /= np.linalg.norm(normal, axis=2, keepdims=True)
        normal *= np.where((normal * to_camera).sum(axis=2, keepdims=True) < 0, np.float32(-1), np.float32(1))
    normal[jumps | ~np.isfinite(normal).all(axis=2)] = 0
    normal = cv2.blur(normal, (_SMOOTH, _SMOOTH), borderType=cv2.BORDER_REPLICATE)
    length = np.linalg.norm(normal, axis=2, keepdims=True)
    normal = np.where(length > 0.1, normal / np.maximum(length, 1e-9), to_camera)
    return np.where(np.isfinite(depth)[..., None], normal, np.float32(np.nan))


def _carried(
    result: Result, t: int, options: ExportOptions, normals: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The directions of A's points on the pixels of B that show them."""
    width, height = result.size_b
    found = np.full((height, width, 3), np.nan, np.float32)
    (v, u), (y, x), _ = a_in_b(result, t, options)
    found[v, u] = normals[y, x]
    return found
