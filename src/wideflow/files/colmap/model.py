"""What a COLMAP model holds, in our conventions, and the conversions from and to COLMAP's.

COLMAP puts the centre of the first pixel at 0.5, we put it at 0: principal points and image points lose
0.5 when they are read and gain it when they are written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import FileError, InputError
from wideflow.files.cameras import checked_camera
from wideflow.files.disk import AnyPath
from wideflow.types import Camera

PIXEL_SHIFT = 0.5  # COLMAP's pixel coordinate minus ours

# By COLMAP's number: the models that OpenCV's k1, k2, p1, p2 can express, with their count of parameters.
MODEL_NAMES = {0: "SIMPLE_PINHOLE", 1: "PINHOLE", 2: "SIMPLE_RADIAL", 3: "RADIAL", 4: "OPENCV"}
MODEL_NUMBERS = {name: number for number, name in MODEL_NAMES.items()}
PARAMETER_COUNTS = {"SIMPLE_PINHOLE": 3, "PINHOLE": 4, "SIMPLE_RADIAL": 4, "RADIAL": 5, "OPENCV": 8}


@dataclass(frozen=True, eq=False)
class ColmapImage:
    """A picture with its pose and the points seen in it.

    Attributes
    ----------
    name : str
        File name, relative to the directory of pictures.
    camera_id : int
    quaternion : (4,) float64
        Rotation of cam_from_world as w, x, y, z; kept as in the file so that it is written back unchanged.
    translation : (3,) float64
        Translation of cam_from_world.
    xy : (M, 2) float64
        Image points in pixels, pixel centres at integers.
    point_ids : (M,) int64
        The 3D point that each image point shows; -1 for none.
    """

    name: str
    camera_id: int
    quaternion: NDArray[np.float64]
    translation: NDArray[np.float64]
    xy: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))
    point_ids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def at_pose(cls, name: str, camera_id: int, cam_from_world: ArrayLike) -> ColmapImage:
        """A picture taken at this (3, 4) pose, without image points."""
        pose = np.asarray(cam_from_world, dtype=np.float64)
        return cls(name, camera_id, quaternion_from_rotation(pose[:, :3]), pose[:, 3].copy())

    @property
    def cam_from_world(self) -> NDArray[np.float64]:
        """Pose [R t], (3, 4)."""
        return np.column_stack([rotation_from_quaternion(self.quaternion), self.translation])


@dataclass(frozen=True, eq=False)
class ColmapPoints:
    """The sparse point cloud.

    Attributes
    ----------
    ids : (N,) int64
    xyz : (N, 3) float64
        World units.
    rgb : (N, 3) uint8
    error : (N,) float64
        Mean reprojection error in pixels; COLMAP writes -1 where it has none.
    tracks : N arrays (M, 2) int64
        Image id and number of the image point (0-based) of each sighting.
    """

    ids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    xyz: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    rgb: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 3), np.uint8))
    error: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    tracks: tuple[NDArray[np.int64], ...] = ()


@dataclass(frozen=True, eq=False)
class ColmapModel:
    """Cameras and images by COLMAP's ids, and the points; what one refers to, the others must have.

    A model without points is whole as well, whatever its images refer to: only the poses were wanted.
    """

    cameras: dict[int, Camera]
    images: dict[int, ColmapImage]
    points: ColmapPoints = field(default_factory=ColmapPoints)

    def __post_init__(self) -> None:
        for image in self.images.values():
            if image.camera_id not in self.cameras:
                raise InputError(
                    f"image '{image.name}' of the COLMAP model refers to camera {image.camera_id}, "
                    "which the model does not have"
                )
            seen = image.point_ids[image.point_ids >= 0]
            if len(self.points.ids) and not np.isin(seen, self.points.ids).all():
                raise InputError(f"image '{image.name}' of the COLMAP model shows a point that is missing")
        self._check_tracks()

    def _check_tracks(self) -> None:
        sizes = {image_id: len(image.xy) for image_id, image in self.images.items()}
        for point_id, track in zip(self.points.ids.tolist(), self.points.tracks, strict=True):
            for image_id, number in track.tolist():
                if not 0 <= number < sizes.get(image_id, 0):
                    raise InputError(
                        f"point {point_id} of the COLMAP model is seen by image point {number} of image "
                        f"{image_id}, which is missing"
                    )


def rotation_from_quaternion(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation matrix of a quaternion (w, x, y, z) of any length but zero."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_rotation(R: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternion (w, x, y, z) with w >= 0 of a rotation matrix.

    All ten products q_i q_j follow from R; the row of the largest q_i squared is the accurate one.
    """
    off = R + R.T
    skew = R - R.T
    products = np.array(
        [
            [1 + R[0, 0] + R[1, 1] + R[2, 2], skew[2, 1], skew[0, 2], skew[1, 0]],
            [skew[2, 1], 1 + R[0, 0] - R[1, 1] - R[2, 2], off[0, 1], off[0, 2]],
            [skew[0, 2], off[0, 1], 1 - R[0, 0] + R[1, 1] - R[2, 2], off[1, 2]],
            [skew[1, 0], off[0, 2], off[1, 2], 1 - R[0, 0] - R[1, 1] + R[2, 2]],
        ]
    )
    row = products[np.argmax(np.diag(products))]
    quaternion = row / np.linalg.norm(row)
    return -quaternion if quaternion[0] < 0 else quaternion


