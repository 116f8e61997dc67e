"""COLMAP reads the models that we write and we read those that COLMAP writes.

COLMAP runs in a process of its own, since a failed check of its C++ code ends the whole process.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wideflow import files
from wideflow.files import ColmapImage, ColmapModel, ColmapPoints
from wideflow.files.colmap.model import rotation_from_quaternion
from wideflow.geometry import project, world_to_camera
from wideflow.types import Camera, View

PYCOLMAP = """
import json, sys
import numpy, cv2, zlib  # before pycolmap, or its first PNG aborts the process
import pycolmap
model = pycolmap.Reconstruction()
source, kind, text, binary = sys.argv[1:]
model.read_text(source) if kind == "text" else model.read_binary(source)
model.write_text(text)
model.write_binary(binary)
print(json.dumps({
    "cameras": {i: [c.model.name, c.width, c.height, list(c.params)] for i, c in model.cameras.items()},
    "images": {i: [im.name, im.camera_id, im.cam_from_world().matrix().tolist(),
                   [[*p.xy, p.point3D_id if p.has_point3D() else -1] for p in im.points2D],
                   im.project_point(%s).tolist()] for i, im in model.images.items()},
    "points": {i: [list(p.xyz), [int(c) for c in p.color], p.error,
                   [[e.image_id, e.point2D_idx] for e in p.track.elements]]
               for i, p in model.points3D.items()},
}))
"""


LENS = [-0.1, 0.01, 0.002, -0.001]
POINT = [0.25, -0.5, 4.0]


def small_model() -> ColmapModel:
    rng = np.random.default_rng(3)
    cameras = {
        1: Camera("camera1", 640, 480, [[500.1, 0, 319.3], [0, 501.7, 241.9], [0, 0, 1]]),
        2: Camera(
            "camera2", 800, 600, [[700, 0, 399], [0, 690, 300], [0, 0, 1]], [-0.1, 0.01, 0.002, -0.001]
        ),
    }
    images = {}
    for image_id in (1, 2, 5, 6):
        R = rotation_from_quaternion(np.array([1, *rng.normal(scale=0.1, size=3)]))
        pose = np.column_stack([R, rng.normal(size=3)])
        plain = ColmapImage.at_pose(f"f{image_id}.png", 1 + image_id % 2, pose)
        images[image_id] = ColmapImage(
            plain.name, plain.camera_id, plain.quaternion, plain.translation,
            rng.uniform(0, 400, (3, 2)), np.array([21, -1, 30]),
        )  # fmt: skip
    tracks = tuple(np.array([[i, number] for i in images]) for number in (0, 2))
    points = ColmapPoints(
        np.array([21, 30]), rng.normal(size=(2, 3)), np.array([[1, 2, 3], [255, 0, 9]], np.uint8),
        np.array([0.5, 1.25]), tracks,
    )  # fmt: skip
    return ColmapModel(cameras, images, points)


@pytest.mark.parametrize("binary", [False, True])
def test_colmap_reads_ours_and_we_read_colmaps(tmp_path: Path, binary: bool) -> None:
    if importlib.util.find_spec("pycolmap") is None:
        pytest.skip("pycolmap is not installed")
    model = small_model()
    files.write_colmap(tmp_path / "ours", model, binary)
    for name in ("text", "binary"):
        (tmp_path / name).mkdir()
    places = [tmp_path / "ours", "binary" if binary else "text", tmp_path / "text", tmp_path / "binary"]
    code = PYCOLMAP.replace("%s", str(POINT))
    run = subprocess.run([sys.executable, "-c", code, *places], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)

    assert seen["cameras"]["1"] == ["PINHOLE", 640, 480, [500.1, 501.7, 319.8, 242.4]]
    assert seen["cameras"]["2"][0] == "OPENCV"
    assert seen["cameras"]["2"][3] == [700, 690, 399.5, 300.5, *LENS]
    assert sorted(seen["images"]) == [str(i) for i in model.images]
    for image_id, image in model.images.items():
        name, camera_id, pose, image_points, projected = seen["images"][str(image_id)]
        assert (name, camera_id) == (image.name, image.camera_id)
        np.testing.assert_allclose(pose, image.cam_from_world, atol=1e-14)
        view = View(model.cameras[camera_id], image.cam_from_world)
        ours = project(view.camera, world_to_camera(view, POINT))
        np.testing.assert_allclose(projected, ours + 0.5, atol=1e-9)
        np.testing.assert_allclose(
            image_points, np.column_stack([image.xy + 0.5, image.point_ids]), atol=1e-12
        )
    for i, point_id in enumerate(model.points.ids):
        xyz, rgb, error, track = seen["points"][str(point_id)]
        assert xyz == model.points.xyz[i].tolist()
        assert rgb == model.points.rgb[i].tolist()
        assert error == model.points.error[i]
        assert track == model.points.tracks[i].tolist()

    for name in ("text", "binary"):
        assert (tmp_path / name / f"rigs.{'txt' if name == 'text' else 'bin'}").exists()
        back = files.read_colmap(tmp_path / name)
        assert sorted(back.images) == sorted(model.images)
        for image_id, image in model.images.items():
            np.testing.assert_allclose(back.images[image_id].cam_from_world, image.cam_from_world, atol=1e-12)
            np.testing.assert_allclose(back.images[image_id].xy, image.xy, atol=1e-9)
        for camera_id, camera in model.cameras.items():
            np.testing.assert_allclose(back.cameras[camera_id].K, camera.K, atol=1e-9)
