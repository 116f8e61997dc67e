"""XYZ: one text file a moment, a line a point, for CloudCompare and spreadsheets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wideflow import Result
from wideflow.export.moments import cloud, require_points
from wideflow.export.options import ExportOptions
from wideflow.export.target import target_folder
from wideflow.files import write_bytes
from wideflow.progress import Progress


def export_xyz(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``points.0000.xyz``, ...: x y z in world units, red green blue 0 to 255."""
    require_points(result, options)
    moments = options.moments(result)
    folder = target_folder(out)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"points of moment {t}")
        points = cloud(result, t, options)
        rows = np.column_stack([points.xyz, points.rgb])
        lines = (f"{x:.6g} {y:.6g} {z:.6g} {r:.0f} {g:.0f} {b:.0f}\n" for x, y, z, r, g, b in rows)
        write_bytes(folder / f"points.{t:04d}.xyz", "".join(lines).encode())
