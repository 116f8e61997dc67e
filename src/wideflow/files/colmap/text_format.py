"""COLMAP's text format: ``cameras.txt``, ``images.txt``, ``points3D.txt``.

Lines that start with # are comments. Floats are written with all their digits, so they read back bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files.colmap.model import (
    PARAMETER_COUNTS,
    PIXEL_SHIFT,
    ColmapImage,
    ColmapPoints,
    camera_from_parameters,
    checked_pose,
    parameters_from_camera,
    unknown_model,
)
from wideflow.files.disk import AnyPath, read_bytes
from wideflow.types import Camera


def _lines(path: AnyPath) -> Iterator[tuple[int, str]]:
    """Line number and text of every line that is no comment."""
    data = read_bytes(path, "COLMAP text file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"'{path}' is not a COLMAP text file; check the file's format") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.startswith("#"):
            yield number, line.strip()


def _damaged(path: AnyPath, number: int, wanted: str) -> FileError:
    return FileError(f"'{path}', line {number}: expected {wanted}; export the model from COLMAP again")


def read_cameras(path: AnyPath) -> dict[int, Camera]:
    """Cameras by id from ``cameras.txt``: id, model, width, height, parameters."""
    cameras = {}
    for number, line in _lines(path):
        if not line:
            continue
        words = line.split()
        try:
            camera_id, model, width, height = int(words[0]), words[1], int(words[2]), int(words[3])
            parameters = np.array([float(word) for word in words[4:]])
        except (ValueError, IndexError) as error:
            raise _damaged(path, number, "id, model, width, height and parameters of a camera") from error
        if model not in PARAMETER_COUNTS:
            raise unknown_model(path, camera_id, model)
        cameras[camera_id] = camera_from_parameters(path, camera_id, model, (width, height), parameters)
    return cameras


def read_images(path: AnyPath) -> dict[int, ColmapImage]:
    """Images by id from ``images.txt``: two lines each, the pose and the image points (may be empty)."""
    images = {}
    lines = _lines(path)
    for number, line in lines:
        if not line:
            continue
        words = line.split(maxsplit=9)
        try:
            image_id, camera_id, name = int(words[0]), int(words[8]), words[9]
            pose = np.array([float(word) for word in words[1:8]])
        except (ValueError, IndexError) as error:
            raise _damaged(path, number, "id, pose, camera and name of an image") from error
        checked_pose(path, name, pose)
        second = next(lines, None)
        if second is None:
            raise _damaged(path, number, "one more line, with the image points")
        xy, point_ids = _image_points(path, second[0], second[1].split())
        images[image_id] = ColmapImage(name, camera_id, pose[:4], pose[4:], xy, point_ids)
    return images


def _image_points(
    path: AnyPath, number: int, words: list[str]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    try:
        point_ids = np.array([int(word) for word in words[2::3]], dtype=np.int64)
        xy = np.array([words[0::3], words[1::3]], dtype=np.float64).T - PIXEL_SHIFT
        if len(xy) != len(point_ids) or not np.isfinite(xy).all():
            raise ValueError("not whole, finite triples")
    except (ValueError, OverflowError) as error:
        raise _damaged(path, number, "x, y and point id of each image point") from error
    return xy, point_ids


def read_points(path: AnyPath) -> ColmapPoints:
    """Points from ``points3D.txt``: id, x, y, z, r, g, b, error, then pairs of image id and point number."""
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        return ColmapPoints()  # COLMAP's own recipe for known poses asks for an empty file
    ids, xyz, rgb, errors, tracks = [], [], [], [], []
    for number, line in _lines(path):
        if not line:
            continue
        words = line.split()
        try:
            ids.append(np.int64(int(words[0])))
            xyz.append([float(word) for word in words[1:4]])
            rgb.append([int(word) for word in words[4:7]])
            errors.append(float(words[7]))
            tracks.append(np.array([int(word) for word in words[8:]], dtype=np.int64).reshape(-1, 2))
            if not np.isfinite(xyz[-1]).all() or min(rgb[-1]) < 0 or max(rgb[-1]) > 255:
                raise ValueError("not finite, or not a colour")
        except (ValueError, IndexError, OverflowError) as error:
            raise _damaged(path, number, "id, position, colour, error and track of a point") from error
    return ColmapPoints(
        np.array(ids, dtype=np.int64),
        np.array(xyz, dtype=np.float64).reshape(-1, 3),
        np.array(rgb, dtype=np.uint8).reshape(-1, 3),
        np.array(errors, dtype=np.float64),
        tuple(tracks),
    )


def _join(values: Iterable[object]) -> str:
    return " ".join(map(str, values))


def encode_cameras(cameras: dict[int, Camera]) -> bytes:
    lines = ["# CAMERA_ID MODEL WIDTH HEIGHT PARAMS[]"]
    for camera_id, camera in cameras.items():
        model, parameters = parameters_from_camera(camera)
        lines.append(f"{camera_id} {model} {camera.width} {camera.height} {_join(parameters.tolist())}")
    return _encode(lines)


def encode_images(images: dict[int, ColmapImage]) -> bytes:
    lines = ["# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME", "# X Y POINT3D_ID of each image point"]
    for image_id, image in images.items():
        pose = _join([*image.quaternion.tolist(), *image.translation.tolist()])
        lines.append(f"{image_id} {pose} {image.camera_id} {image.name}")
        xy = (image.xy + PIXEL_SHIFT).tolist()
        lines.append(_join(f"{x} {y} {i}" for (x, y), i in zip(xy, image.point_ids.tolist(), strict=True)))
    return _encode(lines)


def encode_points(points: ColmapPoints) -> bytes:
    lines = ["# POINT3D_ID X Y Z R G B ERROR TRACK[] as IMAGE_ID POINT2D_IDX"]
    columns = (points.ids, points.xyz, points.rgb, points.error)
    rows = zip(*(column.tolist() for column in columns), points.tracks, strict=True)
    for point_id, xyz, rgb, error, track in rows:
        lines.append(_join([point_id, *xyz, *rgb, error, *track.ravel().tolist()]))
    return _encode(lines)


def _encode(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("utf-8")
