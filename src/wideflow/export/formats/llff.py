"""LLFF and DyNeRF: ``poses_bounds.npy`` and pictures, for NeRFs and Gaussians of forward-facing cameras."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.export.both_cameras import depths, other_result
from wideflow.export.common_lens import cameras_stand, common_lens, through_lens
from wideflow.export.moments import require_points
from wideflow.export.options import ExportOptions
from wideflow.export.standing import frame_rate
from wideflow.export.target import target_folder
from wideflow.files import write_bytes, write_image
from wideflow.progress import Progress
from wideflow.storage.result import Result
from wideflow.types import Camera, View

_NEAR, _FAR = 0.1, 99.9  # percentiles of depth that count as its bounds


def export_llff(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write pictures of one common lens, and last ``poses_bounds.npy``, (rows, 17) float64.

    Cameras that stand, as DyNeRF has them: a row each, ``cam00.mp4`` and ``cam00/images/0000.png``, ... of A,
    ``cam01`` of B. Cameras that move, as LLFF has it: a row for every picture in ``images/``, by name. A row
    is a 3 x 5 matrix (axes down, right and back of the camera in the world; its centre; height, width, focal
    length) row by row, then the nearest and farthest depth.
    """
    from wideflow.video.write import write_video

    require_points(result, options)
    lens = common_lens(result)
    moments = options.moments(result)
    standing = cameras_stand(result, moments)
    other = other_result(result)
    bounds = np.empty((2, len(moments), 2))
    target_folder(out)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"pictures of moment {t}")
        for i, depth in enumerate(depths(result, other, t, options)):
            known = depth[np.isfinite(depth) & (depth > 0)]
            bounds[i, done] = np.percentile(known, (_NEAR, _FAR)) if known.size else np.nan
            folder = target_folder(out, f"cam{i:02d}", "images") if standing else target_folder(out, "images")
            name = f"{done:04d}.png" if standing else f"cam{i:02d}_{done:04d}.png"
            write_image(folder / name, _picture(result, i, t, lens))
    low, high = np.nanmin(bounds[..., 0]), np.nanmax(bounds[..., 1])
    bounds = np.where(np.isfinite(bounds), bounds, (low, high))
    rows = []
    for i in range(2):
        views = [result.frame(t).views[i] for t in moments]
        if standing:
            rows.append(_row(views[0], lens, bounds[i, :, 0].min(), bounds[i, :, 1].max()))
            pictures = _pictures(result, i, moments, lens)
            write_video(out / f"cam{i:02d}.mp4", pictures, frame_rate(result, moments))
        else:
            rows += [_row(view, lens, *bound) for view, bound in zip(views, bounds[i], strict=True)]
    content = io.BytesIO()
    np.save(content, np.stack(rows))
    write_bytes(out / "poses_bounds.npy", content.getvalue())


def _picture(result: Result, i: int, t: int, lens: Camera) -> NDArray[np.uint8]:
    picture = result.picture_a(t) if i == 0 else result.picture_b(t)
    return through_lens(picture, result.rig.cameras[i], lens)


def _pictures(result: Result, i: int, moments: range, lens: Camera) -> Iterator[NDArray[np.uint8]]:
    for t in moments:
        yield _picture(result, i, t, lens)


def _row(view: View, lens: Camera, near: float, far: float) -> NDArray[np.float64]:
    right, down, ahead = view.R
    shape = np.array([lens.height, lens.width, lens.K[0, 0]])
    pose = np.stack([down, right, -ahead, view.centre, shape], axis=1)
    return np.concatenate([pose.ravel(), [near, far]])
