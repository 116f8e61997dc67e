"""COLMAP models: a directory of ``cameras``, ``images`` and ``points3D``, as ``.bin`` or as ``.txt``.

Newer versions of COLMAP add ``rigs`` and ``frames``. They repeat what ``images`` says, so they are neither
read nor written; COLMAP itself reads a model without them.
"""

from __future__ import annotations

import re
import struct
from contextlib import ExitStack
from pathlib import Path

from wideflow.errors import FileError, InputError
from wideflow.files.colmap import binary_format, text_format
from wideflow.files.colmap.model import ColmapImage, ColmapModel
from wideflow.files.disk import AnyPath, atomic_path
from wideflow.types import Rig, RigFrame, View


def read_colmap(directory: AnyPath) -> ColmapModel:
    """Read a COLMAP model; where both formats are there, the binary one, as COLMAP does.

    Camera models SIMPLE_PINHOLE, PINHOLE, SIMPLE_RADIAL, RADIAL and OPENCV are understood. All pixel
    coordinates are converted to pixel centres at integers. Cameras are named "camera1" after their ids.

    Raises
    ------
    FileError
        No model there, a damaged file, or a camera with another lens model.
    """
    folder = Path(directory)
    if not folder.is_dir():
        raise FileError(f"'{directory}' is not a directory; give the directory of a COLMAP model")
    reader, suffix = (binary_format, ".bin") if (folder / "cameras.bin").exists() else (text_format, ".txt")
    if not (folder / f"cameras{suffix}").exists():
        raise FileError(f"'{directory}' holds no COLMAP model: it has neither cameras.bin nor cameras.txt")
    cameras = reader.read_cameras(folder / f"cameras{suffix}")
    images = reader.read_images(folder / f"images{suffix}")
    points = reader.read_points(folder / f"points3D{suffix}")
    try:
        return ColmapModel(cameras, images, points)
    except InputError as error:
        raise FileError(f"'{directory}' is damaged: {error}") from error


def write_colmap(directory: AnyPath, model: ColmapModel, binary: bool) -> None:
    """Write a COLMAP model into a directory, which is made if it is missing: all three files or none.

    Cameras become PINHOLE, or OPENCV where the lens distorts; their names have no place in the format.
    Everything reads back bit for bit, but a pixel coordinate whose sum with 0.5 is no float64 is rounded
    in its last digit.

    Parameters
    ----------
    directory : path
        Where the three files go.
    model : ColmapModel
        In our conventions.
    binary : bool
        ``.bin`` files instead of ``.txt``.

    Raises
    ------
    FileError
        The directory cannot be written, or holds files of a model that would contradict this one.
    InputError
        A camera with skew, or an image name that the format cannot hold.
    """
    _check_names(model)
    writer, suffix = (binary_format, ".bin") if binary else (text_format, ".txt")
    try:
        files = {
            f"cameras{suffix}": writer.encode_cameras(model.cameras),
            f"images{suffix}": writer.encode_images(model.images),
            f"points3D{suffix}": writer.encode_points(model.points),
        }
    except struct.error as error:
        raise InputError(f"the model has a number that COLMAP's format cannot hold: {error}") from error
    folder = Path(directory)
    stems = ("cameras", "images", "points3D", "rigs", "frames")
    for other in (f"{stem}{suffix}" for stem in stems for suffix in (".bin", ".txt")):
        if other not in files and (folder / other).exists():
            raise FileError(f"'{directory}' holds '{other}' of another model; choose an empty directory")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot make the directory '{directory}': {error.strerror}; choose another place"
        ) from error
    with ExitStack() as stack:
        for name, data in files.items():
            stack.enter_context(atomic_path(folder / name)).write_bytes(data)


def _check_names(model: ColmapModel) -> None:
    for image in model.images.values():
        name = image.name
        if not name or name != name.strip() or re.search(r"[\0\r\n\ud800-\udfff]", name):
            raise InputError(f"image name {name!r} is empty or holds characters that a COLMAP model cannot")


def rig_from_colmap(model: ColmapModel) -> Rig:
    """The rig of a model that was built from the frames of two cameras.

    The pictures must belong to exactly two cameras; the one with the smaller id is camera A. The pictures
    of each are sorted by name, numbers in it by value ("f2" before "f10"), and the k-th of A goes with the
    k-th of B as frame k, so both must have as many. A COLMAP model knows no times: frame k gets time k.

    Raises
    ------
    InputError
        Not two cameras, or not as many pictures of one as of the other.
    """
    by_camera: dict[int, list[ColmapImage]] = {}
    for image in model.images.values():
        by_camera.setdefault(image.camera_id, []).append(image)
    if len(by_camera) != 2:
        raise InputError(
            f"the pictures of the COLMAP model belong to {len(by_camera)} cameras instead of 2; "
            "put those of each video into a folder and build it with one camera per folder"
        )
    a, b = sorted(by_camera)
    ordered = [sorted(by_camera[i], key=lambda image: _natural(image.name)) for i in (a, b)]
    if len(ordered[0]) != len(ordered[1]):
        raise InputError(
            f"the COLMAP model has {len(ordered[0])} pictures of camera {a} and {len(ordered[1])} of camera "
            f"{b}; keep only frames in which both cameras were registered"
        )
    cameras = model.cameras[a], model.cameras[b]
    frames = [
        RigFrame(
            k,
            (float(k), float(k)),
            (View(cameras[0], image_a.cam_from_world), View(cameras[1], image_b.cam_from_world)),
        )
        for k, (image_a, image_b) in enumerate(zip(*ordered, strict=True))
    ]
    return Rig(cameras, tuple(frames))


def _natural(name: str) -> list[tuple[str, int, str]]:
    """Sort key in which runs of digits compare as numbers: by length without leading zeros, then by digit."""
    runs = [(text, digits.lstrip("0")) for text, digits in re.findall(r"([^0-9]*)([0-9]*)", name)]
    return [(text, len(digits), digits) for text, digits in runs]
