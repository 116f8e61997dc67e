"""rig.json and intrinsics: exact round trips, OpenCV's files, and complaints that name the field."""

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wideflow import files
from wideflow.errors import FileError, InputError
from wideflow.types import Camera, Rig, RigFrame, View

finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(1e-300, 1e300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rig")


@st.composite
def cameras(draw: st.DrawFn) -> Camera:
    K = np.array([[draw(positive), draw(finite), draw(finite)], [0, draw(positive), draw(finite)], [0, 0, 1]])
    size = draw(st.integers(1, 10_000)), draw(st.integers(1, 10_000))
    readout = draw(st.just(0.0) | st.floats(0, 0.99))
    return Camera(draw(st.text()), *size, K, draw(st.tuples(*4 * [finite])), readout)


@st.composite
def rigs(draw: st.DrawFn) -> Rig:
    pair = draw(cameras()), draw(cameras())
    indices = draw(st.lists(st.integers(0, 10**9), min_size=1, max_size=4, unique=True).map(sorted))
    frames = []
    for index in indices:
        seed = np.random.default_rng(draw(st.integers(0, 2**32)))
        poses = []
        for _ in range(2):
            R, _ = np.linalg.qr(seed.normal(size=(3, 3)))
            poses.append(np.column_stack([R * np.linalg.det(R), draw(st.tuples(finite, finite, finite))]))
        views = View(pair[0], poses[0]), View(pair[1], poses[1])
        frames.append(RigFrame(index, (draw(finite), draw(finite)), views))
    return Rig(pair, tuple(frames))


def same_camera(a: Camera, b: Camera) -> bool:
    return (
        (a.name, a.size) == (b.name, b.size)
        and a.K.tobytes() == b.K.tobytes()
        and a.distortion.tobytes() == b.distortion.tobytes()
        and a.readout == b.readout
    )


@given(rig=rigs())
@settings(max_examples=50, deadline=None)
def test_rig_round_trip_is_exact(folder: Path, rig: Rig) -> None:
    files.write_rig(folder / "rig.json", rig)
    back = files.read_rig(folder / "rig.json")
    assert all(map(same_camera, rig.cameras, back.cameras))
    assert [(f.index, f.times) for f in rig.frames] == [(f.index, f.times) for f in back.frames]
    for before, after in zip(rig.frames, back.frames, strict=True):
        for k in range(2):
            assert before.views[k].cam_from_world.tobytes() == after.views[k].cam_from_world.tobytes()
            assert after.views[k].camera is back.cameras[k]


def test_read_out_is_written_where_there_is_one_and_read_where_it_is_wrong() -> None:
    camera = Camera("a", 4, 3, np.array([[5.0, 0, 2], [0, 5, 1], [0, 0, 1]]))
    assert "readout" not in files.cameras.camera_to_fields(camera)  # as before there were any
    assert files.cameras.camera_to_fields(replace(camera, readout=0.02))["readout"] == 0.02
    with pytest.raises(InputError, match="read out"):
        replace(camera, readout=-0.1)


@pytest.mark.parametrize(("value", "said"), [("fast", "finite number"), (2.0, "read out")])
def test_a_wrong_read_out_is_said(tmp_path: Path, value: object, said: str) -> None:
    rig = example()
    rig["cameras"][1]["readout"] = value
    (tmp_path / "rig.json").write_text(json.dumps(rig))
    with pytest.raises(FileError, match=said):
        files.read_rig(tmp_path / "rig.json")


def example() -> dict:
    camera = {"name": "a", "width": 4, "height": 3, "K": [[5, 0, 2], [0, 5, 1.5], [0, 0, 1]]}
    camera["distortion"] = [0, 0, 0, 0]
    pose = np.eye(3, 4).tolist()
    frame = {"index": 7, "times": [0.25, 0.5], "cam_from_world": [pose, deepcopy(pose)]}
    return {"version": 1, "cameras": [camera, dict(deepcopy(camera), name="b")], "frames": [frame]}


def test_rig_as_the_contract_has_it(tmp_path: Path) -> None:
    path = tmp_path / "rig.json"
    path.write_text(json.dumps(example()))
    rig = files.read_rig(path)
    assert [camera.name for camera in rig.cameras] == ["a", "b"]
    assert (rig.frames[0].index, rig.frames[0].times) == (7, (0.25, 0.5))
    files.write_rig(path, rig)
    assert json.loads(path.read_text()) == example()


WRONG_FIELDS = [
    (("version",), 2, "version"),
    (("version",), None, "version"),
    (("cameras",), [], "cameras"),
    (("cameras",), {}, "cameras"),
    (("cameras", 1), 3, "cameras[1]"),
    (("cameras", 1, "name"), 3, "cameras[1].name"),
    (("cameras", 1, "width"), 4.5, "cameras[1].width"),
    (("cameras", 1, "width"), True, "cameras[1].width"),
    (("cameras", 1, "width"), 0, "no pixels"),
    (("cameras", 1, "width"), 10**12, "pixels"),
    (("cameras", 1, "height"), -3, "no pixels"),
    (("cameras", 1, "K"), [1, 2, 3], "cameras[1].K[0]"),
    (("cameras", 1, "K", 0, 0), -1, "focal"),
    (("cameras", 1, "K", 0, 1), "x", "cameras[1].K[0][1]"),
    (("cameras", 1, "distortion"), [0, 0, 0, 0, 0], "cameras[1].distortion"),
    (("cameras", 1, "distortion", 2), 10**400, "cameras[1].distortion[2]"),
    (("cameras", 0, "K", 1, 1), float("nan"), "cameras[0].K[1][1]"),
    (("frames",), [], "frames"),
    (("frames", 0, "index"), "7", "frames[0].index"),
    (("frames", 0, "times"), 0.5, "frames[0].times"),
    (("frames", 0, "times", 1), None, "frames[0].times[1]"),
    (("frames", 0, "times", 0), float("inf"), "frames[0].times[0]"),
    (("frames", 0, "cam_from_world", 1, 2), [0, 0, 2, 0], "frames[0].cam_from_world"),
    (("frames", 0, "cam_from_world"), np.eye(4).tolist(), "frames[0].cam_from_world"),
]


@pytest.mark.parametrize(("where", "value", "named"), WRONG_FIELDS)
def test_rig_complaint_names_file_and_field(tmp_path: Path, where: tuple, value: object, named: str) -> None:
    rig = example()
    parent = rig
    for key in where[:-1]:
        parent = parent[key]
    parent[where[-1]] = value
    path = tmp_path / "rig.json"
    path.write_text(json.dumps(rig))
    with pytest.raises(FileError) as error:
        files.read_rig(path)
    assert named in str(error.value)
    assert str(path) in str(error.value)

    if isinstance(where[-1], str):
        del parent[where[-1]]
        path.write_text(json.dumps(rig))
        with pytest.raises(FileError, match="lacks the field") as error:
            files.read_rig(path)
        assert where[-1] in str(error.value)


def test_rig_frames_must_rise(tmp_path: Path) -> None:
    rig = example()
    rig["frames"] *= 2
    path = tmp_path / "rig.json"
    path.write_text(json.dumps(rig))
    with pytest.raises(FileError, match="rising"):
        files.read_rig(path)


def test_rig_with_impossible_times_is_not_written(tmp_path: Path) -> None:
    camera = Camera("a", 4, 3, np.eye(3))
    frame = RigFrame(0, (0.0, float("nan")), (View(camera, np.eye(3, 4)),) * 2)
    with pytest.raises(InputError, match="finite"):
        files.write_rig(tmp_path / "rig.json", Rig((camera, camera), (frame,)))
    assert not list(tmp_path.iterdir())


@given(camera=cameras())
@settings(max_examples=50, deadline=None)
def test_intrinsics_round_trip_is_exact(folder: Path, camera: Camera) -> None:
    files.write_intrinsics(folder / "camera.json", camera)
    assert same_camera(camera, files.read_intrinsics(folder / "camera.json"))
    files.write_intrinsics(folder / "camera.yml", camera)
    nameless = replace(camera, name="camera")
    assert same_camera(nameless, files.read_intrinsics(folder / "camera.yml"))


K = np.array([[1234.5678901234567, 0, 959.1], [0, 1233.3, 539.7], [0, 0, 1]])
D = np.array([-0.1, 0.02, 1e-4, -2e-4])


def opencv_file(path: Path, distortion: np.ndarray, names: tuple[str, str, str, str]) -> None:
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    storage.write(names[0], K)
    storage.write(names[1], distortion)
    storage.write(names[2], 1920)
    storage.write(names[3], 1080)
    storage.release()


NAMES = [
    ("camera_matrix", "distortion_coefficients", "image_width", "image_height"),
    ("Camera_Matrix", "Distortion_Coefficients", "image_Width", "image_Height"),
    ("cameraMatrix", "distCoeffs", "imageWidth", "imageHeight"),
    ("K", "dist_coeffs", "width", "height"),
    ("K", "D", "width", "height"),
]


@pytest.mark.parametrize("suffix", [".yml", ".yaml", ".json", ".xml"])
@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("shape", [(4, 1), (1, 4), (4,), (5, 1), (1, 8), (14,)])
def test_intrinsics_of_opencv(tmp_path: Path, suffix: str, names: tuple, shape: tuple) -> None:
    distortion = np.zeros(np.prod(shape))
    distortion[:4] = D
    path = tmp_path / f"phone ä{suffix}"
    opencv_file(tmp_path / f"x{suffix}", distortion.reshape(shape), names)
    (tmp_path / f"x{suffix}").rename(path)
    assert same_camera(files.read_intrinsics(path), Camera("phone ä", 1920, 1080, K, D))


def test_opencv_reads_our_intrinsics(tmp_path: Path) -> None:
    files.write_intrinsics(tmp_path / "camera.yml", Camera("a", 1920, 1080, K, D))
    storage = cv2.FileStorage(str(tmp_path / "camera.yml"), cv2.FILE_STORAGE_READ)
    np.testing.assert_array_equal(storage.getNode("camera_matrix").mat(), K)
    np.testing.assert_array_equal(storage.getNode("distortion_coefficients").mat().ravel(), D)
    assert storage.getNode("image_width").real() == 1920
    assert storage.getNode("image_height").real() == 1080


ROS = """image_width: 640
image_height: 480
camera_name: left
camera_matrix:
  rows: 3
  cols: 3
  data: [500.5, 0., 320, 0., 501.25, 240, 0, 0, 1]
distortion_model: {model}
distortion_coefficients:
  rows: 1
  cols: 5
  data: [0.1, -0.2, 0.001, 0.002, 0]
"""


def test_intrinsics_of_ros(tmp_path: Path) -> None:
    path = tmp_path / "left.yaml"
    path.write_text(ROS.format(model="plumb_bob"))
    expected = np.array([[500.5, 0, 320], [0, 501.25, 240], [0, 0, 1]])
    assert same_camera(
        files.read_intrinsics(path), Camera("left", 640, 480, expected, [0.1, -0.2, 0.001, 0.002])
    )
    path.write_text(ROS.format(model="equidistant"))
    with pytest.raises(FileError, match="another lens model"):
        files.read_intrinsics(path)


def test_intrinsics_in_other_layouts_of_yaml_and_json(tmp_path: Path) -> None:
    """As other programs print the same maps: keys sorted, lists item by item or row by row, comments."""
    expected = Camera("c", 640, 480, [[500.5, 0, 320], [0, 501.25, 240], [0, 0, 1]], [-0.1, 0.2, 0, 0])
    items = "".join(
        f"{'  - ' if i % 3 else '- - '}{x!r}\n" for i, x in enumerate(expected.K.ravel().tolist())
    )
    yaml = tmp_path / "c.yaml"
    yaml.write_text(
        f"# by hand\ncamera_matrix:\n  cols: 3\n  data:\n{items}  rows: 3\n"
        "dist_coeffs:\n- -0.1\n- 0.2\n- 0\n- 0\nimage_height: 480\nimage_width: 640\n"
    )
    assert same_camera(files.read_intrinsics(yaml), expected)
    fields = {"camera_matrix": expected.K.tolist(), "dist_coeffs": [[-0.1, 0.2, 0, 0, 0]]}
    (tmp_path / "c.json").write_text(json.dumps(fields | {"image_width": 640, "image_height": 480}))
    assert same_camera(files.read_intrinsics(tmp_path / "c.json"), expected)


YAML = """%YAML:1.0
---
image_width: 640
image_height: 480
camera_matrix: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 500., 0., 320., 0., 500., 240., 0., 0., 1. ]
distortion_coefficients: !!opencv-matrix
   rows: 4
   cols: 1
   dt: d
   data: [ 0., 0., 0., 0. ]
"""
WRONG_YAML = [
    ("[ 0., 0., 0., 0. ]", "[ 0., 0., 0., 0., 0.1 ]", "k1, k2, p1, p2"),
    ("[ 0., 0., 0., 0. ]", "[ 0., 0., 0. ]", "distortion_coefficients"),
    ("[ 0., 0., 0., 0. ]", "[ 0., 0., .Nan, 0. ]", "distortion_coefficients"),
    ("[ 0., 0., 0., 0. ]", "[ 0., 0., inf, 0. ]", "finite"),
    ("[ 0., 0., 0., 0. ]", "[ 0., 0., abc, 0. ]", "distortion_coefficients"),
    ("[ 0., 0., 0., 0. ]", "7", "distortion_coefficients"),
    ("distortion_coefficients", "nothing", "distortion_coefficients"),
    ("camera_matrix", "nothing", "camera_matrix"),
    (", 0., 0., 1. ]", " ]", "camera_matrix"),
    ("image_width: 640", "image_width: 640.5", "image_width"),
    ("image_width: 640", "image_width: 0", "no pixels"),
    ("image_width: 640", "image_width: 2000000000", "pixels"),
    ("image_height: 480", "picture: 480", "image_height"),
    ("image_height: 480", "fisheye_model: 1", "another lens model"),
    ("[ 500., 0., 320., 0., 500.", "[ 500., 0., 320., 5., 500.", "triangular"),
]


@pytest.mark.parametrize(("old", "new", "named"), WRONG_YAML)
def test_intrinsics_complaint_names_file_and_field(tmp_path: Path, old: str, new: str, named: str) -> None:
    path = tmp_path / "camera.yml"
    path.write_text(YAML)
    assert files.read_intrinsics(path).size == (640, 480)
    path.write_text(YAML.replace(old, new))
    with pytest.raises(FileError) as error:
        files.read_intrinsics(path)
    assert named in str(error.value)
    assert str(path) in str(error.value)


def test_intrinsics_go_into_known_suffixes(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"\.json"):
        files.write_intrinsics(tmp_path / "camera.txt", Camera("a", 4, 3, np.eye(3)))
