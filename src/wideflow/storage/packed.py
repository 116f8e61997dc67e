"""Arrays as one file that is read back as it was written, or refused: no damage gets as far as a decoder.

The file is a line that names the format, 16 bytes of BLAKE2b over all that follows, the length of a list of
the arrays (4 bytes, little endian), that list as JSON, and the arrays: the first bytes of all values, then
the second and so on, which zstd makes small.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError

Arrays = dict[str, NDArray[Any]]
_MAGIC = b"wideflow arrays 2\n"
_BODY = len(_MAGIC) + 16
_KINDS = "biufU"  # of dtypes: nothing that runs code when it is read
_DTYPE = re.compile(rf"[<>|][{_KINDS}]\d{{1,4}}")
_MAX_BYTES = 2**32  # of one array
_CHANNELS = 16  # of numbers that OpenCV takes together
_LEVEL = 1  # of zstd: 3 makes them a thirtieth smaller, in twice the time


def pack(arrays: Arrays) -> bytes:
    """Arrays as the content of a file."""
    from numcodecs.zstd import Zstd

    heads, bodies = [], []
    for name, array in arrays.items():
        if array.dtype.kind not in _KINDS:
            raise TypeError(f"{name} is of {array.dtype}, which is not kept")
        plain = np.ascontiguousarray(array).reshape(-1)
        body = bytes(Zstd(_LEVEL).encode(_shuffled(plain))) if plain.nbytes else b""
        heads.append([name, array.dtype.str, array.shape, len(body)])
        bodies.append(body)
    head = json.dumps(heads).encode()
    rest = b"".join([len(head).to_bytes(4, "little"), head, *bodies])
    return _MAGIC + digest(rest) + rest


def is_whole(data: bytes) -> bool:
    """Whether this is what `pack` gave, every bit of it."""
    return data.startswith(_MAGIC) and digest(data[_BODY:]) == data[len(_MAGIC) : _BODY]


def digest(content: bytes) -> bytes:
    """16 bytes (BLAKE2b) that change with any bit of the content."""
    return hashlib.blake2b(content, digest_size=16).digest()


def unpack(data: bytes, name: str) -> Arrays:
    """The arrays of `pack`; ``name`` is for the message.

    Raises
    ------
    FileError
        Any bit is not as it was written.
    """
    if not data.startswith(_MAGIC):
        raise FileError(f"'{name}' does not hold arrays of this version; it is computed again")
    if not is_whole(data):
        raise FileError(f"'{name}' is damaged; it is computed again")
    try:
        return _unpacked(data[_BODY:])
    except (ValueError, TypeError, RuntimeError, KeyError, MemoryError, RecursionError) as error:
        # only what was made to deceive has the right checksum and comes here
        raise FileError(f"'{name}' is damaged; it is computed again") from error


def _unpacked(rest: bytes) -> Arrays:
    from numcodecs.zstd import Zstd

    arrays: Arrays = {}
    start = 4 + int.from_bytes(rest[:4], "little")
    for name, kind, shape, size in json.loads(rest[4:start]):
        if not _DTYPE.fullmatch(str(kind)):  # NumPy would take much else for one, Python's syntax among it
            raise ValueError(name)
        dtype = np.dtype(str(kind))
        bytes_in_all = math.prod(shape) * dtype.itemsize
        if dtype.kind not in _KINDS or not 0 <= bytes_in_all <= _MAX_BYTES or min(shape, default=0) < 0:
            raise ValueError(name)
        plain = np.zeros(bytes_in_all, np.uint8)  # a frame that was made to deceive may be shorter
        if bytes_in_all:
            Zstd().decode(rest[start : start + size], plain)
            plain = _together(plain.reshape(dtype.itemsize, -1))
        arrays[str(name)] = plain.view(dtype).reshape(shape)
        start += size
    return arrays


def _together(parts: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Values from their first bytes, their second and so on."""
    if len(parts) > _CHANNELS:  # of texts
        return parts.T.copy().reshape(-1)
    # OpenCV takes a tenth of NumPy's time
    return np.asarray(cv2.merge([part[None] for part in parts]), np.uint8).reshape(-1)


def _shuffled(plain: NDArray[Any]) -> NDArray[np.uint8]:
    values = plain.view(np.uint8).reshape(-1, plain.dtype.itemsize)
    if values.shape[1] > _CHANNELS:
        return np.ascontiguousarray(values.T)
    parts = np.empty(values.shape[::-1], np.uint8)
    cv2.split(values[None], [part[None] for part in parts])
    return parts
