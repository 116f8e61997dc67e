"""COLMAP's binary format: ``cameras.bin``, ``images.bin``, ``points3D.bin``; little endian throughout."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from wideflow.errors import FileError
from wideflow.files.colmap.model import (
    MODEL_NAMES,
    MODEL_NUMBERS,
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
from wideflow.types import Array, Camera

# COLMAP marks an image point without a 3D point by the largest uint64, which is -1 here.
_IMAGE_POINT = np.dtype([("xy", "<f8", 2), ("point_id", "<i8")])
_SIGHTING = np.dtype("<u4")
_COUNT = struct.Struct("<Q")
_CAMERA = struct.Struct("<IiQQ")  # id, model, width, height
_IMAGE = struct.Struct("<I7dI")  # id, quaternion and translation, camera id
_POINT = struct.Struct("<q3d3Bd")  # id, position, colour, error


class _Cursor:
    """Reads a file from front to back and never past its end."""

    def __init__(self, path: AnyPath) -> None:
        self.path = path
        self._data = read_bytes(path, "COLMAP binary file")
        self._at = 0

    def _damaged(self) -> FileError:
        return FileError(f"'{self.path}' is cut short or damaged; export the model from COLMAP again")

    def _advance(self, size: int) -> int:
        start = self._at
        if size > len(self._data) - start:
            raise self._damaged()
        self._at += size
        return start

    def unpack(self, record: struct.Struct) -> tuple[Any, ...]:
        return record.unpack_from(self._data, self._advance(record.size))

    def count(self, smallest: int) -> int:
        """A count of records of at least ``smallest`` bytes, which must fit into the rest of the file."""
        (count,) = self.unpack(_COUNT)
        if count * smallest > len(self._data) - self._at:
            raise self._damaged()
        return int(count)

    def array(self, dtype: np.dtype[Any], count: int) -> Array:
        start = self._advance(count * dtype.itemsize)
        return np.frombuffer(self._data, dtype, count, start)

    def text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise self._damaged()
        try:
            text = self._data[self._at : end].decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._damaged() from error
        self._at = end + 1
        return text

    def finish(self) -> None:
        if self._at != len(self._data):
            raise self._damaged()


def read_cameras(path: AnyPath) -> dict[int, Camera]:
    """Cameras by id from ``cameras.bin``."""
    cursor = _Cursor(path)
    cameras = {}
    for _ in range(cursor.count(_CAMERA.size)):
        camera_id, number, width, height = cursor.unpack(_CAMERA)
        if number not in MODEL_NAMES:
            raise unknown_model(path, camera_id, f"number {number}")
        model = MODEL_NAMES[number]
        parameters = cursor.array(np.dtype("<f8"), PARAMETER_COUNTS[model])
        cameras[camera_id] = camera_from_parameters(path, camera_id, model, (width, height), parameters)
    cursor.finish()
    return cameras


def read_images(path: AnyPath) -> dict[int, ColmapImage]:
    """Images by id from ``images.bin``."""
    cursor = _Cursor(path)
    images = {}
    for _ in range(cursor.count(_IMAGE.size + 1 + _COUNT.size)):
        image_id, *numbers, camera_id = cursor.unpack(_IMAGE)
        name = cursor.text()
        pose = np.array(numbers)
        checked_pose(path, name, pose)
        points = cursor.array(_IMAGE_POINT, cursor.count(_IMAGE_POINT.itemsize))
        if not np.isfinite(points["xy"]).all():
            raise FileError(f"'{path}': an image point of '{name}' is not finite; export the model again")
        xy = points["xy"] - PIXEL_SHIFT
        images[image_id] = ColmapImage(
            name, camera_id, pose[:4], pose[4:], xy, points["point_id"].astype(np.int64)
        )
    cursor.finish()
    return images


def read_points(path: AnyPath) -> ColmapPoints:
    """Points from ``points3D.bin``."""
    cursor = _Cursor(path)
    count = cursor.count(_POINT.size + _COUNT.size)
    ids = np.empty(count, np.int64)
    xyz = np.empty((count, 3))
    rgb = np.empty((count, 3), np.uint8)
    error = np.empty(count)
    tracks = []
    for i in range(count):
        ids[i], *numbers, error[i] = cursor.unpack(_POINT)
        xyz[i], rgb[i] = numbers[:3], numbers[3:]
        sightings = cursor.array(_SIGHTING, 2 * cursor.count(2 * _SIGHTING.itemsize))
        tracks.append(sightings.astype(np.int64).reshape(-1, 2))
    cursor.finish()
    if not np.isfinite(xyz).all():
        raise FileError(f"'{path}' holds a point that is not finite; export the model from COLMAP again")
    return ColmapPoints(ids, xyz, rgb, error, tuple(tracks))


def encode_cameras(cameras: dict[int, Camera]) -> bytes:
    chunks = [_COUNT.pack(len(cameras))]
    for camera_id, camera in cameras.items():
        model, parameters = parameters_from_camera(camera)
        chunks.append(_CAMERA.pack(camera_id, MODEL_NUMBERS[model], camera.width, camera.height))
        chunks.append(parameters.astype("<f8").tobytes())
    return b"".join(chunks)


def encode_images(images: dict[int, ColmapImage]) -> bytes:
    chunks = [_COUNT.pack(len(images))]
    for image_id, image in images.items():
        chunks.append(_IMAGE.pack(image_id, *image.quaternion, *image.translation, image.camera_id))
        chunks.append(image.name.encode("utf-8") + b"\0" + _COUNT.pack(len(image.xy)))
        points = np.empty(len(image.xy), _IMAGE_POINT)
        points["xy"] = image.xy + PIXEL_SHIFT
        points["point_id"] = image.point_ids
        chunks.append(points.tobytes())
    return b"".join(chunks)


def encode_points(points: ColmapPoints) -> bytes:
    chunks = [_COUNT.pack(len(points.ids))]
    columns = (points.ids, points.xyz, points.rgb, points.error)
    rows = zip(*(column.tolist() for column in columns), points.tracks, strict=True)
    for point_id, xyz, rgb, error, track in rows:
        chunks.append(_POINT.pack(point_id, *xyz, *rgb, error))
        chunks.append(_COUNT.pack(len(track)) + track.astype(_SIGHTING).tobytes())
    return b"".join(chunks)
