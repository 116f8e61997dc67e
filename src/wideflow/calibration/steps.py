"""Steps that are kept on disk: what a run that was ended has done, the next one does not do again."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files.disk import atomic_path
from wideflow.video.read import Video

Arrays = dict[str, NDArray[Any]]


class Steps:
    """A folder with one file of arrays for every step done; nothing is kept without a folder.

    Parameters
    ----------
    folder : path or None
        Created if need be.
    key : str
        Of everything that the results depend on: another key finds nothing.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, key: str) -> None:
        self._folder = None if folder is None else Path(folder) / key
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                reason = (error.strerror or "unknown error").lower()
                raise FileError(
                    f"cannot create the folder '{self._folder}': {reason}; choose another place"
                ) from error

    def step(self, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """The arrays of a step, from disk if it was done before."""
        if self._folder is None:
            return compute()
        path = self._folder / f"{name}.npz"
        try:
            with np.load(path) as file:
                return dict(file)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            pass  # not there, or damaged: it is done anew
        arrays = compute()
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        return arrays


def video_state(videos: tuple[Video, Video]) -> list[Any]:
    """What a fingerprint tells two states of the videos' files apart by, without reading them whole."""
    state: list[Any] = []
    for video in videos:
        for path in sorted(video.path.iterdir()) if video.path.is_dir() else [video.path]:
            status = path.stat()
            state.append([str(path.resolve()), status.st_size, status.st_mtime_ns])
        state.append(video.times)
    return state
