"""The ``handheld`` layout: pictures of two cameras over time with exact ground truth.

A folder holds ``cam{c}_{t:04d}.png`` (or ``a.mp4`` and ``b.mp4``), ``cameras.json`` = [camera][time] of K, R,
t with x_cam = R X + t, and ``gt{c}_{t:04d}.npz``, the fields of `wideflow.types.Truth`. A folder of videos
may have ``truth.json`` instead of ``cameras.json``: cameras [camera][own frame], and ``offset_seconds`` by
which B started later than A.

Cameras and truth belong to the moments of A's frames, in both cameras: ``gt1_{t}`` describes B at the time of
A's frame t. They belong to ideal pinhole pictures; the distortion of the lenses is in ``rig.json``. With a
rolling shutter, cameras have ``readout``, the seconds from the first row to the last, and ``time``, that of
the middle row in seconds, and ``rows``, [R t] of the first row and of the last; truth is that of every row at
its own time.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files import read_image
from wideflow.files.disk import AnyPath, read_bytes
from wideflow.files.json_fields import Fields
from wideflow.geometry import TruthFlows, truth_flows
from wideflow.handheld.truth import read_truth, truth_size
from wideflow.types import Camera, Rig, RigFrame, Truth, View


@dataclass(frozen=True, eq=False)
class HandheldScene:
    """A folder of the layout; pictures and truth are read when asked for.

    Attributes
    ----------
    path : Path
    rig : Rig
        Ideal cameras at the moments of the truth. The last moment may be one that only motion leads to.
    """

    path: Path
    rig: Rig

    def times(self, camera: int) -> list[int]:
        """Frame numbers that have ground truth for this camera."""
        found = (re.fullmatch(rf"gt{camera}_(\d+)\.npz", file.name) for file in self.path.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def image(self, camera: int, time: int) -> NDArray[np.float32]:
        """Picture ``time`` of a camera, (H, W, 3) RGB in 0..1."""
        return read_image(self.path / f"cam{camera}_{time:04d}.png")

    def truth(self, camera: int, time: int) -> Truth:
        """Ground truth of a camera at the moment of A's frame ``time``."""
        truth = read_truth(self.path / f"gt{camera}_{time:04d}.npz")
        size = self.rig.cameras[camera].size
        if truth.depth.shape != size[::-1]:
            raise FileError(
                f"'{self.path}/gt{camera}_{time:04d}.npz' is not of the camera's size {size[0]} x {size[1]}; "
                "render the scene anew"
            )
        return truth

    def flows(self, camera: int, time: int) -> TruthFlows:
        """True flows from a camera's picture ``time`` to the other pictures of the time step."""
        return truth_flows(self.truth(camera, time), self.rig.frame(time), self.rig.frame(time + 1), camera)


def read_handheld(path: AnyPath) -> HandheldScene:
    """Open a folder of the layout.

    Raises
    ------
    FileError
        No such folder, no cameras in it, or a file of it is damaged.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileError(f"'{path}' is not a folder; give one that 'wideflow synth' wrote")
    if (folder / "cameras.json").exists():
        source, poses = folder / "cameras.json", _load_json(folder / "cameras.json")
        shift = 0
    elif (folder / "truth.json").exists():
        source = folder / "truth.json"
        top = Fields(_load_json(source), "", source)
        if not top.has_list("cameras"):
            raise FileError(f"'{source}' lacks the list cameras; render the scene anew")
        poses = _load_json(source)["cameras"]
        frames = float(top.numbers("offset_seconds")) * float(top.numbers("fps"))
        shift = round(frames)
        if abs(frames - shift) > 1e-3:
            raise FileError(f"'{source}': B started within a frame of A, so cameras.json is needed as well")
    else:
        raise FileError(
            f"'{path}' holds neither cameras.json nor truth.json; give a folder of 'wideflow synth'"
        )
    return HandheldScene(folder, _rig(folder, source, poses, shift))


def _load_json(path: Path) -> Any:
    data = read_bytes(path, "JSON file", limit=2**28)
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"'{path}' is not valid JSON; render the scene anew") from error


def _rig(folder: Path, source: Path, poses: Any, shift: int) -> Rig:
    """Rig of lists [camera][time]; the frame t of A is simultaneous with t - shift of B."""
    if not (isinstance(poses, list) and len(poses) == 2 and all(isinstance(p, list) and p for p in poses)):
        raise FileError(f"'{source}' must list the poses of two cameras; render the scene anew")
    entries = [[Fields(entry, f"[{c}][{t}].", source) for t, entry in enumerate(poses[c])] for c in (0, 1)]
    cameras = []
    for c in (0, 1):
        K = entries[c][0].numbers("K", 3, 3)
        if any(not np.array_equal(entry.numbers("K", 3, 3), K) for entry in entries[c]):
            raise FileError(f"'{source}': K of camera {c} changes over time; only fixed lenses are supported")
        readout = float(entries[c][0].numbers("readout")) if entries[c][0].has("readout") else 0.0
        size = _picture_size(folder, c)
        cameras.append(_checked(source, Camera, "ab"[c], *size, K, np.zeros(4), readout))
    frames = []
    for t in range(len(poses[0])):
        if 0 <= t - shift < len(poses[1]):
            views = [
                _checked(
                    source,
                    View,
                    cameras[c],
                    np.column_stack([entry.numbers("R", 3, 3), entry.numbers("t", 3)]),
                )
                for c, entry in enumerate((entries[0][t], entries[1][t - shift]))
            ]
            both = entries[0][t], entries[1][t - shift]
            times = (float(t), float(t - shift))
            if all(entry.has("time") for entry in both):
                times = float(both[0].numbers("time")), float(both[1].numbers("time"))
            rows = None
            if all(entry.has("rows") for entry in both):
                rows = np.stack([entry.numbers("rows", 2, 3, 4) for entry in both])
            frames.append(RigFrame(t, times, (views[0], views[1]), rows))
    return _checked(source, Rig, (cameras[0], cameras[1]), tuple(frames))


def _checked(source: Path, make: Any, *values: Any) -> Any:
    """An object of the rig; what is impossible about it is the file's fault."""
    try:
        return make(*values)
    except InputError as error:
        raise FileError(f"'{source}': {error}") from error


def _picture_size(folder: Path, camera: int) -> tuple[int, int]:
    """Width and height, from the first truth or picture of the camera, or of the other one."""
    for c in (camera, 1 - camera):
        for file in sorted(folder.glob(f"gt{c}_*.npz")):
            return truth_size(file)
        for file in sorted(folder.glob(f"cam{c}_*.png")):
            height, width = read_image(file).shape[:2]
            return width, height
    raise FileError(f"'{folder}' holds neither pictures nor ground truth; render the scene anew")
