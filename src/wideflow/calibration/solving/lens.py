"""What is known of a lens before anything is measured: from a file, from the video's notes, or a guess."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.geometry import K_from_corner_origin, K_to_corner_origin, unproject
from wideflow.types import Camera
from wideflow.video.container import open_container, video_stream
from wideflow.video.read import Video

# A phone's main lens, cropped a little: focal length over the longer side, and the standard deviation of its
# logarithm (45 to 90 degrees of view within 1.5 of it); that of a length from the file's notes
_GUESS, _SPREAD, _NOTED_SPREAD = 0.8, 0.25, 0.08
_CENTRE_SPREAD = 0.01  # of the principal point about the middle, as a share of the longer side
_K1_SPREAD = 0.06
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
    return Camera(name, size[0], size[1], K_from_corner_origin(K), camera.distortion, camera.readout)


@dataclass(frozen=True, eq=False)
class LensPrior:
    """Both lenses before anything is measured.

    Attributes
    ----------
    given : pair of Camera or None
        Lenses that are known.
    sizes : pair of (width, height)
    mean, spread : (2, 4) float64
        log focal length, cx, cy, k1 as in `Bundle`, and how far off they may be; 0: known.
    sources : (str, str)
        "given", "metadata" or "self-calibrated".
    """

    given: tuple[Camera | None, Camera | None]
    sizes: tuple[tuple[int, int], tuple[int, int]]
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    sources: tuple[str, str]

    def plain(self, camera: int, xy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Pixels as the adjustment sees them: those of a known lens without its distortion."""
        given = self.given[camera]
        if given is None:
            return np.asarray(xy, np.float64)
        return np.exp(self.mean[camera, 0]) * unproject(given, xy)[..., :2] + self.mean[camera, 1:3]

    def camera(self, camera: int, lens: NDArray[np.float64]) -> Camera:
        """The camera of a row of lens parameters; the given one if it is known."""
        given = self.given[camera]
        if given is not None:
            return given
        return plain_camera("ab"[camera], self.sizes[camera], lens)


def plain_camera(name: str, size: tuple[int, int], lens: NDArray[np.float64]) -> Camera:
    """The camera with log focal length, cx, cy and k1."""
    focal, (cx, cy) = float(np.exp(lens[0])), lens[1:3]
    K = np.array([[focal, 0, cx], [0, focal, cy], [0, 0, 1.0]])
    return Camera(name, *size, K, np.array([lens[3], 0, 0, 0]))


def first_lenses(videos: tuple[Video, Video], intrinsics: tuple[Camera | None, Camera | None]) -> LensPrior:
    """Both lenses as far as they are known, and where from."""
    means, spreads, sources = [], [], []
    cameras: list[Camera | None] = []
    for video, camera, name in zip(videos, intrinsics, "ab", strict=True):
        if camera is not None:
            fitted = fitted_camera(camera, video.size, name, str(video.path))
            K = fitted.K
            means.append([np.log(0.5 * (K[0, 0] + K[1, 1])), K[0, 2], K[1, 2], 0.0])
            spreads.append([0.0] * 4)
            sources.append("given")
            cameras.append(fitted)
            continue
        noted, side = noted_focal_length(video), max(video.size)
        focal, spread = (_GUESS * side, _SPREAD) if noted is None else (noted, _NOTED_SPREAD)
        means.append([np.log(focal), *(0.5 * (length - 1) for length in video.size), 0.0])
        spreads.append([spread, _CENTRE_SPREAD * side, _CENTRE_SPREAD * side, _K1_SPREAD])
        sources.append("self-calibrated" if noted is None else "metadata")
        cameras.append(None)
    return LensPrior(
        (cameras[0], cameras[1]),
        (videos[0].size, videos[1].size),
        np.array(means),
        np.array(spreads),
        (sources[0], sources[1]),
    )


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
