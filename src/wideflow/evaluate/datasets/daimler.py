"""Rendered four-frame sets as text tables: Daimler's, of the EISATS collection (sequences such as traffic2).

``NAME_t{t}_{view}.pgm`` (or .png) are the pictures, ``GroundTruth/{Z,u,v,w}/{Z,u,v,w}_0000.txt`` tables of
one number a pixel: depth, optical flow in px, change of disparity in px. The calibration that comes with the
set is wrong; f = 1225 px and a baseline of 0.3 m fit its pictures.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np

from wideflow.errors import FileError
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
from wideflow.files.disk import AnyPath, read_bytes

FOCAL, BASELINE = 1225.0, 0.3  # px, m
_KIND = "the four pictures of a Daimler set (EISATS)"
FIRST = re.compile(r"(.+)_t0_0\.(pgm|png)")


def read_daimler(root: AnyPath) -> list[Source]:
    """The set in a folder, or those in the folders below it.

    Raises
    ------
    FileError
        No such folder, or no set in it.
    """
    folder = require_folder(root, _KIND)
    sources = [
        Source(name, partial(_read_set, path, name, suffix))
        for path, name, suffix in first_pictures(folder)
        if not (path / f"{name}_t0_2.{suffix}").exists()  # more than two views: another kind of set
    ]
    return require_sources(sources, root, _KIND, "picture NAME_t0_0.pgm")


def first_pictures(folder: Path) -> list[tuple[Path, str, str]]:
    """Folder, name and suffix of every set in a folder or just below it."""
    files = [file for pattern in ("*_t0_0.*", "*/*_t0_0.*") for file in folder.glob(pattern)]
    matches = [(file.parent, FIRST.fullmatch(file.name)) for file in files]
    return sorted((parent, match[1], match[2]) for parent, match in matches if match)


def _read_set(folder: Path, name: str, suffix: str) -> Sample:
    paths = [folder / f"{name}_t{t}_{view}.{suffix}" for t in (0, 1) for view in (0, 1)]
    pictures = tuple(read_image(path) for path in paths)
    height, width = pictures[0].shape[:2]
    depth, u, v, w = (read_table(folder, key) for key in "Zuvw")
    require_size(pictures[0].shape, paths[0], *pictures[1:], depth, u, v, w)
    disparity = (FOCAL * BASELINE / depth).astype(np.float32)
    optical = np.stack([u, v], axis=-1)
    stereo, after = from_disparity(disparity), disparity + w
    loop = optical + from_disparity(after)
    frame = rectified_frame((width, height), FOCAL, ((width - 1) / 2, (height - 1) / 2), BASELINE)
    visible = {
        "stereo": visible_of(stereo, disparity),
        "optical": visible_of(optical, after),
        "loop": visible_of(loop, after),
    }
    return Sample(name, pictures, (frame, frame), stereo, optical, loop, depth, visible=visible)


def read_table(folder: Path, key: str) -> Field:
    """(H, W) numbers of one of the tables of ground truth."""
    path = folder / "GroundTruth" / key / f"{key}_0000.txt"
    text = read_bytes(path, "table of numbers", limit=2**28)
    try:
        rows = [np.array(line.split(), dtype=np.float32) for line in text.splitlines() if line.strip()]
        return np.stack(rows)
    except ValueError as error:
        raise FileError(f"'{path}' is not a table of numbers; fetch the set again") from error
