"""Every reader against every kind of damage: one clear FileError, no crash, nothing allocated on a claim."""

import contextlib
import multiprocessing
import os
import struct
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wideflow import files
from wideflow.errors import FileError
from wideflow.types import Camera, Rig, RigFrame, View

CAMERA = Camera("a", 6, 5, [[5, 0, 2.5], [0, 5, 2], [0, 0, 1]])
VIEW = View(CAMERA, np.eye(3, 4))
RIG = Rig((CAMERA, CAMERA), (RigFrame(0, (0.0, 0.0), (VIEW, VIEW)), RigFrame(1, (1.0, 1.0), (VIEW, VIEW))))
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("name", READERS)
def test_the_whole_file_is_read(name: str, tmp_path: Path) -> None:
    READERS[name][1](tmp_path / name)
    READERS[name][0](tmp_path / name)


@pytest.mark.parametrize("name", READERS)
def test_missing_directory_and_empty(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    refuses(name, path)
    path.write_bytes(b"")
    if name == "points3D.txt":  # COLMAP itself asks for an empty file where poses are known
        assert len(READERS[name][0](path).points.ids) == 0
    else:
        assert "empty" in refuses(name, path)
    path.unlink()
    path.mkdir()
    refuses(name, path)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "content", [b"\x00\xff\xfe wrong" * 20, b"hello, this is a letter\n" * 20, b"\n", b"\0"]
)
def test_wrong_magic(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    if name == "points3D.txt" and not content.strip():
        return
    refuses(name, tmp_path / name)


@pytest.mark.parametrize("name", READERS)
def test_every_other_format_is_refused(name: str, tmp_path: Path) -> None:
    reader = READERS[name][0]
    for other, (its_reader, writer) in READERS.items():
        readable = its_reader is reader if reader is not read_colmap_file else other == name
        if readable or (reader is files.read_image and other.endswith(".png")):
            continue  # a KITTI file is a picture, too
        source, target = tmp_path / f"from {other}", tmp_path / f"to {other}"
        source.mkdir()
        target.mkdir()
        writer(source / other)
        (source / other).rename(target / name)
        refuses(name, target / name)


@pytest.mark.parametrize("name", BINARY)
def test_every_cut_is_noticed(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    BINARY[name][1](path)
    data = path.read_bytes()
    for length in sorted({*range(1, min(len(data), 150)), *range(1, len(data), 37), len(data) - 1}):
        path.write_bytes(data[:length])
        refuses(name, path)


@pytest.mark.parametrize("name", TEXT)
def test_cut_text_is_refused_or_still_whole(name: str, tmp_path: Path) -> None:
    """Text has no length to check it by: what is left must at least be a consistent file, or be refused."""
    path = tmp_path / name
    TEXT[name][1](path)
    data = b"".join(line for line in path.read_bytes().splitlines(True) if not line.startswith(b"#"))
    outcomes = {"read": 0, "refused": 0}
    for length in range(1, len(data) - 2):
        path.write_bytes(data[:length])
        try:
            TEXT[name][0](path)
            outcomes["read"] += 1
        except FileError:
            outcomes["refused"] += 1
    assert outcomes["refused"] > 0.5 * len(data)
    if name.endswith(".json"):
        assert outcomes["read"] == 0


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_flipped_bytes_never_raise_anything_else(folder: Path, name: str, data: st.DataObject) -> None:
    place = folder / name.replace(".", "_")
    place.mkdir(exist_ok=True)
    path = place / name
    if not (place / "good").exists():
        READERS[name][1](path)
        path.rename(place / "good")
    content = bytearray((place / "good").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with contextlib.suppress(FileError):
        READERS[name][0](path)


def png(width: int, height: int, depth: int, colour_type: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    data = bytearray(cv2.imencode(".jpg", np.zeros((8, 8), np.uint8))[1].tobytes())
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def tiff(width: int, height: int) -> bytes:
    entries = struct.pack("<HHHII", 2, 256, 4, 1, width) + struct.pack("<HHII", 257, 4, 1, height)
    return b"II*\0" + struct.pack("<I", 8) + entries + bytes(200)


HUGE_INT = 2**31 - 1
HUGE: list[tuple[str, bytes]] = [
    ("a.flo", b"PIEH" + struct.pack("<ii", HUGE_INT, HUGE_INT) + bytes(99)),
    ("a.flo", b"PIEH" + struct.pack("<ii", 16384, 16384) + bytes(99)),
    ("a.flo", b"PIEH" + struct.pack("<ii", -1, -1) + bytes(8)),
    ("a.flo", b"PIEH" + struct.pack("<ii", 0, 7)),
    ("kitti.png", png(2**31 - 1, 2**31 - 1, 16, 2)),
    ("kitti.png", png(16000, 16000, 16, 2)),
    ("disparity.png", png(16000, 16000, 16, 0)),
    ("disparity.png", png(0, 10, 16, 0)),
    ("a.pfm", b"PF\n999999999 999999999\n-1\n" + bytes(99)),
    ("a.pfm", b"PF\n16384 16384\n-1\n" + bytes(99)),
    ("a.pfm", b"Pf\n0 0\n-1\n"),
    ("a.pfm", b"Pf\n1 1\n0\n" + bytes(4)),
    ("a.pfm", b"Pf\n1 1\n1.2.3\n" + bytes(4)),
    ("a.png", png(2**31 - 1, 2**31 - 1, 8, 2)),
    ("a.png", png(16000, 16000, 8, 2)),
    ("a.png", png(0, 0, 8, 2)),
    ("a.jpg", jpeg(65535, 65535)),
    ("a.jpg", jpeg(16000, 16000)),
    ("a.jpg", jpeg(0, 100)),
    ("a.tif", tiff(HUGE_INT, HUGE_INT)),
    ("a.tif", tiff(16000, 16000)),
    ("a.tif", tiff(0, 0)),
    ("a.bmp", b"BM" + bytes(16) + struct.pack("<ii", 16000, -16000) + bytes(99)),
    ("a.ppm", b"P6\n999999999 999999999\n255\n" + bytes(99)),
    ("a.ppm", b"P6\n16000 16000\n65535\n" + bytes(99)),
    ("a.ppm", b"P3\n16000 16000\n255\n1 2 3 4"),
    ("a.ppm", b"P6\n0 0\n255\n"),
    ("a.ppm", b"P6\n1 " + b"9" * 500 + b"\n255\n"),
    *[
        ("a.ply", f"ply\nformat {kind} 1.0\nelement vertex {count}\nproperty double x\nproperty double y\n"
         "property double z\nend_header\n1 2 3\n".encode())
        for kind in ("ascii", "binary_little_endian") for count in (10**8, 10**15 - 1, 10**30)
    ],
    ("cameras.bin", struct.pack("<Q", 2**63) + bytes(99)),
    ("cameras.bin", struct.pack("<QIiQQ4d", 1, 1, 1, 2**60, 2**60, 5, 5, 1, 1)),
    ("images.bin", struct.pack("<Q", 10**9) + bytes(99)),
    ("images.bin", struct.pack("<QI7dI", 1, 1, 1, 0, 0, 0, 0, 0, 0, 1) + b"a\0" + struct.pack("<Q", 2**62)),
    ("points3D.bin", struct.pack("<Q", 10**9) + bytes(99)),
    ("points3D.bin", struct.pack("<Qq3d3BdQ", 1, 4, 1, 1, 1, 0, 0, 0, 1, 2**61)),
    ("camera.json", b'{"name": "a", "width": 1000000000, "height": 1000000000, '
     b'"K": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "distortion": [0, 0, 0, 0]}'),
    ("camera.yml", b"%YAML:1.0\n---\nimage_width: 5\nimage_height: 5\ncamera_matrix: !!opencv-matrix\n"
     b"   rows: 100000\n   cols: 100000\n   dt: d\n   data: [ 1., 0. ]\n"),
    ("rig.json", b"[" * 100_000),
    ("rig.json", b'{"version": ' + b"1" * 10_000 + b"}"),
    ("camera.json", b'{"a":' * 100_000),
    ("camera.yml", b"%YAML:1.0\n---\na: " + b"[" * 100_000),
    ("camera.yml", b'<?xml version="1.0"?>\n' + b"<a>" * 100_000),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(HUGE)))
def test_huge_and_impossible_headers(i: int, tmp_path: Path) -> None:
    name, content = HUGE[i]
    (tmp_path / name).write_bytes(content)
    refuses(name, tmp_path / name)


def growth_of_memory(folder: Path) -> int:
    """Bytes by which the largest address space of this process grows while all of HUGE is read."""

    def peak() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmPeak"))

    for name, (reader, writer) in READERS.items():  # libraries are loaded before we measure
        place = folder / f"good_{name}"
        place.mkdir()
        writer(place / name)
        reader(place / name)
    before = peak()
    for i, (name, content) in enumerate(HUGE):
        place = folder / str(i)
        place.mkdir()
        (place / name).write_bytes(content)
        refuses(name, place / name)
    return peak() - before


def test_nothing_is_allocated_on_a_claim(tmp_path: Path) -> None:
    if not os.path.exists("/proc/self/status"):
        pytest.skip("this system does not tell the size of a process")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        growth = pool.submit(growth_of_memory, tmp_path).result(timeout=120)
    assert growth < 64 * 2**20  # the smallest honest reading of any of these claims is 500 MB
