"""The KITTI 2015 scene flow layout (training).

``image_2/NNNNNN_10.png`` and ``_11.png`` are the left camera at t and t + 1, ``image_3`` the right one;
``disp_occ_0`` and ``disp_occ_1`` the disparities at t of the points at t and t + 1, ``flow_occ`` the optical
flow, all 16-bit PNG, with 0 where unknown. ``disp_noc_0``, ``disp_noc_1`` and ``flow_noc``, if there, leave
out what is hidden. ``calib_cam_to_cam/NNNNNN.txt`` has the cameras.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.evaluate.datasets.sample import (
    Mask,
    Sample,
    Source,
    from_disparity,
    rectified_frame,
    require_folder,
    require_size,
    require_sources,
)
from wideflow.files import read_disparity, read_flow, read_image
from wideflow.files.disk import AnyPath, read_bytes
from wideflow.types import RigFrame

_KIND = "the training part of KITTI 2015 scene flow"


def read_kitti(root: AnyPath) -> list[Source]:
    """Every scene with ground truth below the folder that holds ``image_2`` (or ``training``).

    Raises
    ------
    FileError
        No such folder, or none of its scenes has ground truth.
    """
    folder = require_folder(root, _KIND)
    if (folder / "training").is_dir():
        folder = folder / "training"
    names = [
        match[1]
        for file in sorted((folder / "image_2").glob("*_10.png"))
        if (match := re.fullmatch(r"(\d+)_10", file.stem)) and (folder / "flow_occ" / file.name).exists()
    ]
    sources = [Source(name, partial(_read_scene, folder, name)) for name in names]
    return require_sources(sources, root, _KIND, "picture image_2/NNNNNN_10.png with flow_occ")


def _read_scene(folder: Path, name: str) -> Sample:
    pictures = tuple(
        read_image(folder / camera / f"{name}_{moment}.png")
        for moment in ("10", "11")
        for camera in ("image_2", "image_3")
    )
    file = f"{name}_10.png"
    before, after = (read_disparity(folder / f"disp_occ_{t}" / file) for t in (0, 1))
    optical = read_flow(folder / "flow_occ" / file)
    require_size(pictures[0].shape, folder / "image_2" / file, *pictures[1:], before, after, optical)
    frame = _cameras(folder / "calib_cam_to_cam" / f"{name}.txt", pictures[0].shape)
    return Sample(
        name,
        pictures,
        (frame, frame),  # the cameras stand still in their own frame: what moves is the world
        stereo=from_disparity(before),
        optical=optical,
        loop=optical + from_disparity(after),
        visible={
            "stereo": _seen(folder / "disp_noc_0" / file, before),
            "optical": _seen(folder / "flow_noc" / file, optical),
            "loop": _seen(folder / "disp_noc_1" / file, after),
        },
    )


def _seen(path: Path, truth: NDArray[np.float32]) -> Mask:
    """Pixels that the set without hidden ones has; all where it is absent."""
    if not path.exists():
        return np.ones(truth.shape[:2], bool)
    values = read_flow(path)[..., 0] if truth.ndim == 3 else read_disparity(path)
    require_size(truth.shape, path, values)
    return np.isfinite(values)


def _cameras(path: Path, shape: tuple[int, ...]) -> RigFrame:
    """The rectified colour cameras from ``P_rect_02`` and ``P_rect_03``."""
    text = read_bytes(path, "KITTI calibration", limit=2**20).decode("utf-8", "replace")
    rows = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    left, right = (_projection(path, rows, f"P_rect_{camera}") for camera in ("02", "03"))
    if left[0, 0] != right[0, 0]:
        raise FileError(f"'{path}': the two cameras are not rectified; fetch the scene again")
    baseline = (left[0, 3] - right[0, 3]) / left[0, 0]
    return rectified_frame((shape[1], shape[0]), left[0, 0], (left[0, 2], left[1, 2]), baseline)


def _projection(path: Path, rows: dict[str, str], key: str) -> NDArray[np.float64]:
    try:
        matrix = np.array([float(number) for number in rows[key].split()]).reshape(3, 4)
    except (KeyError, ValueError) as error:
        raise FileError(f"'{path}' has no 3 x 4 matrix {key}; fetch the scene again") from error
    if not (np.isfinite(matrix).all() and matrix[0, 0] > 0):
        raise FileError(f"'{path}': {key} is no projection; fetch the scene again")
    return matrix
