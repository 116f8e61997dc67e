"""Calibrations of motion capture, as the programs that make them write them."""

from pathlib import Path

import numpy as np
import pytest

from wideflow.errors import FileError
from wideflow.files import read_intrinsics, read_rig
from wideflow.types import Camera

EASYMOCAP = (
    '%YAML:1.0\r\n---\r\nnames:\r\n  - "01"\r\n  - "02"\r\n'
    + "".join(
        f"K_{name}: !!opencv-matrix\r\n  rows: 3\r\n  cols: 3\r\n  dt: d\r\n"
        f"  data: [{focal}, 0.000000, 959.500000, 0.000000, {focal}, 539.500000, 0.0, 0.0, 1.000000]\r\n"
        f"dist_{name}: !!opencv-matrix\r\n  rows: 1\r\n  cols: 5\r\n  dt: d\r\n"
        "  data: [-0.100000, 0.020000, 0.001000, -0.002000, 0.000000]\r\n"
        for name, focal in (("01", "1500.000000"), ("02", "1400.000000"))
    ),
    '%YAML:1.0\r\n---\r\nnames:\r\n  - "01"\r\n  - "02"\r\n'
    + "".join(
        f"R_{name}: !!opencv-matrix\r\n  rows: 3\r\n  cols: 1\r\n  dt: d\r\n"
        f"  data: [0.000000, {angle}, 0.000000]\r\n"
        f"T_{name}: !!opencv-matrix\r\n  rows: 3\r\n  cols: 1\r\n  dt: d\r\n  data: [0.5, 0.0, 2.0]\r\n"
        for name, angle in (("01", "0.000000"), ("02", "1.570796"))
    ),
)
SIZES = "".join(f"H_{name}: 1080\r\nW_{name}: 1920\r\n" for name in ("01", "02"))
POSE2SIM = "".join(
    f"""[cam_{name}]
name = "cam_{name}"
size = [ 1920.0, 1080.0,]
matrix = [ [ {focal}, 0.0, 959.5,], [ 0.0, {focal}, 539.5,], [ 0.0, 0.0, 1.0,],]
distortions = [ -0.1, 0.02, 0.001, -0.002,]
rotation = [ 0.0, {angle}, 0.0,]
translation = [ 0.5, 0.0, 2.0,]
fisheye = false

"""
    for name, focal, angle in (("01", 1500.0, 0.0), ("02", 1400.0, 1.570796))
)
POSE2SIM += "[metadata]\nadjusted = false\nerror = 0.0\n"


def easymocap(folder: Path, sizes: str = SIZES) -> Path:
    folder.mkdir()
    (folder / "intri.yml").write_bytes((EASYMOCAP[0] + sizes).encode())
    (folder / "extri.yml").write_bytes(EASYMOCAP[1].encode())
    return folder


def test_both_give_the_same_rig(tmp_path: Path) -> None:
    (tmp_path / "Calib.toml").write_text(POSE2SIM)
    for rig in (read_rig(easymocap(tmp_path / "set")), read_rig(tmp_path / "Calib.toml")):
        a, b = rig.cameras
        assert a.size == b.size == (1920, 1080)
        np.testing.assert_array_equal(a.K, [[1500, 0, 959.5], [0, 1500, 539.5], [0, 0, 1]])
        np.testing.assert_array_equal(b.distortion, [-0.1, 0.02, 0.001, -0.002])
        assert len(rig.frames) == 1
        np.testing.assert_allclose(rig.frames[0].views[0].cam_from_world, np.c_[np.eye(3), (0.5, 0, 2)])
        quarter = [[0, 0, 1, 0.5], [0, 1, 0, 0], [-1, 0, 0, 2]]  # about y, from z to x
        np.testing.assert_allclose(rig.frames[0].views[1].cam_from_world, quarter, atol=1e-6)


def test_one_of_several_lenses(tmp_path: Path) -> None:
    (tmp_path / "Calib.toml").write_text(POSE2SIM)
    folder = easymocap(tmp_path / "set")
    found: list[Camera] = [
        read_intrinsics(f"{folder / 'intri.yml'}:02"),
        read_intrinsics(Path(f"{tmp_path / 'Calib.toml'}:cam_02")),
    ]
    assert [camera.K[0, 0] for camera in found] == [1400, 1400]
    (folder / "extri.yml").unlink()  # a lens needs no pose
    assert read_intrinsics(f"{folder / 'intri.yml'}:01").name == "01"
    with pytest.raises(
        FileError, match=r"has several cameras; give one as .*:NAME' \(there are '01', '02'\)"
    ):
        read_intrinsics(folder / "intri.yml")
    with pytest.raises(FileError, match="has no camera 'b'"):
        read_intrinsics(f"{tmp_path / 'Calib.toml'}:b")


def test_a_set_without_sizes_or_poses_says_what_to_add(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="add the lines 'H_01: HEIGHT' and 'W_01: WIDTH'"):
        read_rig(easymocap(tmp_path / "set", ""))
    folder = easymocap(tmp_path / "other")
    (folder / "extri.yml").unlink()
    with pytest.raises(FileError, match="has no pose of camera '01'"):
        read_rig(folder)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("fisheye = false", "fisheye = true", "is for another lens model"),
        ("[ -0.1, 0.02, 0.001, -0.002,]", "[ -0.1, 0.02, 0.001, -0.002, 0.3]", "goes beyond k1, k2, p1, p2"),
        ("[ -0.1, 0.02, 0.001, -0.002,]", "[ -0.1,]", "has 1 numbers instead of 4"),
        ("[ 0.5, 0.0, 2.0,]", "[ [0.5, 0.0, 2.0], [0.6, 0.0, 2.0]]", "is of a camera that moves"),
        ("[ 0.5, 0.0, 2.0,]", "[ 0.5, nan, 2.0]", r"cam_01\.translation\[1\] must be a finite number"),
        ("size = [ 1920.0, 1080.0,]", "size = [ 0.5, 1080.0]", r"cam_01\.size must be a width and a height"),
        ("size = [ 1920.0, 1080.0,]", "", r"lacks the field cam_01\.size"),
        ("[cam_02]", "[charuco]", r"has 1 cameras \('cam_01'\); a rig has exactly 2"),
    ],
)
def test_what_cannot_be_is_one_sentence(before: str, after: str, sentence: str, tmp_path: Path) -> None:
    assert before in POSE2SIM
    (tmp_path / "Calib.toml").write_text(POSE2SIM.replace(before, after))
    with pytest.raises(FileError, match=sentence) as error:
        read_rig(tmp_path / "Calib.toml")
    assert "\n" not in str(error.value)
