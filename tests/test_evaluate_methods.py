"""The handheld benchmark: rectification, other methods, anyone's results, and the suite."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from result_scenes import perfect_result
from wideflow.cli import main
from wideflow.errors import FileError, InputError
from wideflow.evaluate.datasets.handheld import handheld_samples
from wideflow.evaluate.datasets.sample import Sample
from wideflow.evaluate.methods import deepflow, dis, method, sgbm, stored, with_depth
from wideflow.evaluate.rectify import rectify
from wideflow.evaluate.score_sample import score_sample
from wideflow.files import read_intrinsics, write_flow, write_rig
from wideflow.geometry import flow_between, points_from_depth
from wideflow.synth import SynthConfig, suite
from wideflow.synth.camera.hands import hands
from wideflow.synth.video_suite import HALVES, video_suite
from wideflow.types import Camera, Rig, RigFrame, View


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rendered scene in ``scene``, its truth as a result in ``out``."""
    place = tmp_path_factory.mktemp("benchmark")
    perfect_result(place, frames=2, size=(192, 108))
    return place


@pytest.fixture(scope="module")
def sample(folder: Path) -> Sample:
    return handheld_samples(folder / "scene")[0].load()


@given(st.floats(-20, 20), st.floats(-25, 25), st.floats(-20, 20), st.booleans())
@settings(max_examples=40, deadline=None)
def test_rectified_matches_share_a_row_and_give_their_flow_back(
    turn: float, roll: float, rise: float, left: bool
) -> None:
    a, b = np.radians([turn, roll])
    yaw = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    tilt = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    K = np.array([[60.0, 0, 31], [0, 60, 20], [0, 0, 1]])
    centre = np.array([-1.0 if left else 1.0, rise / 50, 0.1])
    R = tilt @ yaw
    first = View(Camera("a", 64, 40, K), np.eye(3, 4))
    second = View(Camera("b", 70, 44, K), np.column_stack([R, -R @ centre]))
    depth = 6 + np.random.default_rng(0).random((40, 64))
    flow = flow_between(points_from_depth(first, depth), first, second).astype(np.float32)
    pair = rectify(first, second)
    ones = np.ones((40, 64, 1))
    grid = np.stack(np.meshgrid(np.arange(64.0), np.arange(40.0)), -1)
    places = [np.concatenate([grid, ones], -1), np.concatenate([grid + flow, ones], -1)]
    mapped = [p @ H.T for p, H in zip(places, pair.homographies, strict=True)]
    rows = [m[..., 1] / m[..., 2] for m in mapped]
    assert np.allclose(rows[0], rows[1], atol=1e-3)
    x, y = mapped[0][..., 0] / mapped[0][..., 2], rows[0]
    assert x.min() > -1e-6
    assert y.min() > -1e-6
    assert x.max() < pair.size[0]
    assert y.max() < pair.size[1]
    true = pair.disparity_of(flow)
    constant = np.full(pair.size[::-1], np.float32(true.mean()))
    back = pair.flow_from(constant, 64, 40)  # right where the disparity is the mean one
    near = np.abs(true - true.mean()) < 0.05
    assert np.abs(back - flow)[near].max(initial=0) < 0.3


def test_cameras_along_their_baseline_cannot_be_rectified() -> None:
    camera = Camera("a", 64, 40, np.array([[60.0, 0, 31], [0, 60, 20], [0, 0, 1]]))
    ahead = View(camera, np.column_stack([np.eye(3), [0, 0, -1.0]]))
    with pytest.raises(InputError, match="cannot be rectified"):
        rectify(View(camera, np.eye(3, 4)), ahead)


def test_the_other_methods_find_something(sample: Sample) -> None:
    rows = {
        run(sample).stage: score_sample(sample, with_depth(sample, run(sample)))
        for run in (dis, deepflow, sgbm)
    }
    assert rows["dis"]["optical_bad3"] < 5
    assert rows["deepflow"]["optical_bad3"] < 5
    nothing = score_sample(sample, replace(dis(sample), stereo=np.zeros_like(sample.stereo)))
    assert rows["dis"]["stereo_mean"] < nothing["stereo_mean"]
    assert rows["sgbm"]["stereo_bad3"] < 40
    assert rows["sgbm"]["density"] < 100
    assert "optical_bad3" not in rows["sgbm"]
    assert rows["sgbm"]["depth_bad1"] < 100


def test_true_results_have_no_error(folder: Path, sample: Sample, tmp_path: Path) -> None:
    results = tmp_path / "mine"
    shutil.copytree(folder / "out", results / "scene")
    row = score_sample(sample, stored(results)(sample))
    assert row["stereo_bad3"] == row["optical_bad3"] == row["depth_bad1"] == 0
    assert row["occluded_f1"] == 100
    assert row["motion_median"] < 1e-3
    shutil.rmtree(results / "scene")
    (results / "scene").mkdir()
    write_flow(results / "scene/stereo0_0000.flo", sample.stereo + np.float32([4, 0]))
    found = stored(results)(sample)
    assert (found.stage, found.optical) == ("mine", None)
    row = score_sample(sample, with_depth(sample, found))
    assert row["stereo_bad3"] == 100
    assert row["stereo_mean"] == pytest.approx(4, abs=1e-3)
    assert row["depth_bad1"] > 50
    (results / "scene/stereo0_0000.flo").unlink()
    with pytest.raises(FileError, match="neither result"):
        stored(results)(sample)
    write_flow(results / "scene/optical0_0000.flo", np.zeros((4, 4, 2), np.float32))
    with pytest.raises(FileError, match="not of the size"):
        stored(results)(sample)


