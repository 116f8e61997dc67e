"""One cloud of what stands still over the clip, and one a moment of what moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wideflow.export.fuse import background_options, fused_background, require_moving, split_cloud
from wideflow.export.moments import require_points, seconds
from wideflow.export.options import ExportOptions
from wideflow.export.target import target_folder
from wideflow.files import PointCloud, write_ply
from wideflow.progress import Progress
from wideflow.storage.result import Result


def export_fused(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``moving.000000.ply``, ... with colours and velocities as `export_ply`, then ``background.ply``.

    Points below a confidence of 0.5 are left out unless another one is asked for.
    """
    require_moving(result)
    sure = background_options(options)
    require_points(result, sure)
    times = seconds(result)
    moments = options.moments(result)
    folder = target_folder(out)
    for done, t in enumerate(moments):
        progress(done, 2 * len(moments), f"what moves at moment {t}")
        points, still = split_cloud(result, t, sure)
        velocity = None
        if points.motion is not None:
            velocity = (points.motion[~still] / (times[t + 1] - times[t])).astype(np.float32)
        write_ply(
            folder / f"moving.{t:06d}.ply", PointCloud(points.xyz[~still], points.rgb[~still], velocity)
        )

    def second_half(done: int, count: int, text: str) -> None:
        progress(count + done, 2 * count, text)

    write_ply(folder / "background.ply", fused_background(result, moments, sure, second_half))
