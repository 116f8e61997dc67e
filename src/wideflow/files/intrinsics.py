"""Intrinsics of one camera: the camera object of ``rig.json``, an OpenCV calibration (YAML, XML, JSON), or
one of the cameras of an EasyMocap or Pose2Sim calibration."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files.calibrated_set import chosen_lens
from wideflow.files.cameras import camera_from_fields, camera_to_fields, checked_camera
from wideflow.files.disk import AnyPath, read_bytes, write_bytes
from wideflow.files.easymocap import camera_names, lenses_of_easymocap
from wideflow.files.json_fields import read_json
from wideflow.files.pose2sim import read_pose2sim
from wideflow.files.yaml_fields import yaml_matrix, yaml_texts
from wideflow.types import Camera

_KIND = "camera calibration"
_MAX_CALIBRATION_BYTES = 2**20

# OpenCV fixes no names: these are those of its own samples and of ROS, without case and underscores.
_MATRIX = ("cameramatrix", "k", "intrinsicmatrix")
_DISTORTION = ("distortioncoefficients", "distcoeffs", "distortion", "d")
_WIDTH = ("imagewidth", "width")
_HEIGHT = ("imageheight", "height")
_READOUT = ("readout",)
_LENS_MODELS = ("plumb_bob", "rational_polynomial")  # ROS's names of OpenCV's polynomial lens model


def read_intrinsics(path: AnyPath) -> Camera:
    """Read the intrinsics of one camera.

    Parameters
    ----------
    path : path
        Either our JSON camera object (``name``, ``width``, ``height``, ``K``, ``distortion``), or an OpenCV
        calibration: YAML, XML or JSON with the camera matrix, the distortion coefficients and the image
        size. OpenCV's pixel centres are at integers as well. Only k1, k2, p1, p2 may differ from zero. Any
        of them may have ``readout``, the seconds of a rolling shutter. Or EasyMocap's ``intri.yml`` or
        Pose2Sim's ``.toml``; which of its cameras is told by a colon and its name after the path.

    Returns
    -------
    Camera
        Named as the file says; one of OpenCV is named after the file.

    Raises
    ------
    FileError
        Not such a file, or a field (named) is missing or impossible.
    """
    path, name = _file_and_camera(path)
    if Path(path).suffix.lower() == ".toml":
        return chosen_lens(path, read_pose2sim(path), name)
    data = read_bytes(path, _KIND, limit=_MAX_CALIBRATION_BYTES)
    try:
        text = data.decode("utf-8-sig").lstrip()
    except UnicodeDecodeError as error:
        raise FileError(f"'{path}' is not text, so no {_KIND}; check the path") from error
    if text.startswith("{"):
        fields = read_json(path, _KIND)
        return camera_from_fields(fields) if fields.has_list("K") else _from_texts(path, fields.texts())
    if text.startswith("<"):
        return _from_texts(path, _xml_texts(path, text))
    texts = yaml_texts(text)
    if camera_names(texts):
        return chosen_lens(path, lenses_of_easymocap(path, texts), name)
    return _from_texts(path, texts)


def _file_and_camera(path: AnyPath) -> tuple[AnyPath, str | None]:
    """The path of a file, and the name that follows it after a colon."""
    file, colon, name = os.fspath(path).rpartition(":")
    return (file, name) if colon and os.path.isfile(file) else (path, None)


def _xml_texts(path: AnyPath, text: str) -> dict[str, str]:
    """Text of every field, and of its parts as "field.part"."""
    try:
        if "<!" in text:  # no calibration declares entities, which could blow up
            raise ValueError("it has declarations")
        root = ElementTree.fromstring(text.encode())
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise FileError(f"'{path}' is not valid XML ({error}); it should be a {_KIND}") from error
    texts = {}
    for field in root:
        texts[field.tag] = field.text or ""
        texts |= {f"{field.tag}.{part.tag}": part.text or "" for part in field}
    return texts


def _from_texts(path: AnyPath, texts: dict[str, str]) -> Camera:
    values = {name.replace("_", "").lower(): text for name, text in texts.items()}
    lens_model = values.get("distortionmodel", _LENS_MODELS[0]).strip("'\" ")
    # A fish-eye calibration has the same fields, but its four coefficients mean something else.
    if values.get("fisheyemodel", "0").strip() != "0" or lens_model not in _LENS_MODELS:
        raise FileError(f"'{path}' is for another lens model; calibrate with OpenCV's k1, k2, p1, p2")
    matrix = _numbers(path, values, _MATRIX, "camera_matrix")
    if matrix.size != 9:
        raise FileError(f"'{path}': camera_matrix has {matrix.size} numbers instead of 3 x 3; correct it")
    distortion = _numbers(path, values, _DISTORTION, "distortion_coefficients")
    if distortion.size < 4:
        raise FileError(
            f"'{path}': distortion_coefficients has {distortion.size} numbers instead of 4; correct it"
        )
    if distortion[4:].any():
        raise FileError(
            f"'{path}' uses distortion beyond k1, k2, p1, p2; calibrate again with OpenCV's CALIB_FIX_K3"
        )
    size = _integer(path, values, _WIDTH, "image_width"), _integer(path, values, _HEIGHT, "image_height")
    readout = _numbers(path, values, _READOUT, "readout") if "readout" in values else np.zeros(1)
    if readout.size != 1:
        raise FileError(f"'{path}': readout must be one number, the seconds from the first row to the last")
    return checked_camera(
        path, Path(path).stem, size, matrix.reshape(3, 3), distortion[:4], float(readout[0])
    )


def _find(path: AnyPath, values: dict[str, str], names: tuple[str, ...], field: str) -> str:
    for name in names:
        for key in (f"{name}.data", name):
            if key in values:
                return values[key]
    raise FileError(f"'{path}' lacks the field {field}; add it to the {_KIND}")


def _numbers(
    path: AnyPath, values: dict[str, str], names: tuple[str, ...], field: str
) -> NDArray[np.float64]:
    """A matrix as a flat array, (N,); a dash alone starts an item of a YAML list."""
    words = re.sub(r"[\[\],]", " ", _find(path, values, names, field)).split()
    try:
        return np.array([float(word) for word in words if word != "-"])
    except ValueError as error:
        raise FileError(f"'{path}': {field} must be a matrix of numbers; correct it in the file") from error


def _integer(path: AnyPath, values: dict[str, str], names: tuple[str, ...], field: str) -> int:
    text = _find(path, values, names, field).strip()
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise FileError(f"'{path}': {field} must be a whole number; correct it in the file")
    return int(text)


def write_intrinsics(path: AnyPath, camera: Camera) -> None:
    """Write a camera as our JSON object (``.json``) or as an OpenCV calibration (``.yml``, ``.yaml``).

    Both read back bit for bit, but an OpenCV calibration has no place for the camera's name.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        text = json.dumps(camera_to_fields(camera), indent=1)
    elif suffix in (".yml", ".yaml"):
        text = "\n".join(
            [
                "%YAML:1.0",
                "---",
                f"image_width: {camera.width}",
                f"image_height: {camera.height}",
                *yaml_matrix("camera_matrix", camera.K),
                *yaml_matrix("distortion_coefficients", camera.distortion[None]),
                *([f"readout: {float(camera.readout)!r}"] if camera.readout else []),
            ]
        )
    else:
        raise FileError(f"cannot write '{path}': intrinsics go into .json, .yml or .yaml; rename it")
    write_bytes(path, (text + "\n").encode("ascii"))
