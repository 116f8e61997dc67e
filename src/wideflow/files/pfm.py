"""PFM: one or three channels of float32, rows from the bottom up."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files.decode import check_size
from wideflow.files.disk import AnyPath, read_bytes, write_bytes
from wideflow.types import Array

_HEADER = re.compile(rb"(PF|Pf)\s+(\d{1,9})\s+(\d{1,9})\s+([-+]?[0-9.]{1,20}(?:[eE][-+]?\d{1,3})?)\s")
_HEADER_BYTES = 256


def read_pfm(path: AnyPath) -> NDArray[np.float32]:
    """Read a PFM file of either byte order.

    Its scale is used for the byte order alone, as other readers do; the values come as they are stored.

    Returns
    -------
    (H, W) or (H, W, 3) float32
        First row on top. NaN and infinity are kept.

    Raises
    ------
    FileError
        Missing, damaged, or of another format.
    """
    data = read_bytes(path, "PFM file", (b"PF", b"Pf"))
    header = _HEADER.match(data[:_HEADER_BYTES])
    try:
        scale = float(header[4]) if header else 0.0
    except ValueError:
        scale = 0.0
    if header is None or scale == 0:
        raise FileError(f"'{path}' has a damaged PFM header; fetch or export it again")
    width, height = int(header[2]), int(header[3])
    check_size(path, width, height, len(data))
    shape = (height, width, 3) if header[1] == b"PF" else (height, width)
    needed = header.end() + 4 * int(np.prod(shape))
    if len(data) != needed:
        raise FileError(
            f"'{path}' has {len(data)} bytes, but its header needs {needed}; fetch or export it again"
        )
    stored = np.frombuffer(data, "<f4" if scale < 0 else ">f4", offset=header.end())
    return stored.reshape(shape)[::-1].astype(np.float32, order="C")


def write_pfm(path: AnyPath, values: Array) -> None:
    """Write (H, W) or (H, W, 3) floats as PFM, little endian; float32 reads back bit for bit.

    Raises
    ------
    FileError
        The file cannot be written.
    InputError
        An array of another shape, or without values.
    """
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[2] != 3) or values.size == 0:
        raise InputError(f"a PFM file holds (H, W) or (H, W, 3) values, not {values.shape}")
    kind = "Pf" if values.ndim == 2 else "PF"
    header = f"{kind}\n{values.shape[1]} {values.shape[0]}\n-1.0\n"
    write_bytes(path, header.encode("ascii"), values[::-1].astype("<f4"))
