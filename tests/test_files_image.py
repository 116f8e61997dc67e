"""Pictures: every depth and channel count comes out as RGB in 0..1, and goes back without a change."""

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

LOSSLESS = [(8, s) for s in (".png", ".tif", ".tiff", ".ppm", ".bmp")]
LOSSLESS += [(16, s) for s in (".png", ".tif", ".tiff", ".ppm")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bïlder 图")


@pytest.mark.parametrize(("bits", "suffix"), LOSSLESS)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_round_trip_is_exact(folder: Path, bits: int, suffix: str, data: st.DataObject) -> None:
    shape = (*data.draw(st.tuples(st.integers(1, 9), st.integers(1, 9))), 3)
    whole = data.draw(arrays(np.uint8 if bits == 8 else np.uint16, shape))
    path = folder / f"a{suffix}"
    files.write_image(path, whole)
    image = files.read_image(path)
    assert image.dtype == np.float32
    np.testing.assert_array_equal(image, (whole / np.float32(2**bits - 1)).astype(np.float32))
    before = path.read_bytes()
    files.write_image(path, image, bits=bits)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("bits", "suffix"), [*LOSSLESS, (8, ".pgm"), (16, ".pgm")])
def test_grey_becomes_rgb(tmp_path: Path, bits: int, suffix: str) -> None:
    if suffix == ".ppm":
        suffix = ".pgm"
    grey = np.arange(12).reshape(3, 4) * (2**bits // 12)
    path = tmp_path / f"a{suffix}"
    files.write_image(path, grey.astype(np.uint8 if bits == 8 else np.uint16))
    assert cv2.imread(str(path), cv2.IMREAD_UNCHANGED).ndim == 2
    image = files.read_image(path)
    assert image.shape == (3, 4, 3)
    for channel in range(3):
        np.testing.assert_allclose(image[:, :, channel], grey / (2**bits - 1), atol=1e-7)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_transparency_is_dropped(tmp_path: Path, dtype: type) -> None:
    maximum = np.iinfo(dtype).max
    rgba = np.random.default_rng(0).integers(0, maximum, (3, 4, 4), dtype=dtype)
    rgba[:, :, 3] = 0
    cv2.imwrite(str(tmp_path / "a.png"), rgba[:, :, [2, 1, 0, 3]])
    np.testing.assert_allclose(files.read_image(tmp_path / "a.png"), rgba[:, :, :3] / maximum, atol=1e-7)


def test_channels_are_red_green_blue(tmp_path: Path) -> None:
    for suffix in (".png", ".ppm", ".tif", ".bmp"):
        files.write_image(tmp_path / f"a{suffix}", np.array([[[255, 128, 0]]], np.uint8))
        assert cv2.imread(str(tmp_path / f"a{suffix}"))[0, 0].tolist() == [0, 128, 255]
        np.testing.assert_allclose(files.read_image(tmp_path / f"a{suffix}")[0, 0], [1, 128 / 255, 0])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"P5\n# 12 bit\n#\n2 1\n4095\n" + struct.pack(">HH", 4095, 1365), [1, 1 / 3]),
        (b"P5 2 1 100 " + bytes([100, 25]), [1, 0.25]),
        (b"P2\n2 1\n15\n15 5\n", [1, 1 / 3]),
        (b"P2\n2 1\n1000\n 1000\n250", [1, 0.25]),
    ],
)
def test_pgm_is_scaled_by_its_maximum(tmp_path: Path, data: bytes, expected: list[float]) -> None:
    (tmp_path / "a.pgm").write_bytes(data)
    np.testing.assert_allclose(files.read_image(tmp_path / "a.pgm")[0, :, 1], expected, rtol=1e-6)


def test_ascii_ppm(tmp_path: Path) -> None:
    (tmp_path / "a.ppm").write_text("P3 1 2 10\n10 5 0\n0 1 2\n")
    np.testing.assert_allclose(files.read_image(tmp_path / "a.ppm")[:, 0], [[1, 0.5, 0], [0, 0.1, 0.2]])


