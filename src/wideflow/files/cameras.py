"""The camera object of ``rig.json`` and of intrinsics files, and what no file may claim of a camera."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files.disk import MAX_PIXELS, AnyPath
from wideflow.files.json_fields import Fields
from wideflow.types import Camera


def checked_camera(
    path: AnyPath,
    name: str,
    size: tuple[int, int],
    K: NDArray[np.float64],
    distortion: NDArray[np.float64],
    readout: float = 0.0,
) -> Camera:
    """A camera read from the file ``path``; an impossible one is an error that names the file.

    Parameters
    ----------
    path : path
        For the message.
    name : str
        What to call it.
    size : (width, height)
        In pixels.
    K : (3, 3) float64
        Pixel centres at integers.
    distortion : (4,) float64
        k1, k2, p1, p2.
    readout : float
        Seconds from the first row to the last.
    """
    width, height = size
    if width * height > MAX_PIXELS:
        raise FileError(
            f"'{path}' gives camera '{name}' {width} x {height} pixels, more than we handle; correct the size"
        )
    try:
        return Camera(name, width, height, K, distortion, readout)
    except InputError as error:
        raise FileError(f"'{path}' holds an impossible camera: {error}") from error


def camera_from_fields(fields: Fields) -> Camera:
    """The camera that a JSON object describes."""
    return checked_camera(
        fields.path,
        fields.text("name"),
        (fields.integer("width"), fields.integer("height")),
        fields.numbers("K", 3, 3),
        fields.numbers("distortion", 4),
        float(fields.numbers("readout")) if fields.has("readout") else 0.0,
    )


def camera_to_fields(camera: Camera) -> dict[str, Any]:
    """The JSON object that describes a camera; its numbers read back bit for bit."""
    fields = {
        "name": camera.name,
        "width": camera.width,
        "height": camera.height,
        "K": camera.K.tolist(),
        "distortion": camera.distortion.tolist(),
    }
    return fields | ({"readout": float(camera.readout)} if camera.readout else {})
