"""COLMAP models: exact round trips, agreement with COLMAP itself, pairing into a rig."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wideflow import files
from wideflow.errors import FileError, InputError
from wideflow.files import ColmapImage, ColmapModel, ColmapPoints
from wideflow.files.colmap.model import quaternion_from_rotation, rotation_from_quaternion
from wideflow.types import Camera

finite = st.floats(-1e150, 1e150)
# Multiples of 2^-20 keep all their digits when 0.5 is added; COLMAP's own files hold nothing finer for us.
pixel = st.integers(-(2**32), 2**32).map(lambda n: n / 2**20)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1).filter(
    lambda name: name == name.strip()
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("colmap")


@st.composite
def colmap_cameras(draw: st.DrawFn, camera_id: int) -> Camera:
    focal = st.floats(1e-3, 1e5)
    K = np.array([[draw(focal), 0, draw(pixel)], [0, draw(focal), draw(pixel)], [0, 0, 1]])
    distortion = draw(st.just((0.0,) * 4) | st.tuples(*4 * [finite]))
    return Camera(f"camera{camera_id}", draw(st.integers(1, 8000)), draw(st.integers(1, 8000)), K, distortion)


@st.composite
def models(draw: st.DrawFn) -> ColmapModel:
    ids = st.lists(st.integers(0, 2**32 - 2), min_size=1, max_size=3, unique=True)
    cameras = {i: draw(colmap_cameras(i)) for i in draw(ids)}
    point_ids = draw(st.lists(st.integers(1, 2**62), max_size=4, unique=True))
    images, sightings = {}, {i: [] for i in point_ids}
    for image_id in draw(ids):
        quaternion = draw(st.tuples(*4 * [st.floats(-2, 2)]).filter(lambda q: np.linalg.norm(q) > 1e-3))
        seen = draw(st.lists(st.sampled_from([-1, *point_ids]), max_size=4))
        xy = np.array([draw(st.tuples(pixel, pixel)) for _ in seen]).reshape(-1, 2)
        for number, point_id in enumerate(seen):
            if point_id >= 0:
                sightings[point_id].append((image_id, number))
        images[image_id] = ColmapImage(
            draw(names),
            draw(st.sampled_from(sorted(cameras))),
            np.array(quaternion),
            np.array(draw(st.tuples(finite, finite, finite))),
            xy,
            np.array(seen, dtype=np.int64),
        )
    n = len(point_ids)
    points = ColmapPoints(
        np.array(point_ids, dtype=np.int64),
        np.array([draw(st.tuples(finite, finite, finite)) for _ in range(n)]).reshape(-1, 3),
        np.frombuffer(draw(st.binary(min_size=3 * n, max_size=3 * n)), np.uint8).reshape(-1, 3),
        np.array([draw(finite) for _ in range(n)]),
        tuple(np.array(track, dtype=np.int64).reshape(-1, 2) for track in sightings.values()),
    )
    return ColmapModel(cameras, images, points)


def assert_same(a: ColmapModel, b: ColmapModel) -> None:
    assert list(a.cameras) == list(b.cameras)
    for x, y in zip(a.cameras.values(), b.cameras.values(), strict=True):
        assert (x.name, x.size) == (y.name, y.size)
        np.testing.assert_array_equal(x.K, y.K)
        np.testing.assert_array_equal(x.distortion, y.distortion)
    assert list(a.images) == list(b.images)
    for p, q in zip(a.images.values(), b.images.values(), strict=True):
        assert (p.name, p.camera_id) == (q.name, q.camera_id)
        for field in ("quaternion", "translation", "xy", "point_ids"):
            np.testing.assert_array_equal(getattr(p, field), getattr(q, field))
    for field in ("ids", "xyz", "rgb", "error"):
        np.testing.assert_array_equal(getattr(a.points, field), getattr(b.points, field))
    assert len(a.points.tracks) == len(b.points.tracks)
    for s, t in zip(a.points.tracks, b.points.tracks, strict=True):
        np.testing.assert_array_equal(s, t)


@pytest.mark.parametrize("binary", [False, True])
@given(model=models())
@settings(max_examples=60, deadline=None)
def test_round_trip_is_exact(folder: Path, binary: bool, model: ColmapModel) -> None:
    target = folder / str(binary)
    files.write_colmap(target, model, binary)
    assert_same(model, files.read_colmap(target))


@pytest.mark.parametrize("binary", [False, True])
@given(x=st.floats(0.25, 1e5))
@settings(max_examples=50, deadline=None)
def test_a_pixel_of_colmap_is_written_back_unchanged(folder: Path, binary: bool, x: float) -> None:
    """Whatever digits COLMAP wrote, reading and writing does not wear them off."""
    K = np.array([[1, 0, x - 0.5], [0, 1, x - 0.5], [0, 0, 1]])
    image = ColmapImage(
        "a", 1, np.array([1.0, 0, 0, 0]), np.zeros(3), np.full((1, 2), x - 0.5), np.array([-1])
    )
    target = folder / f"pixel{binary}"
    files.write_colmap(target, ColmapModel({1: Camera("c", 1, 1, K)}, {1: image}), binary)
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    files.write_colmap(target, files.read_colmap(target), binary)
    assert before == {path.name: path.read_bytes() for path in target.iterdir()}
    assert files.read_colmap(target).images[1].xy[0, 0] + 0.5 == x


@given(st.tuples(*4 * [st.floats(-1, 1)]).filter(lambda q: np.linalg.norm(q) > 0.1))
def test_quaternions_and_rotations(q: tuple[float, ...]) -> None:
    R = rotation_from_quaternion(np.array(q))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) > 0
    back = quaternion_from_rotation(R)
    unit = np.array(q) / np.linalg.norm(q)
    assert min(np.abs(back - unit).max(), np.abs(back + unit).max()) < 1e-14


def test_known_rotation() -> None:
    half = np.sqrt(0.5)  # 90 degrees about z turns x into y
    np.testing.assert_allclose(
        rotation_from_quaternion(np.array([half, 0, 0, half])), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15
    )


CAMERAS = """# comment
1 SIMPLE_PINHOLE 640 480 500 320.5 240.5
2 PINHOLE 640 480 500 510 320.5 240.5