def checked_pose(path: AnyPath, name: str, pose: NDArray[np.float64]) -> None:
    """Refuse a quaternion and translation, (7,), that are no pose."""
    if not np.isfinite(pose).all() or not 1e-6 < np.abs(pose[:4]).max() < 1e6:
        raise FileError(f"'{path}': the pose of image '{name}' is no finite quaternion and translation")


def camera_from_parameters(
    path: AnyPath, camera_id: int, model: str, size: tuple[int, int], parameters: NDArray[np.float64]
) -> Camera:
    """A camera from COLMAP's parameters of one of the models in ``PARAMETER_COUNTS``."""
    if parameters.size != PARAMETER_COUNTS[model]:
        raise FileError(
            f"'{path}': camera {camera_id} has {parameters.size} parameters instead of the "
            f"{PARAMETER_COUNTS[model]} of {model}"
        )
    if model in ("PINHOLE", "OPENCV"):
        fx, fy, cx, cy = parameters[:4]
        lens = parameters[4:]
    else:
        fx, cx, cy = parameters[:3]
        fy = fx
        lens = parameters[3:]
    K = np.array([[fx, 0, cx - PIXEL_SHIFT], [0, fy, cy - PIXEL_SHIFT], [0, 0, 1]])
    distortion = np.zeros(4)
    distortion[: lens.size] = lens
    return checked_camera(path, f"camera{camera_id}", size, K, distortion)


def parameters_from_camera(camera: Camera) -> tuple[str, NDArray[np.float64]]:
    """COLMAP's model (PINHOLE, or OPENCV where the lens distorts) and its parameters."""
    if camera.K[0, 1] != 0:
        raise InputError(f"K of camera '{camera.name}' has skew, which COLMAP's models cannot express")
    centre = camera.K[:2, 2] + PIXEL_SHIFT
    pinhole = np.array([camera.K[0, 0], camera.K[1, 1], *centre])
    if camera.is_pinhole:
        return "PINHOLE", pinhole
    return "OPENCV", np.concatenate([pinhole, camera.distortion])


def unknown_model(path: AnyPath, camera_id: int, model: str) -> FileError:
    known = ", ".join(PARAMETER_COUNTS)
    return FileError(
        f"'{path}': camera {camera_id} has the model {model}; undistort the pictures with COLMAP or rebuild "
        f"with one of {known}"
    )
