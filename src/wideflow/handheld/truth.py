"""One ``gt*.npz``: the ground truth of a picture."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import fields
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files import atomic_path
from wideflow.files.disk import MAX_PIXELS, AnyPath, read_bytes
from wideflow.types import Truth

_KIND = "ground-truth archive (.npz)"
_CHANNELS = {"motion": 3}


def read_truth(path: AnyPath) -> Truth:
    """Read one ``gt*.npz``; nothing is allocated before its size has been checked.

    Raises
    ------
    FileError
        Missing, damaged, a field missing or of the wrong shape.
    """
    archive = _archive(path)
    arrays = {field.name: _read_array(path, archive, field.name) for field in fields(Truth)}
    height, width = arrays["depth"].shape[:2]
    for name, array in arrays.items():
        wanted = (height, width, _CHANNELS[name]) if name in _CHANNELS else (height, width)
        if array.shape != wanted:
            raise FileError(
                f"'{path}': {name} has the shape {array.shape}, not {wanted}; render the scene anew"
            )
    return Truth(
        depth=arrays["depth"].astype(np.float32),
        motion=arrays["motion"].astype(np.float32),
        stereo_visible=arrays["stereo_visible"].astype(bool),
        optical_visible=arrays["optical_visible"].astype(bool),
        loop_visible=arrays["loop_visible"].astype(bool),
        object=arrays["object"].astype(np.int16),
    )


def read_arrays(
    path: AnyPath, wanted: tuple[str, ...], welcome: tuple[str, ...] = ()
) -> dict[str, NDArray[Any]]:
    """Pictures of numbers out of any ``.npz``: all those ``wanted``, and those ``welcome`` that it has.

    Raises
    ------
    FileError
        Missing, damaged, or one that is wanted is not there.
    """
    archive = _archive(path)
    there = set(archive.namelist())
    names = (*wanted, *(name for name in welcome if f"{name}.npy" in there))
    return {name: _read_array(path, archive, name) for name in names}


def truth_size(path: AnyPath) -> tuple[int, int]:
    """Width and height of one ``gt*.npz``."""
    height, width = _read_array(path, _archive(path), "depth").shape
    return width, height


def _archive(path: AnyPath) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(BytesIO(read_bytes(path, _KIND, (b"PK",))))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise FileError(f"'{path}' is damaged; render the scene anew") from error


def _read_array(path: AnyPath, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array of an archive, read by hand: NumPy's own reader trusts the header."""
    try:
        with archive.open(f"{name}.npy") as file:
            version = np.lib.format.read_magic(file)
            read_header = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read_header(file)
            count = int(np.prod(shape, dtype=np.float64)) if len(shape) in (2, 3) else 0
            if not 0 < count <= 3 * MAX_PIXELS or dtype.kind not in "fbiu" or fortran:
                raise FileError(f"'{path}': {name} is not a picture of numbers; render the scene anew")
            data = file.read(count * dtype.itemsize)
        return np.frombuffer(data, dtype, count).reshape(shape)
    except KeyError as error:
        raise FileError(f"'{path}' lacks the array {name}; render the scene anew") from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        ValueError,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise FileError(f"'{path}': {name} is damaged; render the scene anew") from error


def write_truth(path: AnyPath, truth: Truth) -> None:
    """Write one ``gt*.npz``; `read_truth` returns the same bits."""
    arrays = {field.name: getattr(truth, field.name) for field in fields(Truth)}
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
