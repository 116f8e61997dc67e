"""Pictures: RGB float32 in 0..1 inside, files of 8 or 16 bits outside."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files.decode import BMP_MAGIC, JPEG_MAGIC, PNG_MAGIC, TIFF_MAGICS, check_size, cut_short, decode
from wideflow.files.disk import AnyPath, read_bytes, write_bytes
from wideflow.types import Array

_PNM_MAGICS = (b"P2", b"P3", b"P5", b"P6")
_MAGICS = (PNG_MAGIC, JPEG_MAGIC, *TIFF_MAGICS, BMP_MAGIC, *_PNM_MAGICS)
_GAP = rb"(?:\s|#[^\n]*\n)+"
_PNM_HEADER = re.compile(rb"P[2356]" + 3 * (_GAP + rb"(\d{1,9})") + rb"\s")
_PNM_HEADER_BYTES = 4096

_SUFFIXES_8 = (".png", ".tif", ".tiff", ".pgm", ".ppm", ".bmp", ".jpg", ".jpeg")
_SUFFIXES_16 = (".png", ".tif", ".tiff", ".pgm", ".ppm")
_JPEG_QUALITY = 95


def read_image(path: AnyPath) -> NDArray[np.float32]:
    """Read a PNG, JPEG, TIFF, BMP, PGM or PPM picture of up to 16 bits.

    Grey becomes RGB, transparency is dropped, the orientation that a phone noted in the file (EXIF) is
    applied. A PGM or PPM is scaled by the maximum in its header, so 12 bits in 16 come out right.

    Returns
    -------
    (H, W, 3) float32
        RGB in 0..1.

    Raises
    ------
    FileError
        Missing, damaged, too large (over 2^28 pixels), or of another format.
    """
    import cv2

    data = read_bytes(path, "PNG, JPEG, TIFF, BMP, PGM or PPM picture", _MAGICS)
    if data.startswith(_PNM_MAGICS):
        return _decode_pnm(path, data)
    pixels = decode(path, data, cv2.IMREAD_COLOR | cv2.IMREAD_ANYDEPTH)
    if pixels.dtype not in (np.uint8, np.uint16):
        raise FileError(f"'{path}' has {pixels.dtype} samples; convert it to 8 or 16 bits")
    return _unit(pixels[:, :, ::-1], np.iinfo(pixels.dtype).max)


def _unit(pixels: Array, maximum: int) -> NDArray[np.float32]:
    return np.divide(pixels, np.float32(maximum), order="C", dtype=np.float32)


def _decode_pnm(path: AnyPath, data: bytes) -> NDArray[np.float32]:
    """OpenCV would drop the maximum, so these are read here."""
    header = _PNM_HEADER.match(data[:_PNM_HEADER_BYTES])
    if header is None:
        raise FileError(f"'{path}' has a damaged PGM or PPM header; fetch or export it again")
    width, height, maximum = map(int, header.groups())
    check_size(path, width, height, len(data))
    if not 0 < maximum < 2**16:
        raise FileError(f"'{path}' gives {maximum} as its maximum instead of 1 to 65535; correct its header")
    channels = 3 if data[1:2] in b"36" else 1
    count = width * height * channels
    if data[1:2] in b"56":
        dtype = np.dtype(np.uint8 if maximum < 256 else ">u2")
        if len(data) - header.end() < count * dtype.itemsize:
            raise cut_short(path)
        samples: Array = np.frombuffer(data, dtype, count, header.end())
    else:
        if len(data) - header.end() < 2 * count - 1:  # a digit and a blank each
            raise cut_short(path)
        try:
            samples = np.array(data[header.end() :].split(maxsplit=count)[:count], dtype=np.uint32)
        except (ValueError, OverflowError) as error:
            raise cut_short(path) from error
        if samples.size < count:
            raise cut_short(path)
    if samples.max() > maximum:
        raise FileError(f"'{path}' holds samples above the maximum {maximum} of its header; it is damaged")
    return _unit(np.broadcast_to(samples.reshape(height, width, channels), (height, width, 3)), maximum)


def write_image(path: AnyPath, image: Array, bits: int = 8) -> None:
    """Write a picture in the format of the path's suffix: PNG, TIFF, PGM, PPM, BMP or JPEG (quality 95).

    Parameters
    ----------
    path : path
        Its suffix chooses the format.
    image : (H, W) or (H, W, 3)
        Grey or RGB. Floats in 0..1 (clipped to that, rounded to ``bits``); uint8 and uint16 are written as
        they are; bool becomes black and white.
    bits : 8 or 16
        Depth in which floats are stored; a picture read by `read_image` is reproduced exactly by its own
        depth. JPEG and BMP have 8 only.

    Raises
    ------
    FileError
        A suffix that cannot hold the picture, or the file cannot be written.
    InputError
        An array of another shape or type, without pixels, or with NaN.
    """
    import cv2

    pixels = _stored(image, bits)
    suffix = Path(path).suffix.lower()
    allowed = _SUFFIXES_8 if pixels.dtype == np.uint8 else _SUFFIXES_16
    wrong = {2: ".ppm", 3: ".pgm"}[pixels.ndim]
    if suffix not in allowed or suffix == wrong:
        options = ", ".join(known for known in allowed if known != wrong)
        raise FileError(f"cannot write '{path}': such a picture goes into one of {options}; rename it")
    bgr = pixels if pixels.ndim == 2 else pixels[:, :, ::-1]
    options_of_format = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY] if suffix in (".jpg", ".jpeg") else []
    try:
        _, encoded = cv2.imencode(suffix, np.ascontiguousarray(bgr), options_of_format)
    except cv2.error as error:
        raise FileError(f"cannot write '{path}': {suffix} cannot hold {pixels.shape}; use .png") from error
    write_bytes(path, encoded)


def _stored(image: Array, bits: int) -> NDArray[np.uint8] | NDArray[np.uint16]:
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3) or image.size == 0:
        raise InputError(f"a picture to write must have shape (H, W) or (H, W, 3), not {image.shape}")
    if bits not in (8, 16):
        raise InputError(f"a picture is written with 8 or 16 bits, not {bits}")
    if image.dtype in (np.uint8, np.uint16):
        return image
    if image.dtype == np.bool_:
        return image.astype(np.uint8) * np.uint8(255)
    if not np.issubdtype(image.dtype, np.floating):
        raise InputError(f"a picture to write must be float, uint8, uint16 or bool, not {image.dtype}")
    if np.isnan(image).any():
        raise InputError("a picture to write holds NaN; fill or mask it first")
    maximum = 2**bits - 1
    scaled = np.rint(np.clip(image, 0, 1) * maximum)
    return scaled.astype(np.uint8) if bits == 8 else scaled.astype(np.uint16)
