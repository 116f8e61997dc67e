"""EasyMocap's calibration: ``intri.yml`` and ``extri.yml``, OpenCV's YAML with a list of names.

For each name N there are ``K_N``, ``dist_N``, ``H_N``, ``W_N`` in the first, ``R_N`` (axis times angle),
``Rot_N`` (the matrix) and ``T_N`` in the second; pixel centres at integers, poses from world to camera.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files.calibrated_set import StandingCamera, four_coefficients
from wideflow.files.cameras import checked_camera
from wideflow.files.disk import AnyPath, read_bytes, write_bytes
from wideflow.files.yaml_fields import yaml_matrix, yaml_texts

_KIND = "EasyMocap calibration"
_MAX_BYTES = 2**22
INTRINSICS, EXTRINSICS = "intri.yml", "extri.yml"


def read_easymocap(folder: AnyPath) -> list[StandingCamera]:
    """The cameras of a folder with ``intri.yml`` and, for their poses, ``extri.yml``, in the file's order.

    Raises
    ------
    FileError
        A file cannot be read, or a field (named) is missing or impossible.
    """
    lenses = Path(folder) / INTRINSICS
    poses = Path(folder) / EXTRINSICS
    inside = _texts(lenses)
    outside = _texts(poses) if os.path.exists(poses) else None
    return [_camera(name, lenses, inside, poses, outside) for name in camera_names(inside)]


def lenses_of_easymocap(path: AnyPath, texts: dict[str, str]) -> list[StandingCamera]:
    """The cameras, without poses, of the fields of an ``intri.yml``."""
    return [_camera(name, Path(path), texts, Path(path), None) for name in camera_names(texts)]


def camera_names(texts: dict[str, str]) -> list[str]:
    """What the list ``names`` holds."""
    found = re.findall(r'"([^"]*)"|([^\s\[\],"]+)', texts.get("names", ""))
    return [quoted or plain for quoted, plain in found if plain != "-"]


def _texts(path: Path) -> dict[str, str]:
    data = read_bytes(path, _KIND, limit=_MAX_BYTES)
    try:
        texts = yaml_texts(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FileError(f"'{path}' is not text, so no {_KIND}; check the path") from error
    if not camera_names(texts):
        raise FileError(f"'{path}' lacks the list of names; it should be an {_KIND}")
    return texts


def _camera(
    name: str, lenses: Path, inside: dict[str, str], poses: Path, outside: dict[str, str] | None
) -> StandingCamera:
    size = []
    for field in ("W", "H"):
        text = inside.get(f"{field}_{name}")
        if text is None:
            raise FileError(
                f"'{lenses}' does not tell the size of the pictures of camera '{name}'; add the lines "
                f"'H_{name}: HEIGHT' and 'W_{name}: WIDTH'"
            )
        number = _numbers(lenses, inside, f"{field}_{name}", 1)[0]
        if not (number.is_integer() and 1 <= number < 2**31):
            raise FileError(f"'{lenses}': {field}_{name} must be a whole number; correct it in the file")
        size.append(int(number))
    coefficients = f"dist_{name}" if f"dist_{name}.data" in inside else f"D_{name}"
    distortion = four_coefficients(lenses, coefficients, _numbers(lenses, inside, coefficients))
    K = _numbers(lenses, inside, f"K_{name}", 9).reshape(3, 3)
    camera = checked_camera(lenses, name, (size[0], size[1]), K, distortion)
    if outside is None:
        return StandingCamera(camera, None, None)
    rotation, translation = (_numbers(poses, outside, f"{field}_{name}", 3) for field in ("R", "T"))
    return StandingCamera(camera, rotation, translation)


def _numbers(path: Path, texts: dict[str, str], field: str, count: int | None = None) -> NDArray[np.float64]:
    text = texts.get(f"{field}.data", texts.get(field))
    if text is None:
        raise FileError(f"'{path}' lacks the field {field}; add it to the {_KIND}")
    try:
        found = np.array([float(word) for word in re.sub(r"[\[\],]", " ", text).split()])
    except ValueError as error:
        raise FileError(f"'{path}': {field} must be a matrix of numbers; correct it in the file") from error
    if count is not None and found.size != count:
        raise FileError(f"'{path}': {field} has {found.size} numbers instead of {count}; correct it")
    return found


def write_easymocap(folder: AnyPath, cameras: list[StandingCamera]) -> None:
    """Write ``intri.yml`` and ``extri.yml`` into a folder that exists; numbers read back bit for bit."""
    import cv2

    names = ["names:", *(f'   - "{found.camera.name}"' for found in cameras)]
    inside, outside = ["%YAML:1.0", "---", *names], ["%YAML:1.0", "---", *names]
    for found in cameras:
        camera, name = found.camera, found.camera.name
        inside += yaml_matrix(f"K_{name}", camera.K)
        inside += yaml_matrix(f"dist_{name}", np.append(camera.distortion, 0.0)[None])  # k1, k2, p1, p2, k3
        inside += [f"H_{name}: {camera.height}", f"W_{name}: {camera.width}"]
        if found.rotation is not None and found.translation is not None:
            outside += yaml_matrix(f"R_{name}", found.rotation.reshape(3, 1))
            outside += yaml_matrix(f"Rot_{name}", cv2.Rodrigues(found.rotation.reshape(3, 1))[0])
            outside += yaml_matrix(f"T_{name}", found.translation.reshape(3, 1))
    write_bytes(Path(folder) / INTRINSICS, ("\n".join(inside) + "\n").encode())
    write_bytes(Path(folder) / EXTRINSICS, ("\n".join(outside) + "\n").encode())
