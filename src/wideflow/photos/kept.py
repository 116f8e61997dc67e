"""Planes that are found already: kept with a stamp of all that they depend on, so that a job can go on."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path

import numpy as np

from wideflow.evidence.glimpse import Floats
from wideflow.files.disk import write_bytes

_IN_MEMORY = 24  # pictures whose planes are at hand


class KeptPlanes:
    """A folder of planes by the names of pictures."""

    def __init__(self, folder: Path, suffix: str) -> None:
        self._folder, self._suffix = folder, suffix
        self.planes = lru_cache(maxsize=_IN_MEMORY)(self._planes)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.{self._suffix}.npz"

    def has(self, name: str, stamp: str) -> bool:
        """Whether planes are there that were made from the same."""
        try:
            with np.load(self._path(name), allow_pickle=False) as file:
                return str(file["stamp"]) == stamp and file["planes"].ndim == 3
        except Exception:  # whatever is wrong with it, it is made again
            return False

    def _planes(self, name: str) -> Floats:
        with np.load(self._path(name), allow_pickle=False) as file:
            return np.asarray(file["planes"], np.float32)

    def inverse(self, name: str) -> Floats:
        """(H, W) inverse depth."""
        return np.ascontiguousarray(self.planes(name)[..., 0])

    def put(self, name: str, stamp: str, planes: Floats) -> None:
        """Keep the planes (H, W, 3) of a picture."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        np.savez(buffer, stamp=np.array(stamp), planes=planes)
        write_bytes(path, buffer.getvalue())
