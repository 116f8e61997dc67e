"""Pose2Sim's ``Calib.toml``: a table for each camera with name, size, matrix, distortions, rotation (axis
times angle), translation and fisheye; pixel centres at integers, poses from world to camera."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files.calibrated_set import StandingCamera, four_coefficients
from wideflow.files.cameras import checked_camera
from wideflow.files.disk import AnyPath, read_bytes, write_bytes
from wideflow.files.json_fields import Fields

_KIND = "Pose2Sim calibration"
_MAX_BYTES = 2**24
_NO_CAMERAS = ("metadata", "capture_volume", "charuco", "checkerboard")  # other tables of such files


def read_pose2sim(path: AnyPath) -> list[StandingCamera]:
    """The cameras of a ``Calib.toml``, in the file's order.

    Raises
    ------
    FileError
        The file cannot be read, or a field (named) is missing or impossible.
    """
    data = read_bytes(path, _KIND, limit=_MAX_BYTES)
    try:
        tables = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FileError(f"'{path}' is not valid TOML ({reason}); it should be a {_KIND}") from error
    cameras = [
        _camera(path, name, table)
        for name, table in tables.items()
        if name not in _NO_CAMERAS and isinstance(table, dict)
    ]
    if not cameras:
        raise FileError(f"'{path}' has no table of a camera; it should be a {_KIND}")
    return cameras


def _camera(path: AnyPath, key: str, table: dict[str, Any]) -> StandingCamera:
    fields = Fields(table, f"{key}.", path)
    if table.get("fisheye"):
        raise FileError(f"'{path}' is for another lens model; calibrate with OpenCV's k1, k2, p1, p2")
    size = fields.numbers("size", 2)
    if (size % 1).any() or (size < 1).any() or (size >= 2**31).any():
        raise FileError(f"'{path}': {key}.size must be a width and a height in pixels; correct it")
    rotation, translation = (_pose_part(fields, table, name) for name in ("rotation", "translation"))
    values = table.get("distortions")
    count = len(values) if isinstance(values, list) else 4
    camera = checked_camera(
        path,
        table["name"] if isinstance(table.get("name"), str) else key,
        (int(size[0]), int(size[1])),
        fields.numbers("matrix", 3, 3),
        four_coefficients(path, f"{key}.distortions", fields.numbers("distortions", count)),
    )
    return StandingCamera(camera, rotation, translation)


def _pose_part(fields: Fields, table: dict[str, Any], name: str) -> NDArray[np.float64]:
    values = table.get(name)
    if isinstance(values, list) and values and isinstance(values[0], list) and len(values[0]) == 3:
        raise FileError(
            f"'{fields.path}': {fields.where}.{name} is of a camera that moves; give one pose, or a rig.json"
        )
    return fields.numbers(name, 3)


def write_pose2sim(path: AnyPath, cameras: list[StandingCamera]) -> None:
    """Write a ``Calib.toml``; numbers read back bit for bit."""
    lines = []
    for found in cameras:
        camera = found.camera
        if found.rotation is None or found.translation is None:
            raise FileError(f"cannot write '{path}': camera '{camera.name}' has no pose")
        lines += [
            f"[{camera.name}]",
            f"name = {json.dumps(camera.name)}",
            f"size = [{float(camera.width)}, {float(camera.height)}]",
            f"matrix = {camera.K.tolist()}",
            f"distortions = {camera.distortion.tolist()}",
            f"rotation = {found.rotation.tolist()}",
            f"translation = {found.translation.tolist()}",
            "fisheye = false",
            "",
        ]
    lines += ["[metadata]", "adjusted = false", "error = 0.0", ""]
    write_bytes(path, "\n".join(lines).encode())
