"""Optical flow files: Middlebury ``.flo`` and KITTI PNG; KITTI disparity PNG."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files.decode import PNG_MAGIC, check_size, decode
from wideflow.files.disk import AnyPath, read_bytes, write_bytes
from wideflow.types import Array

_FLO_MAGIC = b"PIEH"  # the float32 202021.25
_FLO_HEADER_BYTES = 12
_UNKNOWN_ABOVE = 1e9  # Middlebury's sign of an unknown flow
_UNKNOWN = 1e10

_KITTI_ZERO = 2**15
_KITTI_FLOW_SCALE = 64
_KITTI_DISPARITY_SCALE = 256
_GREY, _RGB = 0, 2  # colour types of a PNG


def read_flow(path: AnyPath) -> NDArray[np.float32]:
    """Read a flow field from Middlebury's ``.flo`` or from a KITTI ``.png``.

    Returns
    -------
    (H, W, 2) float32
        Target minus source in pixels, (x, y); NaN in both where unknown.

    Raises
    ------
    FileError
        Missing, damaged, or of another format.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".flo":
        return _read_flo(path)
    if suffix == ".png":
        return _read_kitti_flow(path)
    raise FileError(f"'{path}' is not a flow file by its name; it should end in .flo or .png")


def write_flow(path: AnyPath, uv: Array) -> None:
    """Write a flow field as Middlebury's ``.flo`` (exact) or as a KITTI ``.png``.

    A KITTI file stores 16 bits: steps of 1/64 px (the error is at most 1/128 px) in -512 .. 511.98 px.

    Parameters
    ----------
    path : path
        The suffix chooses the format.
    uv : (H, W, 2) float
        Flow in pixels, (x, y). NaN in either component makes the pixel unknown.

    Raises
    ------
    FileError
        Another suffix, or the file cannot be written.
    InputError
        Not such an array, or flow beyond what the format holds.
    """
    if uv.ndim != 3 or uv.shape[2] != 2 or uv.size == 0:
        raise InputError(f"a flow field to write must have shape (H, W, 2), not {uv.shape}")
    suffix = Path(path).suffix.lower()
    unknown: NDArray[np.bool_] = np.asarray(np.isnan(uv).any(axis=2))
    if suffix == ".flo":
        _write_flo(path, uv, unknown)
    elif suffix == ".png":
        _write_kitti_flow(path, uv, unknown)
    else:
        raise FileError(f"cannot write '{path}': flow goes into .flo or .png; rename it")


def _read_flo(path: AnyPath) -> NDArray[np.float32]:
    data = read_bytes(path, "Middlebury flow file (.flo)", (_FLO_MAGIC,))
    if len(data) < _FLO_HEADER_BYTES:
        raise FileError(f"'{path}' ends within its header; fetch or export it again")
    width, height = struct.unpack_from("<ii", data, len(_FLO_MAGIC))
    check_size(path, width, height, len(data))
    needed = _FLO_HEADER_BYTES + 8 * width * height
    if len(data) != needed:
        raise FileError(
            f"'{path}' has {len(data)} bytes, but a flow of {width} x {height} needs {needed}; "
            "fetch or export it again"
        )
    stored = np.frombuffer(data, "<f4", offset=_FLO_HEADER_BYTES).reshape(height, width, 2)
    uv = stored.astype(np.float32)
    uv[~(np.abs(uv) <= _UNKNOWN_ABOVE).all(axis=2)] = np.nan  # NaN fails the comparison too
    return uv


def _write_flo(path: AnyPath, uv: Array, unknown: NDArray[np.bool_]) -> None:
    if (np.abs(uv[~unknown]) > _UNKNOWN_ABOVE).any():
        raise InputError(f"a flow beyond 1e9 px would read as unknown in '{path}'; set it to NaN")
    height, width = uv.shape[:2]
    stored = np.where(unknown[:, :, None], np.float32(_UNKNOWN), uv.astype("<f4"))
    write_bytes(path, _FLO_MAGIC + struct.pack("<ii", width, height), stored)


def _read_png16(path: AnyPath, kind: str, colour_type: int) -> NDArray[np.uint16]:
    import cv2

    data = read_bytes(path, kind, (PNG_MAGIC,))
    if data[24:26] != bytes([16, colour_type]):
        channels = {_GREY: "one channel", _RGB: "three channels"}[colour_type]
        raise FileError(f"'{path}' is not a {kind}, which has {channels} of 16 bits; check the path")
    return decode(path, data, cv2.IMREAD_UNCHANGED)


def _write_png16(path: AnyPath, pixels: NDArray[np.uint16]) -> None:
    import cv2

    _, encoded = cv2.imencode(".png", pixels)
    write_bytes(path, encoded)


def _read_kitti_flow(path: AnyPath) -> NDArray[np.float32]:
    bgr = _read_png16(path, "KITTI flow PNG", _RGB)  # red u, green v, blue validity
    uv = (bgr[:, :, :0:-1].astype(np.float32) - np.float32(_KITTI_ZERO)) / np.float32(_KITTI_FLOW_SCALE)
    uv[bgr[:, :, 0] == 0] = np.nan
    return uv


def _write_kitti_flow(path: AnyPath, uv: Array, unknown: NDArray[np.bool_]) -> None:
    stored = np.rint(np.where(unknown[:, :, None], 0, uv) * _KITTI_FLOW_SCALE) + _KITTI_ZERO
    if stored.min() < 0 or stored.max() >= 2**16:
        raise InputError(f"a KITTI flow PNG holds -512 .. 511.98 px only; write '{path}' as .flo instead")
    stored[unknown] = 0
    validity = ~unknown
    bgr = np.dstack([validity, stored[:, :, 1], stored[:, :, 0]]).astype(np.uint16)
    _write_png16(path, bgr)


def read_disparity(path: AnyPath) -> NDArray[np.float32]:
    """Read a KITTI disparity PNG: 16 bits, 256 per pixel, 0 for unknown.

    Returns
    -------
    (H, W) float32
        Disparity in pixels; NaN where unknown.

    Raises
    ------
    FileError
        Missing, damaged, or of another format.
    """
    stored = _read_png16(path, "KITTI disparity PNG", _GREY)
    disparity = stored.astype(np.float32) / np.float32(_KITTI_DISPARITY_SCALE)
    disparity[stored == 0] = np.nan
    return disparity


def write_disparity(path: AnyPath, disparity: Array) -> None:
    """Write a KITTI disparity PNG, which stores steps of 1/256 px (the error is at most 1/512 px).

    Parameters
    ----------
    path : path
        Ends in ``.png``.
    disparity : (H, W) float
        0 to 255.99 px; NaN where unknown. Less than 1/256 px is stored as 1/256, since 0 means unknown.

    Raises
    ------
    FileError
        Another suffix, or the file cannot be written.
    InputError
        Not such an array, or a disparity out of range.
    """
    if disparity.ndim != 2 or disparity.size == 0:
        raise InputError(f"a disparity to write must have shape (H, W), not {disparity.shape}")
    if Path(path).suffix.lower() != ".png":
        raise FileError(f"cannot write '{path}': a KITTI disparity goes into .png; rename it")
    unknown = np.isnan(disparity)
    stored = np.rint(np.where(unknown, 0, disparity) * _KITTI_DISPARITY_SCALE)
    if (disparity < 0).any() or stored.max() >= 2**16:
        raise InputError(f"a KITTI disparity PNG holds 0 .. 255.99 px only; scale what goes into '{path}'")
    stored = np.maximum(stored, 1)
    stored[unknown] = 0
    _write_png16(path, stored.astype(np.uint16))