3 SIMPLE_RADIAL 640 480 500 320.5 240.5 -0.25
4 RADIAL 640 480 500 320.5 240.5 -0.25 0.5
5 OPENCV 640 480 500 510 320.5 240.5 -0.25 0.5 0.125 -0.125
"""
LENSES = {
    1: (500, 500, 0, 0, 0, 0),
    2: (500, 510, 0, 0, 0, 0),
    3: (500, 500, -0.25, 0, 0, 0),
    4: (500, 500, -0.25, 0.5, 0, 0),
    5: (500, 510, -0.25, 0.5, 0.125, -0.125),
}
IMAGES = """# comment
7 1 0 0 0 1 2 3 2 with blank.png
0.5 0.5 11 100.5 20.5 -1
# comment
8 0 1 0 0 0 0 0 5 b/second.png

"""
POINTS = "# comment\n11 1 2 3 255 128 0 0.5 7 0\n"


def text_model(folder: Path, cameras: str = CAMERAS, images: str = IMAGES, points: str = POINTS) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "cameras.txt").write_text(cameras)
    (folder / "images.txt").write_text(images)
    (folder / "points3D.txt").write_text(points)
    return folder


def test_text_by_hand(tmp_path: Path) -> None:
    model = files.read_colmap(text_model(tmp_path))
    for camera_id, (fx, fy, *distortion) in LENSES.items():
        camera = model.cameras[camera_id]
        assert camera.size == (640, 480)
        np.testing.assert_array_equal(camera.K, [[fx, 0, 320], [0, fy, 240], [0, 0, 1]])
        np.testing.assert_array_equal(camera.distortion, distortion)
    assert model.images[7].name == "with blank.png"
    np.testing.assert_array_equal(model.images[7].xy, [[0, 0], [100, 20]])
    np.testing.assert_array_equal(model.images[7].point_ids, [11, -1])
    np.testing.assert_array_equal(model.images[7].cam_from_world, np.column_stack([np.eye(3), [1, 2, 3]]))
    np.testing.assert_array_equal(model.images[8].cam_from_world, np.eye(3, 4) * [[1], [-1], [-1]])
    np.testing.assert_array_equal(model.points.rgb, [[255, 128, 0]])
    np.testing.assert_array_equal(model.points.tracks[0], [[7, 0]])


def test_points_may_be_an_empty_file(tmp_path: Path) -> None:
    assert len(files.read_colmap(text_model(tmp_path, points="")).points.ids) == 0


WRONG_TEXT = [
    ({"cameras": "1 OPENCV 640 480 500"}, "parameters"),
    ({"cameras": "1 FOV 640 480 500 500 320 240 1"}, "FOV"),
    ({"cameras": "1 PINHOLE 640 480 nan 500 320 240"}, "finite"),
    ({"cameras": "1 PINHOLE 640 480 x 500 320 240"}, "line 1"),
    ({"cameras": "1 PINHOLE 640 99999999999 500 500 320 240"}, "pixels"),
    ({"cameras": "1 PINHOLE 0 480 500 500 320 240"}, "no pixels"),
    ({"cameras": "1 PINHOLE"}, "line 1"),
    ({"images": "7 1 0 0 0 1 2 3 2 a.png"}, "image points"),
    ({"images": "7 1 0 0 0 1 2 3 9 a.png\n\n", "points": ""}, "camera 9"),
    ({"images": "7 0 0 0 0 1 2 3 2 a.png\n\n"}, "a.png"),
    ({"images": "7 1e300 0 0 0 1 2 3 2 a.png\n\n"}, "a.png"),
    ({"images": "7 nan 0 0 0 1 2 3 2 a.png\n\n"}, "a.png"),
    ({"images": "7 1 0 0 0 1 2 3 2\n\n"}, "line 1"),
    ({"images": "7 1 0 0 0 1 2 3 2 a.png\n1 2 3 4\n"}, "line 2"),
    ({"images": "7 1 0 0 0 1 2 3 2 a.png\n1 inf -1\n"}, "line 2"),
    ({"images": "7 1 0 0 0 1 2 3 2 a.png\n1 2 99999999999999999999\n"}, "line 2"),
    ({"points": "11 1 2 3 255 128 0 0.5 7 0 8"}, "line 1"),
    ({"points": "11 1 2 3 256 128 0 0.5 7 0"}, "line 1"),
    ({"points": "11 1 nan 3 255 128 0 0.5 7 0"}, "line 1"),
    ({"points": "11 1 2 3"}, "line 1"),
    ({"points": "11 1 2 3 255 128 0 0.5 7 2"}, "missing"),
    ({"points": "11 1 2 3 255 128 0 0.5 9 0"}, "missing"),
    ({"points": "12 1 2 3 255 128 0 0.5 7 0"}, "missing"),
]


@pytest.mark.parametrize(("replaced", "named"), WRONG_TEXT)
def test_wrong_text_is_one_clear_error(tmp_path: Path, replaced: dict[str, str], named: str) -> None:
    with pytest.raises(FileError) as error:
        files.read_colmap(text_model(tmp_path, **replaced))
    assert named in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


def test_binary_with_an_unknown_lens(tmp_path: Path) -> None:
    files.write_colmap(tmp_path, files.read_colmap(text_model(tmp_path / "text")), binary=True)
    data = bytearray((tmp_path / "cameras.bin").read_bytes())
    data[12] = 10
    (tmp_path / "cameras.bin").write_bytes(data)
    with pytest.raises(FileError, match="camera 1 has the model number 10"):
        files.read_colmap(tmp_path)


def test_binary_is_preferred_and_the_newer_files_are_ignored(tmp_path: Path) -> None:
    model = files.read_colmap(text_model(tmp_path / "text"))
    files.write_colmap(tmp_path / "both", model, binary=True)
    text_model(tmp_path / "both", cameras="damaged")
    (tmp_path / "both" / "rigs.bin").write_bytes(b"whatever")
    (tmp_path / "both" / "frames.bin").write_bytes(b"whatever")
    assert_same(model, files.read_colmap(tmp_path / "both"))


def test_a_contradicting_model_is_not_written(tmp_path: Path) -> None:
    model = files.read_colmap(text_model(tmp_path))
    with pytest.raises(FileError, match=r"cameras\.txt"):
        files.write_colmap(tmp_path, model, binary=True)
    (tmp_path / "frames.bin").write_bytes(b"x")
    with pytest.raises(FileError, match=r"frames\.bin"):
        files.write_colmap(tmp_path, model, binary=False)


def test_what_the_format_cannot_hold(tmp_path: Path) -> None:
    skewed = Camera("a", 4, 3, [[5, 0.1, 2], [0, 5, 1], [0, 0, 1]])
    with pytest.raises(InputError, match="skew"):
        files.write_colmap(tmp_path / "m", ColmapModel({1: skewed}, {}), binary=True)
    camera = Camera("a", 4, 3, np.eye(3))
    for name in ("", " a", "a\nb", "a\0b"):
        image = ColmapImage.at_pose(name, 1, np.eye(3, 4))
        with pytest.raises(InputError, match="name"):
            files.write_colmap(tmp_path / "m", ColmapModel({1: camera}, {1: image}), binary=True)
    with pytest.raises(InputError, match="number"):
        files.write_colmap(tmp_path / "m", ColmapModel({-1: camera}, {}), binary=True)
    assert not (tmp_path / "m").exists()


def rig_model(a: list[str], b: list[str]) -> ColmapModel:
    K = np.diag([5.0, 5.0, 1.0])
    images = {}
    for camera_id, listed in ((9, b), (4, a)):
        for name in listed:
            pose = np.column_stack([np.eye(3), [camera_id, len(images), 0]])
            images[len(images) + 1] = ColmapImage.at_pose(name, camera_id, pose)
    unused = Camera("unused", 4, 3, K)
    return ColmapModel({4: Camera("a", 4, 3, K), 9: Camera("b", 8, 6, K), 1: unused}, images)


def test_rig_pairs_by_number_in_the_name(tmp_path: Path) -> None:
    model = rig_model(["a/f10.png", "a/f2.png", "a/f009.png"], ["b/1.png", "b/02.png", "b/11.png"])
    rig = files.rig_from_colmap(model)
    assert [camera.size for camera in rig.cameras] == [(4, 3), (8, 6)]
    assert [(frame.index, frame.times) for frame in rig.frames] == [(0, (0, 0)), (1, (1, 1)), (2, (2, 2))]
    by_name = {image.name: image.cam_from_world for image in model.images.values()}
    for frame, pair in zip(rig.frames, [("a/f2", "b/1"), ("a/f009", "b/02"), ("a/f10", "b/11")], strict=True):
        for view, name in zip(frame.views, pair, strict=True):
            np.testing.assert_array_equal(view.cam_from_world, by_name[f"{name}.png"])
    files.write_colmap(tmp_path / "m", model, binary=True)
    back = files.read_rig(tmp_path / "m")
    np.testing.assert_array_equal(back.frames[2].views[1].cam_from_world, by_name["b/11.png"])


def test_rig_needs_two_cameras_with_as_many_pictures(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 pictures of camera 4 and 1 of camera 9"):
        files.rig_from_colmap(rig_model(["1", "2"], ["1"]))
    with pytest.raises(InputError, match="1 cameras"):
        files.rig_from_colmap(rig_model(["1", "2"], []))
    files.write_colmap(tmp_path / "m", rig_model(["1", "2"], ["1"]), binary=True)
    with pytest.raises(FileError, match="2 pictures") as error:
        files.read_rig(tmp_path / "m")
    assert str(tmp_path) in str(error.value)
    with pytest.raises(FileError, match="no COLMAP model"):
        files.read_rig(tmp_path)
