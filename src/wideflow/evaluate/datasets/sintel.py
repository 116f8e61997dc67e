"""The MPI Sintel layout: pictures of two passes with true flow, occlusions and invalid pixels.

A folder per scene holds ``clean/`` and ``final/`` with ``frame_NNNN.png``, and ``gt/`` with
``frame_NNNN.flo``, ``occlusions/frame_NNNN.png`` and ``invalid/frame_NNNN.png``, white where true.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.evaluate.datasets.sample import Sample, Source, require_folder, require_size
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


@dataclass(frozen=True)
class SintelFile:
    """Where a frame lies: its scene's folder, the pass, its number, and the file with its true flow."""

    scene: Path
    render: str
    number: int
    flow: Path

    @property
    def name(self) -> str:
        return f"{self.scene.resolve().name} {self.render} {self.number}"


def sintel_samples(root: AnyPath) -> list[Source]:
    """Every pair of frames with true flow, in both passes.

    Raises
    ------
    FileError
        No scene there.
    """
    return [Source(file.name, partial(_read_pair, file)) for file in find_frames(root)]


def find_frames(root: AnyPath) -> list[SintelFile]:
    """Every frame with true flow, not yet read."""
    folder = require_folder(root, "scenes of MPI Sintel")
    scenes = [path for path in (folder, *sorted(folder.iterdir())) if (path / "gt").is_dir()]
    if not scenes:
        raise FileError(f"'{root}' holds no scene with a folder gt; give one with scenes of MPI Sintel")
    return [
        SintelFile(scene, render, int(match[1]), file)
        for scene in scenes
        for file in sorted((scene / "gt").glob("frame_*.flo"))
        if (match := re.fullmatch(r"frame_(\d+)", file.stem))
        for render in PASSES
        if (scene / render).is_dir()
    ]


def read_frame(file: SintelFile) -> SintelFrame:
    """One frame with its masks."""
    flow = read_flow(file.flow)
    name = f"{file.flow.stem}.png"
    picture = read_image(file.scene / file.render / name)
    masks = [read_image(file.scene / "gt" / kind / name) for kind in ("occlusions", "invalid")]
    for array in (picture, *masks):
        if array.shape[:2] != flow.shape[:2]:
            raise FileError(
                f"'{file.flow}' is of another size than its picture or masks; fetch the scene again"
            )
    occluded, invalid = (mask[..., 0] > 0.5 for mask in masks)
    scene = file.scene.resolve().name
    return SintelFrame(scene, file.render, file.number, picture, flow, occluded, invalid)


def _read_pair(file: SintelFile) -> Sample:
    frame = read_frame(file)
    path = file.scene / file.render / f"frame_{file.number + 1:04d}.png"
    second = read_image(path)
    require_size(frame.picture.shape, path, second)
    truth = np.where(frame.invalid[..., None], np.float32(np.nan), frame.flow)
    pictures = frame.picture, second
    return Sample(file.name, pictures, optical=truth, visible={"optical": ~frame.occluded})
