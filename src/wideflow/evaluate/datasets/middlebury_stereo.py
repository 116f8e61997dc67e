"""The Middlebury stereo layouts of 2003, 2005 and 2006: rectified pairs whose disparities are grey levels.

A folder per scene with ``view1.png``, ``view5.png``, ``disp1.png`` and ``disp5.png`` (2005, 2006), or with
``im2.png``, ``im6.png``, ``disp2.png`` and ``disp6.png`` (2003); 0 is unknown. A grey level is a pixel of the
full size, so that the scale follows from the width: a third of the size has disparities of a third.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from wideflow.evaluate.datasets.sample import (
    Field,
    Sample,
    Source,
    from_disparity,
    rectified_frame,
    require_folder,
    require_size,
    require_sources,
    visible_of,
)
from wideflow.files import read_image
from wideflow.files.disk import AnyPath

_KIND = "stereo scenes of Middlebury"
# pictures, disparities, and the least width of each scale: grey levels a pixel
_LAYOUTS = (
    (("view1.png", "view5.png"), ("disp1.png", "disp5.png"), ((1000, 1), (550, 2), (0, 3))),
    (("im2.png", "im6.png"), ("disp2.png", "disp6.png"), ((1400, 1), (700, 2), (0, 4))),
)


def read_middlebury_stereo(root: AnyPath) -> list[Source]:
    """Every scene with true disparity below a folder of scenes, or of one scene.

    Raises
    ------
    FileError
        No such folder, or no scene in it.
    """
    folder = require_folder(root, _KIND)
    scenes = [
        (path, layout)
        for path in (folder, *sorted(folder.iterdir()))
        for layout in range(len(_LAYOUTS))
        if (path / _LAYOUTS[layout][1][0]).exists()
    ]
    sources = [Source(path.resolve().name, partial(_read_scene, path, layout)) for path, layout in scenes]
    return require_sources(sources, root, _KIND, "disp1.png or disp2.png")


def _read_scene(folder: Path, layout: int) -> Sample:
    names, disparities, scales = _LAYOUTS[layout]
    first, second = (read_image(folder / name) for name in names)
    scale = next(scale for least, scale in scales if first.shape[1] >= least)
    left = _disparity(folder / disparities[0], scale)
    require_size(first.shape, folder / names[0], second, left)
    stereo = from_disparity(left)
    height, width = first.shape[:2]
    # focal length and baseline are not given: neither matters to the lines, nor to flow
    frame = rectified_frame((width, height), float(width), ((width - 1) / 2, (height - 1) / 2), 1.0)
    seen = visible_of(stereo, left)
    if (folder / disparities[1]).exists():
        seen &= _agree(left, _disparity(folder / disparities[1], scale))
    return Sample(folder.resolve().name, (first, second), (frame,), stereo=stereo, visible={"stereo": seen})


def _disparity(path: Path, scale: int) -> Field:
    grey = read_image(path)[..., 0] * 255
    return np.where(grey > 0, grey / scale, np.nan).astype(np.float32)


def _agree(left: Field, right: Field) -> np.ndarray:
    """Pixels whose disparity the other picture's truth repeats to a pixel."""
    x = np.rint(np.arange(left.shape[1]) - np.nan_to_num(left)).astype(int)
    inside = (x >= 0) & (x < left.shape[1])
    there = np.take_along_axis(right, np.clip(x, 0, left.shape[1] - 1), axis=1)
    return np.asarray(inside & (np.abs(there - left) <= 1))
