"""The MPI Sintel layout: pictures of two passes with true flow, occlusions and invalid pixels.

A folder per scene holds ``clean/`` and ``final/`` with ``frame_NNNN.png``, and ``gt/`` with
``frame_NNNN.flo``, ``occlusions/frame_NNNN.png`` and ``invalid/frame_NNNN.png``, white where true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files import read_flow, read_image
from wideflow.files.disk import AnyPath

PASSES = ("clean", "final")


@dataclass(frozen=True, eq=False)
class SintelFrame:
    """One picture with true flow.

    Attributes
    ----------
    scene : str
    render : "clean" or "final"
    number : int
    picture : (H, W, 3) float32
        RGB in 0..1.
    flow : (H, W, 2) float32
        True flow to the next frame, px.
    occluded, invalid : (H, W) bool
        Not seen in the next frame; without trustworthy truth.
    """

    scene: str
    render: str
    number: int
    picture: NDArray[np.float32]
    flow: NDArray[np.float32]
    occluded: NDArray[np.bool_]
    invalid: NDArray[np.bool_]


def read_sintel(root: AnyPath) -> Iterator[SintelFrame]:
    """Every frame with true flow below a folder of scenes, or of one scene, in both passes.

    Raises
    ------
    FileError
        No scene there, or a file that is missing, damaged or of another size.
    """
    folder = Path(root)
    if not folder.is_dir():
        raise FileError(f"'{root}' is not a folder; give one with scenes of MPI Sintel")
    scenes = [path for path in (folder, *sorted(folder.iterdir())) if (path / "gt").is_dir()]
    if not scenes:
        raise FileError(f"'{root}' holds no scene with a folder gt; give one with scenes of MPI Sintel")
    for scene in scenes:
        for file in sorted((scene / "gt").glob("frame_*.flo")):
            if match := re.fullmatch(r"frame_(\d+)", file.stem):
                for render in PASSES:
                    if (scene / render).is_dir():
                        yield _read_frame(scene, render, int(match[1]), file)


def _read_frame(scene: Path, render: str, number: int, file: Path) -> SintelFrame:
    flow = read_flow(file)
    name = f"{file.stem}.png"
    picture = read_image(scene / render / name)
    masks = [read_image(scene / "gt" / kind / name) for kind in ("occlusions", "invalid")]
    for array in (picture, *masks):
        if array.shape[:2] != flow.shape[:2]:
            raise FileError(f"'{file}' is of another size than its picture or masks; fetch the scene again")
    occluded, invalid = (mask[..., 0] > 0.5 for mask in masks)
    return SintelFrame(scene.resolve().name, render, number, picture, flow, occluded, invalid)
