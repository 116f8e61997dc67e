"""The CarpetBall set: five parallel cameras at two moments, with depth and 3D motion.

``NAME_t{t}_{view}.png``; ``GroundTruth`` as text tables of Z and of the 3D motion u, v, w, in the frame and
the units of view 0, and ``Occlusions.png``; ``ProjMat/CMat{view}.txt`` and ``TMat{view}.txt`` hold K and the
t (world to camera) of each view.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.evaluate.datasets.daimler import first_pictures, read_table
from wideflow.evaluate.datasets.sample import (
    Sample,
    Source,
    rectified_frame,
    require_folder,
    require_size,
    require_sources,
    visible_of,
)
from wideflow.files import read_image
from wideflow.files.disk import AnyPath, read_bytes
from wideflow.geometry import flow_between, points_from_depth
from wideflow.types import RigFrame

_KIND = "a set of the kind of CarpetBall"


def read_carpetball(root: AnyPath) -> list[Source]:
    """The pairs of view 0 with every other view, of the sets in a folder.

    Raises
    ------
    FileError
        No such folder, or no set in it.
    """
    folder = require_folder(root, _KIND)
    sources = []
    for path, name, suffix in first_pictures(folder):
        views = sorted(int(file.stem.rsplit("_", 1)[1]) for file in path.glob(f"{name}_t0_*.{suffix}"))
        sources += [
            Source(f"{name}-{view}", partial(_read_set, path, name, suffix, view))
            for view in views[1:]
            if len(views) > 2
        ]
    return require_sources(sources, root, _KIND, "pictures NAME_t0_0.png of more than two views")


def _read_set(folder: Path, name: str, suffix: str, view: int) -> Sample:
    paths = [folder / f"{name}_t{t}_{v}.{suffix}" for t in (0, 1) for v in (0, view)]
    pictures = tuple(read_image(path) for path in paths)
    depth, u, v, w = (read_table(folder, key) for key in "Zuvw")
    hidden = read_image(folder / "GroundTruth" / "Occlusions.png")
    require_size(pictures[0].shape, paths[0], *pictures[1:], depth, u, v, w, hidden)
    frame = _frame(folder, view, pictures[0].shape)
    motion = np.stack([u, v, w], axis=-1)
    left, right = frame.views
    here = points_from_depth(left, depth)
    moved = here + motion
    stereo, optical, loop = (
        flow_between(points, left, target).astype(np.float32)
        for points, target in ((here, right), (moved, left), (moved, right))
    )
    near, later = np.float32(1) / depth, (1 / moved[..., 2]).astype(np.float32)
    slack = 0.02 * float(near.max())  # surfaces are further apart than that
    seen = hidden[..., 0] == 0  # grey is hidden in another view, white leaves a picture
    visible = {
        "stereo": visible_of(stereo, near, slack) & seen,
        "optical": visible_of(optical, later, slack) & seen,
        "loop": visible_of(loop, later, slack) & seen,
    }
    return Sample(f"{name}-{view}", pictures, (frame, frame), stereo, optical, loop, depth, motion, visible)


def _frame(folder: Path, view: int, shape: tuple[int, ...]) -> RigFrame:
    K = _numbers(folder / "ProjMat" / "CMat0.txt", 9).reshape(3, 3)
    if K[0, 0] <= 0:
        raise FileError(f"'{folder}/ProjMat/CMat0.txt' is no camera; fetch the set again")
    shift = _numbers(folder / "ProjMat" / f"TMat{view}.txt", 3)[0]
    return rectified_frame((shape[1], shape[0]), K[0, 0], (K[0, 2], K[1, 2]), -shift)


def _numbers(path: Path, count: int) -> NDArray[np.float64]:
    text = read_bytes(path, "table of numbers", limit=2**16)
    try:
        return np.array(text.split(), dtype=np.float64).reshape(count)
    except ValueError as error:
        raise FileError(f"'{path}' does not hold {count} numbers; fetch the set again") from error
