"""Every reader against every kind of damage: one clear FileError, no crash."""

import contextlib
from pathlib import Path

import cv2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from file_readers import BINARY, READERS, TEXT, read_colmap_file, refuses
from wideflow import files
from wideflow.errors import FileError


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


@pytest.mark.parametrize("name", ["a.flo", "kitti.png", "disparity.png", "a.pfm", "a.png", "a.jpg", "a.ply"])
def test_the_first_byte_matters(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    BINARY[name][1](path)
    path.write_bytes(b"\x01" + path.read_bytes()[1:])
    assert "not a" in refuses(name, path)


@pytest.mark.parametrize("name", ["a.flo", "a.pfm", "cameras.bin", "images.bin", "points3D.bin"])
def test_bytes_that_nothing_accounts_for_are_noticed(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    BINARY[name][1](path)
    path.write_bytes(path.read_bytes() + b"\0")
    refuses(name, path)


@pytest.mark.parametrize("name", ["a.png", "kitti.png", "disparity.png", "a.jpg"])
def test_opencv_sees_no_cut_or_corrupt_picture(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its older versions return half a picture, and all of them print messages of their own."""
    path = tmp_path / name
    BINARY[name][1](path)
    data = path.read_bytes()

    def decoded(*_: object) -> None:
        raise AssertionError("OpenCV was asked")

    monkeypatch.setattr(cv2, "imdecode", decoded)
    with pytest.raises(AssertionError):
        BINARY[name][0](path)
    for length in (10, 30, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        refuses(name, path)
    if name.endswith(".png"):
        path.write_bytes(data[:-30] + bytes([data[-30] ^ 1]) + data[-29:])
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
