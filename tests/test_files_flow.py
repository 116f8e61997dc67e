"""Flow, disparity and PFM files: exact round trips, agreement with OpenCV, limits of each format."""

import struct
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shared_data import shared
from wideflow import files
from wideflow.errors import FileError, InputError

sides = st.integers(1, 9)
pixels = st.floats(-1e9, 1e9, width=32)
any_float = st.floats(width=32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flöw")  # paths need not be ASCII


def grids(channels: int | None, elements: st.SearchStrategy) -> st.SearchStrategy:
    def make(shape: tuple[int, int]) -> st.SearchStrategy:
        return arrays(np.float32, shape if channels is None else (*shape, channels), elements=elements)

    return st.tuples(sides, sides).flatmap(make)


@given(uv=grids(2, pixels), unknown=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_flo_round_trip_is_exact(folder: Path, uv: np.ndarray, unknown: int) -> None:
    uv[np.random.default_rng(unknown).random(uv.shape[:2]) < 0.3] = np.nan
    files.write_flow(folder / "a.flo", uv)
    np.testing.assert_array_equal(files.read_flow(folder / "a.flo"), uv)


@given(uv=grids(2, st.integers(-(2**15), 2**15 - 1).map(lambda n: n / 64)), unknown=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_kitti_flow_round_trip_is_exact_on_its_steps(folder: Path, uv: np.ndarray, unknown: int) -> None:
    uv[np.random.default_rng(unknown).random(uv.shape[:2]) < 0.3] = np.nan
    files.write_flow(folder / "a.png", uv)
    np.testing.assert_array_equal(files.read_flow(folder / "a.png"), uv)


@given(disparity=grids(None, st.just(np.nan) | st.integers(1, 2**16 - 1).map(lambda n: n / 256)))
@settings(max_examples=60, deadline=None)
def test_kitti_disparity_round_trip_is_exact_on_its_steps(folder: Path, disparity: np.ndarray) -> None:
    files.write_disparity(folder / "d.png", disparity)
    np.testing.assert_array_equal(files.read_disparity(folder / "d.png"), disparity)


@pytest.mark.parametrize("channels", [None, 3])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_pfm_round_trip_is_exact(folder: Path, channels: int | None, data: st.DataObject) -> None:
    values = data.draw(grids(channels, any_float))
    files.write_pfm(folder / "a.pfm", values)
    np.testing.assert_array_equal(files.read_pfm(folder / "a.pfm"), values)


def field(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=30, size=(5, 7, 2)).astype(np.float32)


def test_one_unknown_component_makes_the_pixel_unknown(tmp_path: Path) -> None:
    uv = field()
    uv[1, 2, 0] = np.nan
    for name in ("a.flo", "a.png"):
        files.write_flow(tmp_path / name, uv)
        unknown = np.isnan(files.read_flow(tmp_path / name))
        assert unknown[1, 2].all()
        assert unknown.sum() == 2


def test_opencv_reads_our_flo_and_we_read_its(tmp_path: Path) -> None:
    uv = field()
    ours, theirs = tmp_path / "ours.flo", tmp_path / "theirs.flo"
    files.write_flow(ours, uv)
    np.testing.assert_array_equal(cv2.readOpticalFlow(str(ours)), uv)
    cv2.writeOpticalFlow(str(theirs), uv)
    np.testing.assert_array_equal(files.read_flow(theirs), uv)
    assert ours.read_bytes() == theirs.read_bytes()


def test_opencv_reads_our_kitti_flow_and_we_read_its(tmp_path: Path) -> None:
    uv = np.rint(field() * 64) / 64
    uv[0, 0] = np.nan
    files.write_flow(tmp_path / "ours.png", uv)
    validity, v, u = cv2.split(cv2.imread(str(tmp_path / "ours.png"), cv2.IMREAD_UNCHANGED))
    assert validity.tolist() == (~np.isnan(uv[:, :, 0])).astype(int).tolist()
    known = validity > 0
    np.testing.assert_array_equal((u[known] - 2.0**15) / 64, uv[known, 0])
    np.testing.assert_array_equal((v[known] - 2.0**15) / 64, uv[known, 1])
    assert u[0, 0] == v[0, 0] == 0
    cv2.imwrite(str(tmp_path / "theirs.png"), cv2.merge([validity * 65535, v, u]))
    np.testing.assert_array_equal(files.read_flow(tmp_path / "theirs.png"), uv)


def test_kitti_files_keep_half_a_step(tmp_path: Path) -> None:
    uv = field()
    files.write_flow(tmp_path / "f.png", uv)
    error = np.abs(files.read_flow(tmp_path / "f.png") - uv).max()
    assert 1 / 256 < error <= 1 / 128
    disparity = np.abs(uv[:, :, 0]) + 1
    files.write_disparity(tmp_path / "d.png", disparity)
    error = np.abs(files.read_disparity(tmp_path / "d.png") - disparity).max()
    assert 1 / 1024 < error <= 1 / 512


def test_opencv_reads_our_disparity_and_we_read_its(tmp_path: Path) -> None:
    disparity = np.array([[0.5, np.nan, 255.99609375]], np.float32)
    files.write_disparity(tmp_path / "ours.png", disparity)
    stored = cv2.imread(str(tmp_path / "ours.png"), cv2.IMREAD_UNCHANGED)
    assert stored.dtype == np.uint16
    assert stored.tolist() == [[128, 0, 65535]]
    cv2.imwrite(str(tmp_path / "theirs.png"), stored)
    np.testing.assert_array_equal(files.read_disparity(tmp_path / "theirs.png"), disparity)


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3)])
def test_opencv_reads_our_pfm_and_we_read_its(tmp_path: Path, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    other = values if values.ndim == 2 else values[:, :, ::-1]  # OpenCV's BGR
    files.write_pfm(tmp_path / "ours.pfm", values)
    np.testing.assert_array_equal(cv2.imread(str(tmp_path / "ours.pfm"), cv2.IMREAD_UNCHANGED), other)
    cv2.imwrite(str(tmp_path / "theirs.pfm"), other)
    np.testing.assert_array_equal(files.read_pfm(tmp_path / "theirs.pfm"), values)


@pytest.mark.parametrize("header", [b"Pf\n2 2\n1.0\n", b"Pf 2 2 0.0039 ", b"Pf\n2\n2\n+1e0\n"])
def test_big_endian_pfm_starts_with_the_bottom_row(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "a.pfm").write_bytes(header + struct.pack(">4f", 1, 2, 3, 4))
    values = files.read_pfm(tmp_path / "a.pfm")
    assert values.dtype == np.float32
    assert values.tolist() == [[3, 4], [1, 2]]


def test_near_zero_disparity_stays_known(tmp_path: Path) -> None:
    files.write_disparity(tmp_path / "d.png", np.array([[0.0, 0.001, 0.003]]))
    assert files.read_disparity(tmp_path / "d.png").tolist() == [[1 / 256, 1 / 256, 1 / 256]]


def test_middlebury_marks_unknown_flow_by_its_size(tmp_path: Path) -> None:
    values = [1.666666752e9, 1.666666752e9, 5, -2e9, np.nan, 0, 1e9, -1e9]
    (tmp_path / "a.flo").write_bytes(b"PIEH" + struct.pack("<ii8f", 4, 1, *values))
    uv = files.read_flow(tmp_path / "a.flo")
    assert np.isnan(uv[0, :3]).all()
    assert uv[0, 3].tolist() == [1e9, -1e9]
    files.write_flow(tmp_path / "b.flo", uv)
    assert (np.abs(cv2.readOpticalFlow(str(tmp_path / "b.flo"))[0, :3]) > 1e9).all()


@pytest.mark.parametrize("value", [512, 511.995, -512.01, np.inf])
def test_flow_beyond_kitti_is_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(InputError, match=r"-512"):
        files.write_flow(tmp_path / "a.png", np.full((1, 1, 2), value))
    with pytest.raises(InputError, match=r"0 \.\. 255.99"):
        files.write_disparity(tmp_path / "a.png", np.full((1, 1), value))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [2e9, -np.inf])
