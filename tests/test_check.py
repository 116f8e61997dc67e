"""The check of two clips: what it says, and its exit code."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shared_data import shared
from wideflow.check import ClipCheck, check_clips
from wideflow.check.camera_motion import CameraMotion
from wideflow.check.findings import findings_about
from wideflow.check.light import Light
from wideflow.check.measures import ClipMeasures
from wideflow.check.shared import Shared
from wideflow.cli import main
from wideflow.demo import CLIPS
from wideflow.sync import FramePairs, Sync
from wideflow.video.read import Video

GOOD_SYNC = Sync(0.4, 1.0, "sound", 1.0, FramePairs(np.arange(90), np.arange(90), np.full(90, 0.003)))
GOOD_CLIP = ClipMeasures(
    (1920, 1080), 30.0, 3.4, 0.0, CameraMotion("moves", 0.5, 1.0), Light(0.01, 0.01, 0.1), 0.7, 0.9, 0.0, 0.0
)
GOOD_VIEW = Shared(6, 6, 300.0, 0.6, 0.4, False, 0.3, 12.0, 170.0, 2.0, (0.9, 0.9))


def grades(
    sync: Sync = GOOD_SYNC, a: ClipMeasures = GOOD_CLIP, b: ClipMeasures = GOOD_CLIP, view: Shared = GOOD_VIEW
) -> dict[str, str]:
    """Grades by topic; whatever is not good must come with advice."""
    found = findings_about(sync, (a, b), view)
    for finding in found:
        assert finding.sentence.endswith(".")
        assert bool(finding.remedy) == (finding.grade != "good"), finding
    return {finding.topic: finding.grade for finding in found}


def test_a_good_shoot_is_good_in_everything() -> None:
    assert set(grades().values()) == {"good"}


@pytest.mark.parametrize(
    ("topic", "grade", "changes"),
    [
        ("Overlap", "poor", {"found": 2}),
        ("Overlap", "poor", {"one_clip": True}),
        ("Overlap", "weak", {"points": 25.0}),
        ("Overlap", "weak", {"covered": 0.05}),
        ("Angle", "poor", {"angle": 0.3, "parallax": 4.0}),
        ("Angle", "weak", {"angle": 1.5, "parallax": 20.0}),
        ("Angle", "weak", {"angle": 40.0}),
        ("Angle", "poor", {"angle": 70.0}),
        ("Angle", "weak", {"flat": 0.97}),
        ("Angle", "weak", {"angle": float("nan")}),
        ("Frames", "weak", {"roll": -92.0}),
        ("Exposure", "weak", {"stops": -2.0}),
    ],
)
def test_what_both_see_is_judged(topic: str, grade: str, changes: dict[str, float]) -> None:
    assert grades(view=replace(GOOD_VIEW, **changes))[topic] == grade


@pytest.mark.parametrize(
    ("topic", "grade", "changes"),
    [
        ("Frames", "weak", {"size": (1080, 1920)}),
        ("Frames", "weak", {"missing": 0.1}),
        ("Sharpness", "weak", {"worst_blur": 2.0}),
        ("Sharpness", "poor", {"blur": 5.0, "worst_blur": 6.0}),
        ("Sharpness", "weak", {"blur": float("nan")}),
        ("Exposure", "weak", {"light": Light(0.2, 0.0, 0.0)}),
        ("Exposure", "poor", {"light": Light(0.7, 0.0, 0.0)}),
        ("Exposure", "weak", {"light": Light(0.0, 0.4, 0.0)}),
        ("Exposure", "weak", {"light": Light(0.0, 0.0, 0.9)}),
        ("Zoom", "weak", {"motion": CameraMotion("turns", 0.0, 1.3)}),
        ("Borders", "weak", {"border": 0.1}),
        ("Borders", "weak", {"border": 0.1, "border_change": 0.03}),
    ],
)
def test_each_clip_is_judged(topic: str, grade: str, changes: dict[str, object]) -> None:
    changed = replace(GOOD_CLIP, **changes)
    assert grades(b=changed)[topic] == grade
    assert grades(a=changed)[topic] == grade


def test_one_camera_that_moves_is_enough() -> None:
    stands = replace(GOOD_CLIP, motion=CameraMotion("stands", 0.0, 1.0))
    assert grades(a=stands)["Camera motion"] == "good"
    assert grades(a=stands, b=stands)["Camera motion"] == "weak"


@pytest.mark.parametrize(("confidence", "grade"), [(0.9, "good"), (0.4, "weak"), (0.1, "poor")])
def test_time_is_as_sure_as_synchronisation(confidence: float, grade: str) -> None:
    assert grades(sync=replace(GOOD_SYNC, confidence=confidence))["Time"] == grade
    assert grades(sync=replace(GOOD_SYNC, confidence=confidence, method="given"))["Time"] == "good"


def test_pairs_that_are_half_a_frame_apart_are_told() -> None:
    pairs = replace(GOOD_SYNC.pairs, error=np.full(90, 0.0167))
    assert grades(sync=replace(GOOD_SYNC, pairs=pairs))["Frames"] == "weak"


@pytest.fixture(scope="module")
def demo() -> ClipCheck:
    with Video(CLIPS / "a.mp4") as a, Video(CLIPS / "b.mp4") as b:
        return check_clips(a, b)


def test_the_clips_of_the_demo_are_worth_a_run(demo: ClipCheck) -> None:
    assert demo.worth_a_run
    assert demo.sync.offset_seconds == pytest.approx(float(np.load(CLIPS / "truth.npz")["offset"]), abs=0.02)
    assert demo.shared.found == demo.shared.moments
    assert demo.shared.angle == pytest.approx(
        8.2, rel=0.2
    )  # by the truth's depth, seen pixels of two moments
    assert demo.clips[1].motion.kind == "moves"
    assert not demo.shared.one_clip


def test_all_of_it_is_json(demo: ClipCheck) -> None:
    told = json.loads(json.dumps(demo.as_json(), allow_nan=False))
    assert told["worth_a_run"] is True
    assert told["shared"]["angle"] == pytest.approx(demo.shared.angle, abs=1e-3)
    assert [finding["topic"] for finding in told["findings"]][:3] == ["Time", "Frames", "Overlap"]


def test_a_known_synchronisation_is_taken(demo: ClipCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> Sync:
        raise AssertionError("was synchronised again")

    monkeypatch.setattr("wideflow.check.clips.synchronise", never)
    steps: list[tuple[int, int]] = []
    with Video(CLIPS / "a.mp4") as a, Video(CLIPS / "b.mp4") as b:
        found = check_clips(a, b, demo.sync, progress=lambda done, total, _: steps.append((done, total)))
    assert found.as_json() == demo.as_json()
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]


def test_the_command_says_why_a_run_would_not_be_trusted(capsys: pytest.CaptureFixture[str]) -> None:
    clip = str(CLIPS / "a.mp4")
    assert main(["check", clip, clip, "--offset", "0"]) == 3
    told = capsys.readouterr().out
    assert "poor  Overlap: Both clips show the same pictures" in told
    assert told.splitlines()[-1] == "A run on these clips would not be trusted, because of: overlap."


def test_bad_input_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b.mp4").write_bytes(b"no video")
    assert main(["check", str(CLIPS / "a.mp4"), str(tmp_path / "b.mp4")]) == 2
    assert main(["check", str(CLIPS / "a.mp4"), str(CLIPS / "b.mp4"), "--offset", "60"]) == 2
    assert "share no moment" in capsys.readouterr().err


def test_real_phones_that_stand_too_far_apart_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    place = shared("real/hall49")
    assert main(["check", str(place / "a.mp4"), str(place / "b.mp4"), "--offset", "0", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert {finding["topic"]: finding["grade"] for finding in told["findings"]}["Overlap"] == "poor"
    assert told["a"]["motion"]["kind"] == told["b"]["motion"]["kind"] == "stands"


def test_two_eyes_of_one_headset_are_too_near(capsys: pytest.CaptureFixture[str]) -> None:
    place = shared("real/street")
    assert main(["check", str(place / "a.mp4"), str(place / "b.mp4"), "--offset", "0.3", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    poor = [finding["topic"] for finding in told["findings"] if finding["grade"] == "poor"]
    assert poor == ["Angle"]
    assert told["a"]["motion"]["kind"] == told["b"]["motion"]["kind"] == "moves"
