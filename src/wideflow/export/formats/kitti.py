"""KITTI PNG: flow fields and depth in 16 bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wideflow.export.moments import flows, trusted
from wideflow.export.options import ExportOptions
from wideflow.export.target import target_folder
from wideflow.files import write_disparity, write_flow
from wideflow.progress import Progress
from wideflow.storage.result import Result

# What 16 bits hold; beyond it a pixel becomes unknown.
_LARGEST_FLOW = 511.98
_LARGEST_DEPTH = 255.99


def export_kitti(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write flow as `export_flo` does, in steps of 1/64 px, and ``depth/000000.png``: 256 a world unit.

    Flow beyond 511.98 px and depth beyond 255.99 units is unknown, as the format has no room for it.
    """
    moments = options.moments(result)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"flow and depth of moment {t}")
        for name, uv in flows(result, t, options).items():
            fits = (np.abs(uv) <= _LARGEST_FLOW).all(axis=2, keepdims=True)
            write_flow(target_folder(out, name) / f"{t:06d}.png", np.where(fits, uv, np.nan))
        depth = result.depth(t)
        fits = (depth <= _LARGEST_DEPTH) & trusted(result, t, options)
        # depth and disparity share their encoding in KITTI: 256 times the value, 0 for unknown
        write_disparity(target_folder(out, "depth") / f"{t:06d}.png", np.where(fits, depth, np.nan))
