"""Every reader with a writer of what it reads: the table that the tests of damaged files go through."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from wideflow import files
from wideflow.errors import FileError
from wideflow.files.calibrated_set import StandingCamera
from wideflow.files.easymocap import read_easymocap, write_easymocap
from wideflow.files.pose2sim import write_pose2sim
from wideflow.types import Camera, Rig, RigFrame, View

CAMERA = Camera("a", 6, 5, [[5, 0, 2.5], [0, 5, 2], [0, 0, 1]])
VIEW = View(CAMERA, np.eye(3, 4))
RIG = Rig((CAMERA, CAMERA), (RigFrame(0, (0.0, 0.0), (VIEW, VIEW)), RigFrame(1, (1.0, 1.0), (VIEW, VIEW))))
STAND = [StandingCamera.of_view(VIEW, name) for name in "ab"]
ONE = files.ColmapImage("a.png", 1, np.eye(4)[0], np.zeros(3), np.ones((2, 2)), np.array([4, -1]))
MODEL = files.ColmapModel(
    {1: CAMERA, 2: Camera("b", 6, 5, CAMERA.K, [0.1, 0.2, 0.3, 0.4])},
    {1: ONE},
    files.ColmapPoints(
        np.array([4]), np.ones((1, 3)), np.ones((1, 3), np.uint8), np.ones(1), (np.array([[1, 0]]),)
    ),
)
NOISE = np.random.default_rng(0).random((5, 6, 3)).astype(np.float32)


def colmap_file(path: Path) -> None:
    """Only the file of that name; its companions are written when it is read."""
    files.write_colmap(path.parent, MODEL, binary=path.suffix == ".bin")


def read_colmap_file(path: Path) -> object:
    companions = path.parent / "whole"
    files.write_colmap(companions, MODEL, binary=path.suffix == ".bin")
    target = companions / path.name
    if target.exists():
        target.unlink()
    if path.is_dir():
        target.mkdir(exist_ok=True)
    elif path.exists():
        target.write_bytes(path.read_bytes())
    try:
        return files.read_colmap(companions)
    finally:
        if target.is_dir():
            target.rmdir()


Case = tuple[Callable[[Path], object], Callable[[Path], None]]
BINARY: dict[str, Case] = {
    "a.flo": (files.read_flow, lambda path: files.write_flow(path, NOISE[:, :, :2])),
    "kitti.png": (files.read_flow, lambda path: files.write_flow(path, NOISE[:, :, :2])),
    "disparity.png": (files.read_disparity, lambda path: files.write_disparity(path, NOISE[:, :, 0])),
    "a.pfm": (files.read_pfm, lambda path: files.write_pfm(path, NOISE)),
    "a.png": (files.read_image, lambda path: files.write_image(path, NOISE)),
    "a.jpg": (files.read_image, lambda path: files.write_image(path, NOISE)),
    "a.tif": (files.read_image, lambda path: files.write_image(path, NOISE)),
    "a.ppm": (files.read_image, lambda path: files.write_image(path, NOISE)),
    "a.bmp": (files.read_image, lambda path: files.write_image(path, NOISE)),
    "a.ply": (files.read_ply, lambda path: files.write_ply(path, files.PointCloud(NOISE[0]))),
    "cameras.bin": (read_colmap_file, colmap_file),
    "images.bin": (read_colmap_file, colmap_file),
    "points3D.bin": (read_colmap_file, colmap_file),
}
TEXT: dict[str, Case] = {
    "rig.json": (files.read_rig, lambda path: files.write_rig(path, RIG)),
    "camera.json": (files.read_intrinsics, lambda path: files.write_intrinsics(path, CAMERA)),
    "camera.yml": (files.read_intrinsics, lambda path: files.write_intrinsics(path, CAMERA)),
    "intri.yml": (lambda path: read_easymocap(path.parent), lambda path: write_easymocap(path.parent, STAND)),
    "Calib.toml": (files.read_rig, lambda path: write_pose2sim(path, STAND)),
    "cameras.txt": (read_colmap_file, colmap_file),
    "images.txt": (read_colmap_file, colmap_file),
    "points3D.txt": (read_colmap_file, colmap_file),
}
READERS = BINARY | TEXT


def refuses(name: str, path: Path) -> str:
    with pytest.raises(FileError) as error:
        READERS[name][0](path)
    message = str(error.value)
    assert "\n" not in message
    assert 20 < len(message) < 400
    assert path.parent.name in message
    return message
