"""Two rendered videos with their truth: where both cameras were at each of their pictures, and what A saw.

``truth.json`` lists ``cameras`` [camera][own frame] of K, R, t, the pictures per second (``fps``, and
``fps_b`` if B has another rate), ``offset_seconds`` by which B started later, and the lenses: ``distortion``
and ``sizes`` of each camera, or one ``k1`` and one ``size`` for both; ``readout`` of each camera where a
shutter rolls. ``gt0_{t}.npz`` belongs to A's frame t:
its ideal picture, that of a pinhole with the same K. Truth of some frames is enough.
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
from wideflow.files.disk import AnyPath, read_bytes
from wideflow.files.json_fields import Fields
from wideflow.handheld.truth import read_truth
from wideflow.types import Camera, Truth, View


@dataclass(frozen=True, eq=False)
class Clip:
    """A pair of videos and where their cameras truly were.

    Attributes
    ----------
    path : Path
        Folder with ``a.mp4``, ``b.mp4`` and the truth.
    views : (list of View, list of View)
        Lens and pose of each camera at each of its own pictures.
    rates : (float, float)
        Pictures per second of A and of B.
    offset : float
        Seconds by which B started later.
    """

    path: Path
    views: tuple[list[View], list[View]]
    rates: tuple[float, float]
    offset: float

    @property
    def name(self) -> str:
        return self.path.resolve().name

    def partner(self, frame: int, offset: float) -> int:
        """B's frame that an offset makes the partner of A's ``frame``; it may not exist."""
        return round((frame / self.rates[0] - offset) * self.rates[1])

    def times(self) -> list[int]:
        """A's frames that have truth, rising."""
        found = (re.fullmatch(r"gt0_(\d+)\.npz", file.name) for file in self.path.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def truth(self, time: int) -> Truth:
        """What A saw in its frame ``time``."""
        file = self.path / f"gt0_{time:04d}.npz"
        truth = read_truth(file)
        if time >= len(self.views[0]):
            raise FileError(f"'{file}' is of a frame that truth.json does not have; render the clip anew")
        size = self.views[0][time].camera.size
        if truth.depth.shape != size[::-1]:
            raise FileError(f"'{file}' is not of the size {size[0]} x {size[1]} of A; render the clip anew")
        return truth


def is_clip(path: Path) -> bool:
    """Whether a folder holds videos with truth."""
    return (path / "truth.json").is_file() and (path / "a.mp4").is_file()


def find_clips(root: AnyPath) -> list[Clip]:
    """The clip that ``root`` is, or all those in it, by name.

    Raises
    ------
    FileError
        There is none, or one is damaged.
    """
    folder = Path(root)
    if is_clip(folder):
        return [read_clip(folder)]
    found = sorted(path for path in folder.iterdir() if is_clip(path)) if folder.is_dir() else []
    if not found:
        raise FileError(
            f"'{root}' holds no clips with truth; give a folder of 'wideflow synth --suite video'"
        )
    return [read_clip(path) for path in found]


def read_clip(path: AnyPath) -> Clip:
    """Read where the cameras of a clip were.

    Raises
    ------
    FileError
        ``truth.json`` is missing or damaged.
    """
    folder = Path(path)
    source = folder / "truth.json"
    try:
        content = json.loads(read_bytes(source, "JSON file", limit=2**28).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"'{source}' is not valid JSON; render the clip anew") from error
    top = Fields(content, "", source)
    if not top.has_list("cameras") or len(content["cameras"]) != 2:
        raise FileError(f"'{source}' must list the cameras A and B; render the clip anew")
    rate = float(top.numbers("fps"))
    rates = rate, float(top.numbers("fps_b")) if "fps_b" in content else rate
    views = [_views(source, content, top, camera) for camera in (0, 1)]
    return Clip(folder, (views[0], views[1]), rates, float(top.numbers("offset_seconds")))


def _views(source: Path, content: dict[str, Any], top: Fields, camera: int) -> list[View]:
    size, distortion = _lens(content, top, camera)
    readout = float(top.numbers("readout", 2)[camera]) if "readout" in content else 0.0
    poses = content["cameras"][camera]
    if not (isinstance(poses, list) and poses):
        raise FileError(f"'{source}' has no poses of camera {'AB'[camera]}; render the clip anew")
    views = []
    for t, pose in enumerate(poses):
        entry = Fields(pose, f"cameras[{camera}][{t}].", source)
        try:
            lens = Camera("ab"[camera], *size, entry.numbers("K", 3, 3), distortion, readout)
            views.append(View(lens, np.column_stack([entry.numbers("R", 3, 3), entry.numbers("t", 3)])))
        except InputError as error:
            raise FileError(f"'{source}': {error}") from error
    return views


def _lens(content: dict[str, Any], top: Fields, camera: int) -> tuple[tuple[int, int], NDArray[np.float64]]:
    """Width and height, and k1, k2, p1, p2."""
    if "sizes" in content:
        width, height = top.numbers("sizes", 2, 2)[camera]
    else:
        width, height = top.numbers("size", 2)
    if "distortion" in content:
        return (int(width), int(height)), top.numbers("distortion", 2, 4)[camera]
    return (int(width), int(height)), np.array([float(top.numbers("k1")), 0, 0, 0])
