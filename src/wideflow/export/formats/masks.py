"""Masks of what moves, black and white."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wideflow.export.fuse import require_moving
from wideflow.export.moving import moving_mask
from wideflow.export.options import ExportOptions
from wideflow.export.picture_files import picture_name
from wideflow.export.target import target_folder
from wideflow.files import write_image
from wideflow.progress import Progress
from wideflow.storage.result import Result


def export_masks(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``moving/a_000000.png``, white where the world moved, and ``static/a_000000.png.png``, black.

    The second has the names under which COLMAP looks for the masks of `export_colmap`'s pictures: black is
    left out.
    """
    require_moving(result)
    moments = options.moments(result)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"masks of moment {t}")
        moving = moving_mask(result, t)
        name = picture_name("a", t)
        for folder, file, mask in (("moving", name, moving), ("static", f"{name}.png", ~moving)):
            white = np.repeat(np.where(mask, 255, 0).astype(np.uint8)[..., None], 3, axis=2)
            write_image(target_folder(out, folder) / file, white)
