"""Headers that claim more than the file holds: one clear FileError, and nothing allocated on the claim."""

import multiprocessing
import os
import struct
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import pytest

from file_readers import READERS, refuses


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
