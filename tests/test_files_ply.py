"""Point clouds: exact round trips, other programs' files, trimesh as a witness."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wideflow import files
from wideflow.errors import FileError, InputError
from wideflow.files import PointCloud


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ply")


@st.composite
def clouds(draw: st.DrawFn) -> PointCloud:
    shape = draw(st.integers(0, 9)), 3
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    width = 8 * np.dtype(dtype).itemsize
    numbers = st.floats(allow_nan=False, allow_infinity=False, width=width)
    return PointCloud(
        draw(arrays(dtype, shape, elements=numbers)),
        draw(st.none() | arrays(np.uint8, shape)),
        draw(st.none() | arrays(np.float32, shape, elements=st.floats(width=32))),
    )


@given(cloud=clouds())
@settings(max_examples=80, deadline=None)
def test_round_trip_is_exact(folder: Path, cloud: PointCloud) -> None:
    files.write_ply(folder / "a.ply", cloud)
    back = files.read_ply(folder / "a.ply")
    for name in ("xyz", "rgb", "velocity"):
        before, after = getattr(cloud, name), getattr(back, name)
        assert (before is None) == (after is None)
        if before is not None:
            assert after.dtype == before.dtype
            np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trimesh_opens_ours(tmp_path: Path, dtype: type) -> None:
    trimesh = pytest.importorskip("trimesh")
    rng = np.random.default_rng(0)
    xyz = rng.normal(size=(20, 3)).astype(dtype)
    rgb = rng.integers(0, 256, (20, 3), dtype=np.uint8)
    files.write_ply(tmp_path / "a.ply", PointCloud(xyz, rgb, xyz.astype(np.float32)))
    cloud = trimesh.load(tmp_path / "a.ply")
    np.testing.assert_array_equal(cloud.vertices, xyz)
    np.testing.assert_array_equal(np.asarray(cloud.colors)[:, :3], rgb)


def test_we_open_the_files_of_trimesh(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.creation.box()
    for encoding in ("binary", "ascii"):
        mesh.export(tmp_path / "a.ply", encoding=encoding)
        np.testing.assert_allclose(files.read_ply(tmp_path / "a.ply").xyz, mesh.vertices)


HEADER = """ply
format {format} 1.0
comment made by hand
element camera 2
property float a
property uchar b
element vertex 2
property double x
property double quality
property double y
property double z
property uchar red
property uchar green
property uchar blue
property uchar alpha
element face 1
property list uchar int vertex_indices
end_header
"""


@pytest.mark.parametrize(("name", "order"), [("binary_little_endian", "<"), ("binary_big_endian", ">")])
def test_further_properties_and_elements_are_skipped(tmp_path: Path, name: str, order: str) -> None:
    body = struct.pack(order + "fBfB", 1, 2, 3, 4)
    body += struct.pack(order + "4d4B", 1, 99, 2, 3, 10, 20, 30, 40)
    body += struct.pack(order + "4d4B", -1, 99, -2, -3, 11, 21, 31, 41)
    body += struct.pack(order + "B3i", 3, 0, 1, 0)
    (tmp_path / "a.ply").write_bytes(HEADER.format(format=name).encode() + body)
    cloud = files.read_ply(tmp_path / "a.ply")
    assert cloud.xyz.tolist() == [[1, 2, 3], [-1, -2, -3]]
    assert cloud.rgb.tolist() == [[10, 20, 30], [11, 21, 31]]
    assert cloud.velocity is None


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_ascii(tmp_path: Path, ending: str) -> None:
    text = (
        HEADER.format(format="ascii") + "1 2\n3 4\n1 99 2 3 10 20 30 40\n-1 99 -2 -3 11 21 31 41\n3 0 1 0\n"
    )
    (tmp_path / "a.ply").write_bytes(text.replace("\n", ending).encode())
    cloud = files.read_ply(tmp_path / "a.ply")
    assert cloud.xyz.tolist() == [[1, 2, 3], [-1, -2, -3]]
    assert cloud.rgb.tolist() == [[10, 20, 30], [11, 21, 31]]


XYZ = "property float x\nproperty float y\nproperty float z\n"
WRONG = {
    "no end": "ply\nformat ascii 1.0\nelement vertex 0\n" + XYZ,
    "format": "ply\nelement vertex 0\n" + XYZ + "end_header\n",
    "unknown": "ply\nformat morse 1.0\nelement vertex 0\n" + XYZ + "end_header\n",
    "lack x, y or z": "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nend_header\n",
    "no vertices": "ply\nformat ascii 1.0\nelement face 0\nend_header\n",
    "two properties": "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\n" + XYZ + "end_header\n",
    "property list": "ply\nformat ascii 1.0\nelement vertex 1\nproperty list uchar int a\nend_header\n",
    "property quad x": "ply\nformat ascii 1.0\nelement vertex 1\nproperty quad x\nend_header\n",
    "property float x": "ply\nformat ascii 1.0\n" + XYZ + "end_header\n",
    "element vertex -1": "ply\nformat ascii 1.0\nelement vertex -1\n" + XYZ + "end_header\n",
    "too short": "ply\nformat ascii 1.0\nelement vertex 2\n" + XYZ + "end_header\n1 2 3\n",
    "numbers": "ply\nformat ascii 1.0\nelement vertex 1\n" + XYZ + "end_header\n1 2 hello\n",
    "fewer": "ply\nformat ascii 1.0\nelement vertex 2\n" + XYZ + "end_header\n1 2 3 100000 200000\n",
    "finite": "ply\nformat ascii 1.0\nelement vertex 1\n" + XYZ + "end_header\n1 2 nan\n",
}


@pytest.mark.parametrize("named", WRONG)
def test_wrong_files_are_one_clear_error(tmp_path: Path, named: str) -> None:
    (tmp_path / "a.ply").write_text(WRONG[named])
    with pytest.raises(FileError, match=named) as error:
        files.read_ply(tmp_path / "a.ply")
    assert str(tmp_path / "a.ply") in str(error.value)
    assert "\n" not in str(error.value)


def test_colours_above_255_are_refused(tmp_path: Path) -> None:
    body = "1 2\n3 4\n" + "1 99 2 3 10 20 300 40\n" * 2 + "3 0 1 0\n"
    (tmp_path / "a.ply").write_text(HEADER.format(format="ascii") + body)
    with pytest.raises(FileError, match="numbers"):
        files.read_ply(tmp_path / "a.ply")


def test_colours_of_another_type_are_refused(tmp_path: Path) -> None:
    colours = "property float red\nproperty float green\nproperty float blue\n"
    text = "ply\nformat ascii 1.0\nelement vertex 1\n" + XYZ + colours + "end_header\n1 2 3 0 0 0\n"
    (tmp_path / "a.ply").write_text(text)
    with pytest.raises(FileError, match="uchar"):
        files.read_ply(tmp_path / "a.ply")


def test_clouds_that_do_not_fit_together() -> None:
    good = np.zeros((2, 3), np.float32)
    for arguments in [
        (np.zeros((2, 2)),),
        (np.zeros((2, 3), np.int64),),
        (np.full((2, 3), np.inf),),
        (good, np.zeros((3, 3), np.uint8)),
        (good, good),
        (good, None, np.zeros((2, 3))),
    ]:
        with pytest.raises(InputError):
            PointCloud(*arguments)
