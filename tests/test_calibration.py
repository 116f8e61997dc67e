"""Calibration as a whole, on small rooms whose cameras are known, and what the command says."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import room
from shared_data import shared
from wideflow import Rig, Video, calibrate
from wideflow.calibration import check_rig, fit_rig
from wideflow.calibration.solving.lens import fitted_camera
from wideflow.cli import main
from wideflow.config import CalibrateConfig
from wideflow.errors import InputError
from wideflow.files import read_rig, write_intrinsics, write_rig
from wideflow.geometry import (
    baseline,
    fundamental_matrix,
    ideal_camera,
    project,
    relative_pose,
    sampson_distance,
    unproject,
    world_to_camera,
)
from wideflow.sync import FramePairs, pair_frames
from wideflow.types import Camera, RigFrame

QUICK = CalibrateConfig(features=1200, followed=300, dense_moments=2, sparse_moments=4)


def opened(folder: Path) -> tuple[Video, Video, FramePairs]:
    a, b = Video(folder / "a.mp4"), Video(folder / "b.mp4")
    return a, b, pair_frames(a.times, b.times, 0.0)


def degrees(R: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))))


def rotation_errors(found: Rig, truth: Rig) -> list[float]:
    """Of camera B as seen from A."""
    return [
        degrees(relative_pose(*frame.views)[:, :3] @ relative_pose(*truth.frame(frame.index).views)[:, :3].T)
        for frame in found.frames
    ]


def epipolar_error(found: Rig, truth: Rig) -> float:
    """Median Sampson distance in px of true correspondences under the cameras found."""
    rng = np.random.default_rng(0)
    off = []
    for frame in found.frames:
        real = truth.frame(frame.index).views
        points = rng.uniform((-1.5, -1, 4), (1.5, 1, 7), (200, 3))
        pixels = []
        for view, estimate in zip(real, frame.views, strict=True):
            seen = project(view.camera, world_to_camera(view, points))
            pixels.append(project(ideal_camera(estimate.camera), unproject(estimate.camera, seen)))
        off.append(np.abs(sampson_distance(fundamental_matrix(*frame.views), *pixels)))
    return float(np.nanmedian(off))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rig]:
    folder = tmp_path_factory.mktemp("clip")
    return folder, room.film(folder, 8)


def test_cameras_of_every_frame_are_found_kept_and_the_same_again(
    clip: tuple[Path, Rig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, truth = clip
    a, b, pairs = opened(folder)
    found = calibrate(a, b, pairs, truth.cameras, QUICK, tmp_path)
    assert [frame.index for frame in found.rig.frames] == list(range(8))
    assert [frame.times[1] for frame in found.rig.frames] == pytest.approx([k / 10 for k in range(8)])
    assert np.median(rotation_errors(found.rig, truth)) < 0.25
    assert epipolar_error(found.rig, truth) < 0.25
    assert np.mean([baseline(*frame.views) for frame in found.rig.frames]) == pytest.approx(1)
    report = found.report
    assert report.registered == (8, 8)
    assert report.static == (False, False)
    assert report.doubts == ()
    assert report.reprojection_error_median < 0.5
    assert report.inliers_across > 50
    assert np.allclose(report.axis_angle, 14, atol=4)
    assert json.loads(json.dumps(report.as_dict()))["scale"] == "unknown"
    # killed during the last step: the others are not done again, and the result has the same bits
    (kept,) = tmp_path.iterdir()
    (kept / "motion.bin").write_bytes((kept / "motion.bin").read_bytes()[:100])
    monkeypatch.setattr("wideflow.calibration.sightings.matches.dense_matches", None)
    monkeypatch.setattr("wideflow.calibration.sightings.matches.sparse_matches", None)
    again = calibrate(*opened(folder), truth.cameras, QUICK, tmp_path)
    for one, two in zip(found.rig.frames, again.rig.frames, strict=True):
        assert (one.views[0].cam_from_world == two.views[0].cam_from_world).all()
        assert (one.views[1].cam_from_world == two.views[1].cam_from_world).all()


def test_tripods_have_one_pose_and_their_focal_lengths_are_said_to_be_a_guess(tmp_path: Path) -> None:
    truth = room.film(tmp_path, 6, moves=(0, 0))
    a, b, pairs = opened(tmp_path)
    found = calibrate(a, b, pairs, truth.cameras, QUICK)
    assert found.report.static == (True, True)
    assert found.report.doubts == ()
    poses = np.array([[view.cam_from_world for view in frame.views] for frame in found.rig.frames])
    assert (poses == poses[0]).all()
    assert max(rotation_errors(found.rig, truth)) < 0.2
    guessed = calibrate(a, b, pairs, (None, None), QUICK).report
    assert guessed.intrinsics_source == ("guessed", "guessed")
    assert "poor" in [doubt.grade for doubt in guessed.doubts]
    assert any("--intrinsics-a" in doubt.remedy for doubt in guessed.doubts)


def test_portrait_against_landscape(tmp_path: Path) -> None:
    truth = room.film(tmp_path, 8, size_b=(240, 320))
    a, b, pairs = opened(tmp_path)
    assert (a.size, b.size) == ((320, 240), (240, 320))
    found = calibrate(a, b, pairs, truth.cameras, QUICK)
    assert len(found.rig.frames) == 8
    assert np.median(rotation_errors(found.rig, truth)) < 0.25
    assert found.report.doubts == ()


@pytest.mark.parametrize(
    ("what", "said"),
    [({"turn": 180.0}, "overlap"), ({"plain": True}, "more texture"), ({"angle": 170.0}, "overlap")],
)
def test_what_cannot_be_calibrated_is_one_sentence(
    what: dict[str, float], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    room.film(tmp_path, 4, **what)
    words = ["calibrate", str(tmp_path / "a.mp4"), str(tmp_path / "b.mp4"), "-o", str(tmp_path / "rig.json")]
    code = main([*words, "--offset", "0", "--quiet", "--set", "calibrate.features=800"])
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert code == 2
    assert not (tmp_path / "rig.json").exists()


def test_command_writes_rig_and_report_in_the_unit_that_was_given(
    clip: tuple[Path, Rig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, truth = clip
    for camera in truth.cameras:
        write_intrinsics(tmp_path / f"{camera.name}.json", camera)
    new = tmp_path / "new"
    words = ["calibrate", str(folder / "a.mp4"), str(folder / "b.mp4"), "-o", str(new / "rig.json")]
    lenses = ["--intrinsics-a", str(tmp_path / "a.json"), "--intrinsics-b", str(tmp_path / "b.json")]
    more = ["--offset", "0", "--frames", "2:6", "--set", "calibrate.features=1000", "--seed", "3"]
    assert main([*words, *lenses, *more, "--scale", "1.34", "--scale-frame", "4", "--quiet"]) == 0
    rig = read_rig(new / "rig.json")
    assert [frame.index for frame in rig.frames] == [2, 3, 4, 5]
    assert baseline(*rig.frame(4).views) == pytest.approx(1.34)
    report = json.loads((new / "calibration.json").read_text())
    assert report["sync"]["method"] == "given"
    assert "1.34" in report["scale"]
    assert report["baseline"][2] == pytest.approx(1.34)
    assert report["intrinsics_source"] == ["given", "given"]
    assert capsys.readouterr().out == ""
    write_rig(tmp_path / "true.json", truth)
    checked = [
        *words[:-1],
        str(tmp_path / "checked.json"),
        "--offset",
        "0",
        "--rig",
        str(tmp_path / "true.json"),
    ]
    assert main(checked) == 0
    assert "given" in capsys.readouterr().out
    assert read_rig(tmp_path / "checked.json").frame(3).views[0].t == pytest.approx(truth.frame(3).views[0].t)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scale", "0"], "above 0"),
        (["--scale-points", "1,2:3,4"], "belong together"),
        (["--scale", "1", "--scale-points", "1,2:3,4", "--scale-length", "2"], "only one of"),
        (["--scale-points", "1,2", "--scale-length", "2"], "X,Y:X,Y"),
        (["--scale-frame", "2"], "--scale"),
        (["--tag-size", "-1"], "above 0"),
        (["--scale", "1", "--tag-size", "0.2"], "only one of"),
        (["--frames", "7"], "START:STOP"),
        (["--frames", "7:7"], "no frame"),
        (["--frames", "900:"], "choose --frames there"),
        (["--intrinsics-a", "nowhere.json"], "does not exist"),
        (["--rig", "nowhere.json"], "does not exist"),
        (["--rig", "x.json", "--intrinsics-a", "y.json"], "leave out"),
    ],
)
def test_wrong_options_are_one_sentence(
    words: list[str], said: str, clip: tuple[Path, Rig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    videos = [str(clip[0] / "a.mp4"), str(clip[0] / "b.mp4")]
    assert main(["calibrate", *videos, "-o", str(tmp_path / "rig.json"), "--offset", "0", "-q", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["empty", "short", "sound", "missing"])
def test_files_that_are_no_videos_are_one_sentence(
    name: str, clip: tuple[Path, Rig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / f"{name}.mp4"
    whole = (clip[0] / "a.mp4").read_bytes()
    contents = {
        "empty": b"",
        "short": whole[: len(whole) // 2],
        "sound": b"ID3" + bytes(400) + b"\xff\xfb\x90" * 99,
    }
    if name != "missing":
        bad.write_bytes(contents[name])
    assert main(["calibrate", str(bad), str(clip[0] / "b.mp4"), "-o", str(tmp_path / "rig.json"), "-q"]) == 2
    error = capsys.readouterr().err
    assert f"{name}.mp4" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("out", ["rig.txt", "calibration.json"])
def test_output_is_checked_first(out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "a.mp4", "b.mp4", "-o", str(tmp_path / out)]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_a_given_rig_is_checked_against_the_pictures(clip: tuple[Path, Rig]) -> None:
    folder, truth = clip
    a, b, pairs = opened(folder)
    good = check_rig(truth, a, b, pairs)
    assert good.doubts == ()
    assert good.reprojection_error_median < 0.5
    assert good.registered == (8, 8)
    swapped = Rig(
        truth.cameras[::-1],
        tuple(RigFrame(f.index, f.times, (f.views[1], f.views[0])) for f in truth.frames),
    )
    (wrong,) = check_rig(swapped, a, b, pairs).doubts
    assert (wrong.grade, "does not fit these videos" in wrong.sentence) == ("poor", True)
    late = Rig(truth.cameras, tuple(replace(f, times=(f.times[0] + 3, f.times[1])) for f in truth.frames))
    (doubt,) = check_rig(late, a, b, pairs).doubts
    assert (doubt.grade, "times differ" in doubt.sentence) == ("weak", True)
    elsewhere = Rig(truth.cameras, tuple(replace(f, index=f.index + 50) for f in truth.frames))
    with pytest.raises(InputError, match="frames 50 to 57"):
        check_rig(elsewhere, a, b, pairs)
    small = with_cameras(truth, tuple(replace_camera(camera, 0.5) for camera in truth.cameras))
    assert np.allclose(fit_rig(small, a, b).cameras[0].K, truth.cameras[0].K)
    assert check_rig(small, a, b, pairs).doubts == ()


def test_a_measured_rig_that_few_matches_can_check_is_not_poor() -> None:
    folder = shared("real/hall49")
    report = check_rig(read_rig(folder / "rig.json"), *opened(folder))
    (doubt,) = report.doubts
    assert (doubt.grade, "could not be checked" in doubt.sentence) == ("weak", True)
    assert report.as_dict()["reprojection_error_median"] is None


def replace_camera(camera: Camera, factor: float) -> Camera:
    width, height = (round(side * factor) for side in camera.size)
    return fitted_camera(camera, (width, height), camera.name, "")


def with_cameras(rig: Rig, cameras: tuple[Camera, ...]) -> Rig:
    frames = [
        replace(f, views=tuple(replace(v, camera=c) for c, v in zip(cameras, f.views, strict=True)))
        for f in rig.frames
    ]
    return Rig((cameras[0], cameras[1]), tuple(frames))
