"""PLY: one point cloud a moment, with colour and velocity."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wideflow.export.moments import cloud, require_points, seconds
from wideflow.export.options import ExportOptions
from wideflow.export.target import target_folder
from wideflow.files import PointCloud, write_ply
from wideflow.progress import Progress
from wideflow.storage.result import Result


def export_ply(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``points.0000.ply``, ...: x y z, red green blue, and vx vy vz in world units a second.

    The velocity is NaN where it is unknown; the last moment of a result has none.
    """
    require_points(result, options)
    times = seconds(result)
    moments = options.moments(result)
    folder = target_folder(out)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"points of moment {t}")
        points = cloud(result, t, options)
        velocity = None
        if points.motion is not None:
            velocity = (points.motion / (times[t + 1] - times[t])).astype(np.float32)
        write_ply(folder / f"points.{t:04d}.ply", PointCloud(points.xyz, points.rgb, velocity))
