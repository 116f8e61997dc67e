"""COLMAP: a model of all moments with undistorted pictures, and points that both cameras see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.export.both_cameras import moving_masks, other_result
from wideflow.export.moments import Cloud, cloud
from wideflow.export.options import ExportOptions
from wideflow.export.picture_files import picture_name, write_pictures
from wideflow.export.pinhole import check_no_skew
from wideflow.export.target import target_folder
from wideflow.files import ColmapImage, ColmapModel, ColmapPoints, write_colmap, write_image
from wideflow.geometry import inside_picture, project, world_to_camera
from wideflow.progress import Progress
from wideflow.storage.result import Result

_MOST_POINTS = 100_000  # of all moments together: a COLMAP model is sparse


def export_colmap(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``images/``, ``masks/``, then ``sparse/0/``: ``cameras.bin``, ``images.bin``, ``points3D.bin``.

    ``masks/a_000000.png.png`` is black where the world moves, which COLMAP then leaves out. Camera 1 is A,
    camera 2 is B. Points lie on a grid of A's pixels, such that there are at most 100 000; each is seen by
    both cameras of its moment, and only there, as the scene moves.
    """
    folder = target_folder(out, "sparse", "0")
    write_colmap(folder, write_workspace(result, out, options, progress), binary=True)


def write_workspace(result: Result, out: Path, options: ExportOptions, progress: Progress) -> ColmapModel:
    """Write ``images/`` and ``masks/``, and return the model that goes with them."""
    for camera in result.rig.cameras:
        check_no_skew(camera, "a COLMAP model")
    moments = options.moments(result)
    width, height = result.size_a
    grid = int(np.ceil(np.sqrt(width * height * len(moments) / _MOST_POINTS)))
    other = other_result(result)
    images: dict[int, ColmapImage] = {}
    parts: list[ColmapPoints] = []
    for done, t in enumerate(moments):
        progress(done, len(moments), f"pictures of moment {t}")
        write_pictures(result, t, target_folder(out, "images"))
        moving = moving_masks(result, other, t)
        if moving is not None:
            for letter, mask in zip("ab", moving, strict=True):
                write_image(target_folder(out, "masks") / f"{picture_name(letter, t)}.png", ~mask)
        first = 1 + sum(len(part.ids) for part in parts)
        a, b = 2 * done + 1, 2 * done + 2
        pixels, points = _points(result, t, options, grid, (a, b), first)
        for i, image_id in enumerate((a, b)):
            pose = ColmapImage.at_pose(
                picture_name("ab"[i], t), i + 1, result.frame(t).views[i].cam_from_world
            )
            images[image_id] = ColmapImage(
                pose.name, i + 1, pose.quaternion, pose.translation, pixels[i], points.ids
            )
        parts.append(points)
    cameras = dict(enumerate(result.rig.cameras, start=1))
    return ColmapModel(cameras, images, _joined(parts))


def _points(
    result: Result, t: int, options: ExportOptions, grid: int, images: tuple[int, int], first: int
) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ColmapPoints]:
    """Where both cameras of a moment see its points, (N, 2) each, and the points, numbered from ``first``."""
    points = cloud(result, t, options)
    x, y = points.pixels.T
    in_b = points.pixels + result.stereo_flow(t)[y, x].astype(np.float64)
    keep = (x % grid == 0) & (y % grid == 0) & ~result.occluded(t)[y, x]
    keep &= inside_picture(result.rig.cameras[1], in_b)
    count = int(keep.sum())
    sightings = np.stack(
        [np.broadcast_to(images, (count, 2)), np.repeat(np.arange(count)[:, None], 2, 1)], axis=2
    )
    model = ColmapPoints(
        np.arange(first, first + count, dtype=np.int64),
        points.xyz[keep].astype(np.float64),
        points.rgb[keep],
        _reprojection_error(result, t, points, in_b)[keep],
        tuple(sightings.astype(np.int64)),
    )
    return (points.pixels[keep].astype(np.float64), in_b[keep]), model


def _reprojection_error(
    result: Result, t: int, points: Cloud, in_b: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(N,) mean distance in px over the two pictures; in A a point lies on its pixel."""
    view = result.frame(t).views[1]
    seen = project(view.camera, world_to_camera(view, points.xyz))
    distance = np.linalg.norm(seen - in_b, axis=1) / 2
    return np.where(np.isfinite(distance), distance, -1.0)


def _joined(parts: list[ColmapPoints]) -> ColmapPoints:
    return ColmapPoints(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.xyz for part in parts]),
        np.concatenate([part.rgb for part in parts]),
        np.concatenate([part.error for part in parts]),
        tuple(track for part in parts for track in part.tracks),
    )
