"""Masks of what moves, black and white."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.export.options import ExportOptions
from wideflow.export.picture_files import picture_name
from wideflow.export.target import target_folder
from wideflow.files import write_image
from wideflow.progress import Progress
from wideflow.storage.result import Result

_LIKELY = 0.5  # chance of motion from which a pixel counts as moving
_REACH = 0.01  # how far a pixel's chance reaches, as a share of the picture's longer side
_EDGE = 0.1  # step of grey, 0..1, that holds it back


def export_masks(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``moving/a_000000.png``, white where the world moved, and ``static/a_000000.png.png``, black.

    The second has the names under which COLMAP looks for the masks of `export_colmap`'s pictures: black is
    left out.
    """
    if not result.has("moving"):
        raise InputError(f"'{result.place}' does not tell what moves; start the run again, which adds it")
    moments = options.moments(result)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"masks of moment {t}")
        moving = moving_mask(result, t)
        name = picture_name("a", t)
        for folder, file, mask in (("moving", name, moving), ("static", f"{name}.png", ~moving)):
            white = np.repeat(np.where(mask, 255, 0).astype(np.uint8)[..., None], 3, axis=2)
            write_image(target_folder(out, folder) / file, white)


def moving_mask(result: Result, t: int) -> NDArray[np.bool_]:
    """(H, W), where the world moved at a moment.

    The chance of motion is first averaged along the edges of the picture (a guided filter): single pixels do
    not move alone, and things end where the picture has an edge.
    """
    chance = np.nan_to_num(result.moving(t)).astype(np.float32)
    grey = cv2.cvtColor(result.picture_a(t), cv2.COLOR_RGB2GRAY).astype(np.float32) / 255
    side = 2 * max(1, round(_REACH * max(chance.shape))) + 1

    def mean(values: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(cv2.blur(values, (side, side)), np.float32)

    mean_grey, mean_chance = mean(grey), mean(chance)
    slope = (mean(grey * chance) - mean_grey * mean_chance) / (mean(grey * grey) - mean_grey**2 + _EDGE**2)
    level = mean_chance - slope * mean_grey
    return np.asarray(mean(slope) * grey + mean(level) > _LIKELY, np.bool_)
