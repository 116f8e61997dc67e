"""Whole files or none: atomic writes, and one sentence for whatever the disk refuses."""

import errno
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from wideflow import files
from wideflow.errors import FileError
from wideflow.files.disk import atomic_path, read_bytes, write_bytes
from wideflow.types import Camera, Rig, RigFrame, View

CAMERA = Camera("a", 4, 3, np.diag([5.0, 5.0, 1.0]))
RIG = Rig((CAMERA, CAMERA), (RigFrame(0, (0.0, 0.0), (View(CAMERA, np.eye(3, 4)),) * 2),))
MODEL = files.ColmapModel({1: CAMERA}, {1: files.ColmapImage.at_pose("a.png", 1, np.eye(3, 4))})

WRITERS = {
    "rig.json": lambda path: files.write_rig(path, RIG),
    "camera.json": lambda path: files.write_intrinsics(path, CAMERA),
    "camera.yml": lambda path: files.write_intrinsics(path, CAMERA),
    "field.flo": lambda path: files.write_flow(path, np.zeros((3, 4, 2))),
    "field.png": lambda path: files.write_flow(path, np.zeros((3, 4, 2))),
    "disparity.png": lambda path: files.write_disparity(path, np.ones((3, 4))),
    "values.pfm": lambda path: files.write_pfm(path, np.zeros((3, 4))),
    "picture.png": lambda path: files.write_image(path, np.zeros((3, 4, 3))),
    "cloud.ply": lambda path: files.write_ply(path, files.PointCloud(np.zeros((2, 3)))),
    "cameras.bin": lambda path: files.write_colmap(path.parent, MODEL, binary=True),
    "points3D.txt": lambda path: files.write_colmap(path.parent, MODEL, binary=False),
}


def one_sentence(error: pytest.ExceptionInfo[FileError], *names: str) -> None:
    message = str(error.value)
    assert "\n" not in message
    assert 20 < len(message) < 400
    for name in names:
        assert name in message


@pytest.fixture(params=WRITERS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


def test_writer_replaces_the_old_file_and_leaves_nothing_else(target: Path) -> None:
    target.write_bytes(b"old")
    WRITERS[target.name](target)
    assert target.read_bytes() != b"old"
    assert not list(target.parent.glob(".*"))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_failed_write_keeps_the_old_file(target: Path, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("wideflow.files.disk.os.replace", full)
    with pytest.raises(FileError) as error:
        WRITERS[target.name](target)
    one_sentence(error, str(target.parent))
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    assert target.read_bytes() == b"old"


def test_writer_into_a_missing_directory(target: Path) -> None:
    inside = target.parent / "missing" / "deeper" / target.name
    with pytest.raises(FileError) as error:
        WRITERS[target.name](inside)
    one_sentence(error, "missing")


def write_through(target: Path, place: str) -> None:
    with atomic_path(target) as temporary:
        temporary.unlink()
        temporary.symlink_to(place)
        temporary.write_bytes(b"new" * 10_000)


def test_full_disk_in_the_middle_of_a_file(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    target = tmp_path / "file.bin"
    target.write_bytes(b"old")
    with pytest.raises(FileError, match="disk is full") as error:
        write_through(target, "/dev/full")
    one_sentence(error, "file.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]
    assert target.read_bytes() == b"old"


def interrupt_in_block(target: Path) -> None:
    with atomic_path(target) as temporary:
        temporary.write_bytes(b"half")
        raise KeyboardInterrupt


def test_an_interrupt_is_passed_on_and_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file.bin"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupt_in_block(target)
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]
    assert target.read_bytes() == b"old"


def test_the_temporary_file_has_the_suffix_and_the_result_obeys_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with atomic_path(tmp_path / "a.mp4") as temporary:
            assert temporary.suffix == ".mp4"
            assert temporary.parent == tmp_path
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.mp4").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "link.bin"
    link.symlink_to(tmp_path / "elsewhere" / "real.bin")
    write_bytes(link, b"data", np.arange(3, dtype=np.uint8))
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "real.bin").read_bytes() == b"data\x00\x01\x02"


def test_directories_and_devices_are_no_targets(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="directory"):
        write_bytes(tmp_path, b"data")
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    with pytest.raises(FileError, match="pipe"):
        write_bytes(fifo, b"data")
    with pytest.raises(FileError, match="pipe"):
        read_bytes(fifo, "picture")
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_the_magic_is_checked_before_a_large_file_is_read(tmp_path: Path) -> None:
    large = tmp_path / "large.flo"
    with open(large, "wb") as file:
        file.truncate(2**31)  # sparse: takes no room, but would take 2 GB of memory
    with pytest.raises(FileError, match="not a flow"):
        read_bytes(large, "flow", (b"PIEH",))
    with pytest.raises(FileError, match="too many"):
        read_bytes(large, "flow", limit=2**20)
