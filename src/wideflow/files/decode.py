"""Size and completeness of a picture file from its header, then its pixels by OpenCV.

The header is checked before OpenCV sees the file, because OpenCV allocates what the header claims, and
prints its own messages about damaged files.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from wideflow.errors import FileError
from wideflow.files.disk import MAX_PIXELS, AnyPath
from wideflow.types import Array

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
JPEG_MAGIC = b"\xff\xd8\xff"
TIFF_MAGICS = (b"II*\0", b"MM\0*")
BMP_MAGIC = b"BM"

# One byte of deflate or LZW can stand for at most 1032 bytes, so for 8256 pixels of one bit.
_MAX_PIXELS_PER_BYTE = 10_000


def cut_short(path: AnyPath) -> FileError:
    return FileError(f"'{path}' is cut short or damaged; fetch or export it again")


def check_size(path: AnyPath, width: int, height: int, file_bytes: int) -> None:
    """Refuse a picture of no pixels, or of more than this many bytes of file can hold."""
    if width < 1 or height < 1:
        raise FileError(f"'{path}' has no pixels: its header says {width} x {height}; export it again")
    if width * height > MAX_PIXELS:
        raise FileError(f"'{path}' claims {width} x {height} pixels, more than we handle; scale it down")
    if width * height > _MAX_PIXELS_PER_BYTE * file_bytes:
        raise FileError(f"'{path}' claims {width} x {height} pixels in {file_bytes} bytes; it is damaged")


def decode(path: AnyPath, data: bytes, flags: int) -> Array:
    """Pixels of a PNG, JPEG, TIFF or BMP file whose header makes sense.

    Parameters
    ----------
    path : path
        For the message.
    data : bytes
        Contents of the file.
    flags : int
        OpenCV's, for ``cv2.imdecode``.
    """
    import cv2

    try:
        check_size(path, *_size(path, data), len(data))
    except struct.error as error:
        raise cut_short(path) from error
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except (cv2.error, MemoryError) as error:
        raise cut_short(path) from error
    if pixels is None:
        raise cut_short(path)
    return pixels


def _size(path: AnyPath, data: bytes) -> tuple[int, int]:
    if data.startswith(PNG_MAGIC):
        return _png_size(path, data)
    if data.startswith(JPEG_MAGIC):
        return _jpeg_size(path, data)
    if data.startswith(BMP_MAGIC):
        width, height = struct.unpack_from("<ii", data, 18)
        return width, abs(height)  # negative: rows from top to bottom
    return _tiff_size(path, data)


def _png_size(path: AnyPath, data: bytes) -> tuple[int, int]:
    """Walks all chunks to the end and checks their sums."""
    width, height = struct.unpack_from(">II", data, 16)
    at = len(PNG_MAGIC)
    kind = b""
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", data, at)
        (checksum,) = struct.unpack_from(">I", data, at + 8 + length)
        if zlib.crc32(memoryview(data)[at + 4 : at + 8 + length]) != checksum:
            raise cut_short(path)
        at += 12 + length
    return width, height


def _jpeg_size(path: AnyPath, data: bytes) -> tuple[int, int]:
    """Reads the frame header (SOF) and looks for the end of the image behind the start of its scan."""
    size = (0, 0)
    at = 2
    while True:
        mark, kind, length = struct.unpack_from(">BBH", data, at)
        if mark != 0xFF:
            raise cut_short(path)
        if kind == 0xFF:  # a fill byte
            at += 1
            continue
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            size = width, height
        at += 2 + length
        if kind == 0xDA:
            if data.find(b"\xff\xd9", at) < 0:
                raise cut_short(path)
            return size


def _tiff_size(path: AnyPath, data: bytes) -> tuple[int, int]:
    """Tags 256 and 257 of the first directory."""
    order = "<" if data.startswith(b"II") else ">"
    (at,) = struct.unpack_from(order + "I", data, 4)
    (count,) = struct.unpack_from(order + "H", data, at)
    found = {}
    for i in range(count):
        tag, kind = struct.unpack_from(order + "HH", data, at + 2 + 12 * i)
        if tag in (256, 257):
            (found[tag],) = struct.unpack_from(order + ("H" if kind == 3 else "I"), data, at + 10 + 12 * i)
    if len(found) != 2:
        raise cut_short(path)
    return found[256], found[257]
