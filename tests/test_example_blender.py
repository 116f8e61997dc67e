"""The script that loads a result into Blender: all that it does without Blender."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from result_scenes import perfect_result
from wideflow import ExportOptions, export_result
from wideflow.files import read_ply
from wideflow.geometry import project, world_to_camera
from wideflow.storage.result import Result

SCRIPT = Path(__file__).parents[1] / "examples" / "blender" / "load_result.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return perfect_result(tmp_path_factory.mktemp("blender"))


@pytest.fixture(scope="module")
def folder(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scene")
    export_result(result, "fused", out / "fused")
    export_result(result, "ply", out / "ply", ExportOptions(stride=2))
    export_result(result, "nerfstudio", out / "cameras")
    return out


def test_it_reads_our_clouds(script: dict[str, Any], folder: Path) -> None:
    clouds = script["find_clouds"](folder / "fused")
    assert set(clouds) == {None, 0, 1, 2}
    assert set(script["find_clouds"](folder / "ply")) == {0, 2}
    for path in (clouds[None], clouds[0], clouds[2], folder / "ply" / "points.0000.ply"):
        xyz, rgb, velocity = script["read_cloud"](path)
        cloud = read_ply(path)
        np.testing.assert_array_equal(xyz, cloud.xyz)
        np.testing.assert_array_equal(rgb, cloud.rgb)
        wanted = np.zeros_like(xyz) if cloud.velocity is None else np.nan_to_num(cloud.velocity)
        np.testing.assert_array_equal(velocity, wanted)
    assert np.abs(script["read_cloud"](clouds[0])[2]).max() > 0


def test_blender_s_camera_sees_what_ours_does(script: dict[str, Any], result: Result, folder: Path) -> None:
    """Blender's rule: a film 36 mm wide, the lens shifted in widths, y up, looking along -z."""
    cameras = script["read_cameras"](folder / "cameras")
    turn = script["upright"](cameras)
    np.testing.assert_allclose(turn[:3, :3] @ turn[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1)
    xyz = result.points(1)[np.isfinite(result.depth(1))][::211].astype(float)
    for i, letter in enumerate("ab"):
        frame = cameras[letter][1]
        camera_to_scene = turn @ np.array(frame["transform_matrix"])
        assert camera_to_scene[2, 1] > 0.9  # up is up
        scene = turn[:3, :3] @ xyz.T
        x, y, z = np.linalg.inv(camera_to_scene)[:3] @ np.vstack([scene, np.ones(len(xyz))])
        lens, (shift_x, shift_y) = script["lens_of"](frame)
        u = frame["w"] * (0.5 + lens / 36 * x / -z - shift_x)
        v = frame["h"] / 2 - frame["w"] * (lens / 36 * y / -z - shift_y)
        view = result.rig.frames[1].views[i]
        ours = project(view.camera, world_to_camera(view, xyz)) + 0.5
        np.testing.assert_allclose(np.stack([u, v], 1), ours, atol=1e-6)
    first = turn @ np.array(cameras["a"][0]["transform_matrix"])
    assert abs(first[0, 2]) < 1e-9  # A looks along y
    assert first[1, 2] < -0.9


def test_frames_keep_the_speed_of_the_videos(script: dict[str, Any]) -> None:
    rate = script["frame_rate"]
    assert rate({4: {"seconds": 1.0}, 10: {"seconds": 1.2}}) == pytest.approx(30)
    assert rate({3: {"seconds": 1.0}}) == 24


def test_what_is_missing_is_one_sentence(script: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no points"):
        script["find_clouds"](tmp_path)
    with pytest.raises(SystemExit, match="is missing"):
        script["read_cameras"](tmp_path)
    with pytest.raises(SystemExit, match="usage"):
        script["main"]([])
