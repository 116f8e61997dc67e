"""Calibration on footage that broke it: things that move, and a rig that is too narrow to tell anything."""

import json
from pathlib import Path

import numpy as np
import pytest

from shared_data import shared
from wideflow import Video, calibrate
from wideflow.cli import main
from wideflow.config import CalibrateConfig
from wideflow.geometry import baseline
from wideflow.sync import pair_frames

QUICK = CalibrateConfig(dense_moments=3, sparse_moments=8)


@pytest.fixture(autouse=True)
def _fewer_lenses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wideflow.calibration.solution._OTHER_LENSES", (0.9,))  # the others take as long


def test_an_ordinary_scene_with_movers_is_solved_from_its_two_files() -> None:
    folder = shared("handheld/clip20")
    truth = json.loads((folder / "truth.json").read_text())
    a, b = Video(folder / "a.mp4"), Video(folder / "b.mp4")
    pairs = pair_frames(a.times, b.times, truth["offset_seconds"])
    found = calibrate(a, b, pairs, config=QUICK)
    partner = dict(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    turns, ratios = [], []
    for frame in found.rig.frames:
        one, two = truth["cameras"][0][frame.index], truth["cameras"][1][partner[frame.index]]
        true = np.array(two["R"]) @ np.array(one["R"]).T
        R = frame.views[1].R @ frame.views[0].R.T @ true.T
        turns.append(np.degrees(np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))))
        centres = [-np.array(pose["R"]).T @ pose["t"] for pose in (one, two)]
        ratios.append(baseline(*frame.views) / np.linalg.norm(centres[1] - centres[0]))
    focal = [
        camera.K[0, 0] / truth["cameras"][c][0]["K"][0][0] - 1 for c, camera in enumerate(found.rig.cameras)
    ]
    assert len(found.rig.frames) > 0.9 * len(pairs.a)
    assert np.median(turns) < 0.25
    assert max(ratios) / min(ratios) < 1.03
    assert np.abs(focal).max() < 0.007
    assert not any(doubt.grade == "poor" for doubt in found.report.doubts)


def test_a_rig_too_narrow_to_tell_is_not_believed() -> None:
    folder = shared("real/street")
    a, b = Video(folder / "a.mp4"), Video(folder / "b.mp4")
    pairs = pair_frames(a.times, b.times, 0.3)
    few = type(pairs)(pairs.a[:24], pairs.b[:24], pairs.error[:24])
    found = calibrate(a, b, few, config=QUICK)
    assert any(doubt.grade == "poor" for doubt in found.report.doubts)
    assert all(0.35 < focal / 480 < 1.6 for focal in found.report.focal_lengths)  # never far from a phone's


@pytest.mark.parametrize(
    ("place", "clips", "given"),
    [
        pytest.param(
            "real/street",
            ("a.mp4", "b.mp4"),
            ("--intrinsics-a", "lens_a.json", "--intrinsics-b", "lens_b.json", "--offset", "0.3"),
            id="street with its lenses and offset",
        ),
        pytest.param("real/office", ("left", "right"), ("--fps", "10", "--offset", "0"), id="office"),
    ],
)
def test_real_rigs_that_cannot_be_calibrated_are_refused_with_a_reason(
    place: str,
    clips: tuple[str, str],
    given: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shared(place)
    options = [str(folder / word) if word.endswith(".json") else word for word in given]
    frames = ["--frames", "0:24"] if place == "real/street" else []
    videos = [str(folder / name) for name in clips]
    shorter = ["--set", "calibrate.dense_moments=3", "--set", "calibrate.sparse_moments=8"]
    assert main(["run", *videos, "-o", str(tmp_path / "out"), *options, *frames, *shorter, "-q"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") <= 2
    assert not (tmp_path / "out/result.zarr").exists()
    assert "cameras" in told or "calibrat" in told.lower()
