"""What a method has found of a clip, at the pixels of its truth: of a ``result.zarr``, or of plain files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.evaluate.sampling import depth_at, nearest, same_pixels
from wideflow.evaluate.video.cameras import score_cameras
from wideflow.files.rig import rig_from_bytes
from wideflow.handheld.clip import Clip
from wideflow.handheld.truth import read_arrays
from wideflow.storage.result import Result
from wideflow.storage.schema import ARRAYS, OPTIONAL

Array = NDArray[Any]
_MORE = ("confidence", "confidence_5", "moving", "source")  # arrays (H, W) that a result may have


@dataclass(frozen=True, eq=False)
class Found:
    """One moment of a result, at the pixels of the truth; None of what the method does not tell.

    Attributes
    ----------
    depth : (H, W)
        z in camera A in the result's own unit; NaN where nothing was found.
    motion : (H, W, 3), optional
        To A's next frame, along the axes of camera A at this moment, in the same unit.
    confidence, confidence_5 : (H, W), optional
        Chance of the depth to be within 1 % and within 5 %.
    moving : (H, W), optional
        Chance that the world moved there.
    source : (H, W) of whole numbers, optional
        Where the depth comes from.
    """

    depth: Array
    motion: Array | None = None
    confidence: Array | None = None
    confidence_5: Array | None = None
    moving: Array | None = None
    source: Array | None = None


class Answer(Protocol):
    """All moments that a method has found of one clip."""

    @property
    def frames(self) -> list[int]:
        """A's frames that were worked on, rising."""
        ...

    def read(self, frame: int) -> Found:
        """What was found of one of them."""
        ...

    def cameras(self) -> dict[str, float]:
        """Errors of the cameras that it found, columns of the table; none if it does not tell them."""
        ...


class OfResult:
    """A folder of `wideflow run`: ``result.zarr``, ``rig.json``, ``filmed.json``."""

    def __init__(self, clip: Clip, folder: Path) -> None:
        self._clip, self._result = clip, Result(folder)
        rig = self._result.rig
        self._moments = {rig.frames[t].index: t for t in self._result.whole_moments if t < len(rig.frames)}
        self._lens, self._filmed = rig.cameras[0], None
        if self._result.place.exists("filmed.json"):
            self._filmed = rig_from_bytes(self._result.place.read("filmed.json"), f"{folder}/filmed.json")
            self._lens = self._filmed.cameras[0]

    @property
    def frames(self) -> list[int]:
        return sorted(self._moments)

    def read(self, frame: int) -> Found:
        result, t = self._result, self._moments[frame]
        where = same_pixels(self._clip.views[0][frame].camera, self._lens, result.rig.cameras[0])
        more = {name: nearest(self._told(name, t), where) for name in _MORE if self._has(name)}
        return Found(depth_at(result.depth(t), where), self._motion(frame, where), **more)

    def cameras(self) -> dict[str, float]:
        sync = self._result.summary.get("sync")
        if self._filmed is None or sync is None:
            return {}
        found = score_cameras(self._filmed, self._clip, sync)
        if not found["frames"]:
            return {}
        worst = float(np.abs(found["focal"]).max())
        return {"rotation": found["rotation"], "direction": found["direction"], "focal": worst}

    def _motion(self, frame: int, where: Array) -> Array | None:
        """Only where the next moment is the next frame: the truth has no other motion."""
        t = self._moments[frame]
        if self._moments.get(frame + 1) != t + 1:
            return None
        return nearest(self._result.motion(t), where) @ self._result.frame(t).views[0].R.T

    def _told(self, name: str, t: int) -> Array:
        """Where depth comes from after steadying, as the depth that is scored; the rest is the moment's."""
        return self._result.source(t) if name == "source" else self._result.array(name, t)

    def _has(self, name: str) -> bool:
        known = name in ARRAYS or name in OPTIONAL
        return known and self._result.place.exists(f"result.zarr/{name}/zarr.json")


class OfFiles:
    """A folder of ``found0_{t:04d}.npz``, one for each of A's frames: arrays named as in `Found`.

    They belong to the ideal picture of the truth.
    """

    def __init__(self, clip: Clip, folder: Path) -> None:
        self._clip = clip
        matches = (re.fullmatch(r"found0_(\d+)\.npz", file.name) for file in folder.iterdir())
        self._files = {int(match[1]): folder / match[0] for match in matches if match}

    @property
    def frames(self) -> list[int]:
        return sorted(self._files)

    def read(self, frame: int) -> Found:
        path = self._files[frame]
        found = read_arrays(path, ("depth",), ("motion", *_MORE))
        width, height = self._clip.views[0][0].camera.size
        for name, array in found.items():
            wanted = (height, width, 3) if name == "motion" else (height, width)
            if array.shape != wanted:
                raise FileError(f"'{path}': {name} has the shape {array.shape}, not {wanted}; write it anew")
        return Found(**found)

    def cameras(self) -> dict[str, float]:
        return {}


class Nothing:
    """A method that has failed on a clip: it was asked for these frames and knows nothing of any."""

    def __init__(self, clip: Clip, frames: list[int]) -> None:
        self.frames = frames
        self._size = clip.views[0][0].camera.size

    def read(self, frame: int) -> Found:
        return Found(np.full(self._size[::-1], np.nan))

    def cameras(self) -> dict[str, float]:
        return {}


def open_answer(clip: Clip, results: Path, alone: bool) -> Answer:
    """What lies in a folder of results: of the one clip that there is, or in a folder named after the clip.

    Raises
    ------
    FileError
        Neither a ``result.zarr`` nor ``found0_*.npz`` is there.
    """
    named = results / clip.name
    folder = results if alone and not named.is_dir() else named
    if (folder / "result.zarr").is_dir():
        return OfResult(clip, folder)
    if folder.is_dir() and any(folder.glob("found0_*.npz")):
        return OfFiles(clip, folder)
    raise FileError(
        f"'{folder}' holds neither result.zarr nor found0_*.npz; give what was found of the clip {clip.name}"
    )
