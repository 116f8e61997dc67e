"""What is known of a lens before anything is measured: from a file, from the video's notes, or a guess."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from wideflow.calibration.problem import Lenses
from wideflow.errors import FileError, InputError
from wideflow.geometry import K_from_corner_origin, K_to_corner_origin
from wideflow.types import Camera
from wideflow.video.container import open_container, video_stream
from wideflow.video.read import Video

_GUESS = 0.85  # focal length over the longer side: a phone's main lens, cropped a little
_FILM_DIAGONAL = 43.2666  # mm, of the 36 x 24 mm that "35 mm equivalent" speaks of
_FOCAL_KEY = re.compile(r"focal.*35|35.*focal", re.IGNORECASE)


def fitted_camera(camera: Camera, size: tuple[int, int], name: str, owner: str) -> Camera:
    """A camera for pictures of another size with the same shape.

    Parameters
    ----------
    camera : Camera
        As known.
    size : (width, height)
        Of the pictures.
    name : str
        What to call it.
    owner : str
        Whose pictures, for the message.

    Raises
    ------
    InputError
        The shapes differ: which part of the picture was cut cannot be known.
    """
    scale = np.array(size) / camera.size
    if abs(scale[0] / scale[1] - 1) > 0.01:
        raise InputError(
            f"the intrinsics are for pictures of {camera.width} x {camera.height}, but '{owner}' has "
            f"{size[0]} x {size[1]}; give those of a picture of the same shape"
        )
    K = K_to_corner_origin(camera.K)
    K[:2] *= scale[:, None]
    return Camera(name, size[0], size[1], K_from_corner_origin(K), camera.distortion)


def first_lenses(
    videos: tuple[Video, Video], intrinsics: tuple[Camera | None, Camera | None]
) -> tuple[Lenses, tuple[str, str]]:
    """Both lenses as far as they are known, and where from: "given", "metadata" or "self-calibrated"."""
    rows, sources = [], []
    for video, camera, name in zip(videos, intrinsics, "ab", strict=True):
        if camera is not None:
            fitted = fitted_camera(camera, video.size, name, str(video.path))
            if fitted.K[0, 1] != 0:
                raise InputError(
                    f"the intrinsics of camera {name} have skew, which COLMAP does not know; set it to 0"
                )
            K = fitted.K
            rows.append([K[0, 0], K[1, 1], K[0, 2], K[1, 2], *fitted.distortion])
            sources.append("given")
            continue
        noted = noted_focal_length(video)
        focal = _GUESS * max(video.size) if noted is None else noted
        centre = [0.5 * (side - 1) for side in video.size]
        rows.append([focal, focal, *centre, 0.0, 0.0, 0.0, 0.0])
        sources.append("self-calibrated" if noted is None else "metadata")
    lenses = Lenses(
        np.array([video.size for video in videos], np.int64),
        np.array(rows),
        np.array([source == "given" for source in sources]),
        np.array([source != "self-calibrated" for source in sources]),
    )
    return lenses, (sources[0], sources[1])


def noted_focal_length(video: Video) -> float | None:
    """Focal length in pixels from what the phone noted in the file, None if it noted nothing."""
    if video.path.is_dir():
        return None
    with suppress(FileError), open_container(video.path) as container:
        for notes in (container.metadata, video_stream(container, video.path).metadata):
            focal = focal_in_notes(notes)
            if focal is not None:
                return focal / _FILM_DIAGONAL * float(np.hypot(*video.size))
    return None


def focal_in_notes(notes: Mapping[str, str]) -> float | None:
    """The focal length in mm of 35 mm film that a container's metadata names."""
    for key, value in notes.items():
        number = re.search(r"[0-9]+(\.[0-9]+)?", value)
        if _FOCAL_KEY.search(key) and number and 5 <= float(number[0]) <= 1000:
            return float(number[0])
    return None


def camera_from_parameters(name: str, size: tuple[int, int], parameters: np.ndarray) -> Camera:
    """The camera of a row of `Lenses.parameters`."""
    fx, fy, cx, cy = parameters[:4]
    return Camera(name, *size, np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1.0]]), parameters[4:])