def test_flow_that_would_read_as_unknown_is_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(InputError, match="unknown"):
        files.write_flow(tmp_path / "a.flo", np.full((1, 1, 2), value))


def test_wrong_shapes_and_suffixes(tmp_path: Path) -> None:
    for shape in [(3, 4), (3, 4, 3), (0, 4, 2)]:
        with pytest.raises(InputError, match="shape"):
            files.write_flow(tmp_path / "a.flo", np.zeros(shape))
    with pytest.raises(InputError, match="shape"):
        files.write_disparity(tmp_path / "a.png", np.zeros((3, 4, 1)))
    with pytest.raises(InputError, match="holds"):
        files.write_pfm(tmp_path / "a.pfm", np.zeros((3, 4, 2)))
    with pytest.raises(FileError, match=r"\.flo or \.png"):
        files.write_flow(tmp_path / "a.npy", np.zeros((3, 4, 2)))
    with pytest.raises(FileError, match=r"\.flo or \.png"):
        files.read_flow(tmp_path / "a.npy")
    with pytest.raises(FileError, match=r"\.png"):
        files.write_disparity(tmp_path / "a.pfm", np.zeros((3, 4)))


def test_flow_and_disparity_pngs_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    files.write_flow(tmp_path / "flow.png", field())
    files.write_disparity(tmp_path / "disparity.png", np.ones((3, 4)))
    cv2.imwrite(str(tmp_path / "picture.png"), np.zeros((3, 4, 3), np.uint8))
    for name in ("disparity.png", "picture.png"):
        with pytest.raises(FileError, match="KITTI flow PNG"):
            files.read_flow(tmp_path / name)
    for name in ("flow.png", "picture.png"):
        with pytest.raises(FileError, match="KITTI disparity PNG"):
            files.read_disparity(tmp_path / name)


def test_the_flow_of_middlebury() -> None:
    uv = files.read_flow(shared("flow/RubberWhale/flow10.flo"))
    assert uv.shape == (388, 584, 2)
    assert 0 < np.isnan(uv[:, :, 0]).mean() < 0.1
    assert 1 < np.nanmax(np.abs(uv)) < 10