@pytest.mark.parametrize(
    "data", [b"P5 2 1 100 " + bytes([101, 0]), b"P5 2 1 0 \0\0", b"P5 2 1 65536 \0\0\0\0", b"P2 2 1 9\n9 -1"]
)
def test_impossible_pgm(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.pgm").write_bytes(data)
    with pytest.raises(FileError, match=r"a\.pgm"):
        files.read_image(tmp_path / "a.pgm")


def jpeg_with_orientation(orientation: int) -> bytes:
    picture = np.zeros((16, 32, 3), np.uint8)
    picture[:, :16] = 255  # left half white
    data = cv2.imencode(".jpg", picture)[1].tobytes()
    tiff = b"II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    exif = b"Exif\0\0" + tiff
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:]


def test_orientation_noted_by_the_phone_is_applied(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(jpeg_with_orientation(1))
    plain = files.read_image(tmp_path / "a.jpg")
    assert plain.shape == (16, 32, 3)
    assert plain[:, 2].min() > 0.9
    (tmp_path / "a.jpg").write_bytes(jpeg_with_orientation(6))  # turn it clockwise by 90 degrees
    turned = files.read_image(tmp_path / "a.jpg")
    assert turned.shape == (32, 16, 3)
    assert turned[2].min() > 0.9
    assert turned[-2].max() < 0.1


def test_jpeg_is_close(tmp_path: Path) -> None:
    y, x = np.mgrid[:64, :96] / 96
    image = np.dstack([x, y, 0.5 + 0 * x])
    files.write_image(tmp_path / "a.JPG", image)
    assert np.abs(files.read_image(tmp_path / "a.JPG") - image).max() < 0.03


def test_floats_are_clipped_and_rounded_and_masks_become_black_and_white(tmp_path: Path) -> None:
    files.write_image(tmp_path / "a.png", np.array([[-1, 0.5 / 255 - 1e-9, 0.5 / 255 + 1e-9, 7, np.inf]]))
    assert cv2.imread(str(tmp_path / "a.png"), 0).tolist() == [[0, 0, 1, 255, 255]]
    files.write_image(tmp_path / "a.png", np.array([[True, False]]))
    assert cv2.imread(str(tmp_path / "a.png"), 0).tolist() == [[255, 0]]


@pytest.mark.parametrize(
    ("image", "named"),
    [
        (np.full((2, 2), np.nan), "NaN"),
        (np.zeros((2, 2, 4)), "shape"),
        (np.zeros((0, 2)), "shape"),
        (np.zeros(3), "shape"),
        (np.zeros((2, 2), np.int64), "int64"),
    ],
)
def test_arrays_that_are_no_picture(tmp_path: Path, image: np.ndarray, named: str) -> None:
    with pytest.raises(InputError, match=named):
        files.write_image(tmp_path / "a.png", image)
    assert not list(tmp_path.iterdir())


def test_formats_that_cannot_hold_it(tmp_path: Path) -> None:
    for name, image, bits in [
        ("a.jpg", np.zeros((2, 2)), 16),
        ("a.bmp", np.zeros((2, 2)), 16),
        ("a.ppm", np.zeros((2, 2)), 8),
        ("a.pgm", np.zeros((2, 2, 3)), 8),
        ("a.xyz", np.zeros((2, 2)), 8),
        ("a", np.zeros((2, 2)), 8),
    ]:
        with pytest.raises(FileError, match=r"\.png"):
            files.write_image(tmp_path / name, image, bits=bits)
    with pytest.raises(InputError, match="8 or 16"):
        files.write_image(tmp_path / "a.png", np.zeros((2, 2)), bits=12)


def test_float_tiff_is_refused(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.tif"), np.zeros((4, 5, 3), np.float32))
    with pytest.raises(FileError, match="8 or 16 bits"):
        files.read_image(tmp_path / "a.tif")


def test_the_twelve_bits_of_daimler() -> None:
    image = files.read_image(shared("sceneflow/Daimler/Daimler_t0_0.pgm"))
    assert image.shape == (480, 640, 3)
    assert 0.3 < image.max() <= 1