def test_the_benchmark_from_the_command_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "out", tmp_path / "mine/scene")
    words = ["evaluate", "handheld", str(folder / "scene"), "-o", str(tmp_path / "scores")]
    assert main([*words, "--methods", "dis, sgbm", "--results", str(tmp_path / "mine")]) == 0
    table = capsys.readouterr().out
    assert "| scene | method | stereo_bad3 |" in table
    rows = json.loads((tmp_path / "scores/results.json").read_text())["rows"]
    assert [row["method"] for row in rows] == ["dis", "sgbm", "mine"]
    assert rows[2]["stereo_bad3"] == 0
    assert (tmp_path / "scores/scene.png").exists()
    assert main([*words, "--methods", "dis,raft", "-q"]) == 2
    assert "there is no method 'raft'" in capsys.readouterr().err
    with pytest.raises(InputError, match="no method"):
        method("", None)


def test_the_suite_is_fixed_and_varies_what_it_says() -> None:
    scenes = suite.suite()
    assert len(scenes) == len(set(scenes.values()))
    assert {config.size for config in scenes.values()} == {(960, 540)}
    for name, wanted in {
        "angle": {5, 15, 25, 35, 45},
        "photometric": {"off", "on", "strong"},
        "speed": {0.3, 1, 2, 4, 8},
        "weak": {0, 0.2, 0.4, 0.7},
        "motion_blur": {0, 0.5},
        "rolling_shutter": {0, 0.02},
    }.items():
        assert {getattr(config, name) for config in scenes.values()} == wanted


def test_the_clips_of_the_video_track_are_fixed_and_vary_what_they_say() -> None:
    clips = video_suite((640, 360))
    halves = {half: [c for n, c in clips.items() if n.startswith(f"{half}-")] for half in HALVES}
    assert len(clips) == sum(map(len, halves.values())) >= 8
    assert len({config.seed for config in clips.values()}) == len(clips)
    for half in halves.values():
        assert {config.place for config in half} == {"courtyard", "garden", "hall"}
        assert {config.path for config in half} == {"tripod", "hands", "walk"}
        angles = [config.angle for config in half]
        assert min(angles) <= 10
        assert max(angles) >= 29
        late = {config.offset * config.fps % 1 for config in half}
        assert any(abs(part - 0.5) < 1e-6 for part in late)  # half a frame between the cameras
        assert any(min(part, 1 - part) < 1e-6 for part in late)
        assert any(config.stops[0] != config.stops[1] for config in half)
    for config in clips.values():
        assert config.video
        assert {t + 1 for t in config.scored[::2]} == set(config.scored[1::2])


def test_a_clip_on_a_tripod_has_its_lenses_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def render(out: Path, config: SynthConfig, *_: Any) -> None:
        out.mkdir(parents=True)
        cameras = tuple(hand.camera for hand in hands(config))
        views = tuple(View(camera, np.eye(3, 4)) for camera in cameras)
        write_rig(out / "rig.json", Rig(cameras, (RigFrame(0, (0.0, 0.0), views),)))

    monkeypatch.setattr("wideflow.synth.render", render)
    assert main(["synth", "--suite", "video", str(tmp_path / "s")]) == 0
    assert "10 clips rendered" in capsys.readouterr().out
    for name, config in video_suite((640, 360)).items():
        lenses = [tmp_path / "s" / name / f"lens_{camera}.json" for camera in "ab"]
        assert all(path.exists() == (config.path == "tripod") for path in lenses)
        if config.path == "tripod":
            assert read_intrinsics(lenses[0]).K[0, 0] == pytest.approx(hands(config)[0].camera.K[0, 0])
    assert main(["synth", "--suite", "video"]) == 2  # no folder, and none that is called video
    assert "OUT" in capsys.readouterr().err
    assert main(["synth", str(tmp_path / "s"), "--suite", "films"]) == 2
    assert "there are scenes and video" in capsys.readouterr().err


def test_the_suite_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = dict(list(suite.suite((32, 18)).items())[:2])
    monkeypatch.setattr(suite, "suite", lambda size: {n: replace(c, size=size) for n, c in first.items()})
    calls: list[str] = []

    def render(out: Path, config: SynthConfig, *_: Any) -> None:
        calls.append(out.name)
        out.mkdir(parents=True, exist_ok=True)
        (out / "scene.json").write_text(json.dumps({"config": config.as_json()}))
        if len(calls) != 2:  # the second is interrupted
            (out / "gt1_0001.npz").write_bytes(b"")

    monkeypatch.setattr("wideflow.synth.render", render)
    words = ["synth", "--suite", str(tmp_path / "s"), "--size", "32x18"]
    assert main(words) == 0
    assert "2 scenes rendered, 0 were there" in capsys.readouterr().out
    assert main(words) == 0
    assert "1 scenes rendered, 1 were there" in capsys.readouterr().out
    assert calls == [*first, list(first)[1]]
    assert main([*words[:-1], "64x36", "-q"]) == 0  # another size is another suite
    assert len(calls) == 5
    assert main([*words, "--angle", "7"]) == 2
    assert "only --size goes with it" in capsys.readouterr().err
