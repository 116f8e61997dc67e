"""The clips that ship, the job on them, and the example that takes them."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from wideflow.cli import main
from wideflow.cli.demo import EXAMPLE
from wideflow.config import load_config
from wideflow.demo import CLIPS
from wideflow.demo.make import SCENE, make_clips
from wideflow.files import read_rig
from wideflow.synth import SynthConfig
from wideflow.video.read import Video


def test_the_clips_are_small_and_belong_to_their_truth() -> None:
    assert sum(path.stat().st_size for path in CLIPS.iterdir()) < 3_000_000
    rig = read_rig(CLIPS / "rig.json")
    a, b = Video(CLIPS / "a.mp4"), Video(CLIPS / "b.mp4")
    assert (a.size, b.size) == (rig.cameras[0].size, rig.cameras[1].size)
    assert len(a) == len(b) == SCENE.frames
    truth = np.load(CLIPS / "truth.npz")
    assert float(truth["offset"]) == SCENE.offset != 0
    assert SCENE.lenses[0] != SCENE.lenses[1]
    assert tuple(camera.distortion[0] for camera in rig.cameras) == SCENE.lenses
    late = [frame.times[0] - frame.times[1] for frame in rig.frames]
    np.testing.assert_allclose(late, SCENE.offset, atol=1e-6)
    assert truth["depth"].shape == (2, 180, 320)


def test_clips_can_be_made_anew(tmp_path: Path) -> None:
    make_clips(tmp_path, SynthConfig(size=(64, 36), frames=2, video=True, offset=0.1), (0,))
    assert len(Video(tmp_path / "a.mp4")) == 2
    assert [camera.distortion[0] for camera in read_rig(tmp_path / "rig.json").cameras] == [-0.06, 0.025]
    assert np.load(tmp_path / "truth.npz")["motion"].shape == (1, 18, 32, 3)


def test_the_demo_finds_what_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("wideflow.cli.demo._FRAMES", slice(16, 18, 1))
    monkeypatch.setattr("wideflow.cli.demo._SIZE", 240)
    shorter = load_config(None, ("calibrate.dense_moments=3",), "default")
    monkeypatch.setattr("wideflow.cli.demo.load_config", lambda *_: shorter)
    monkeypatch.chdir(tmp_path)
    out = Path("demo-out")
    assert main(EXAMPLE.split()[1:]) == 0
    said = capsys.readouterr().out
    truth = json.loads((out / "summary.json").read_text())["truth"]
    assert abs(truth["sync_milliseconds"]) < 5
    assert truth["rotation_degrees"] < 0.3
    assert truth["depth_percent"] < 1
    assert truth["motion_median"] < 0.02
    assert f"wideflow view {out}" in said
    assert "Traceback" not in (out / "log.txt").read_text()
    assert (out / "report.html").stat().st_size < 15_000_000
    # the example goes on from it: the same clips, calibrated already
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples/03_two_videos.py"))
    result = example["depth_and_motion"](CLIPS / "a.mp4", CLIPS / "b.mp4", out, slice(16, 18, 1), 160)
    place, length = example["fastest_point"](result, 0)
    assert np.isfinite(place).all()
    assert 0 < length < 1
