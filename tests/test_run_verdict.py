"""What a run says of its result: refused or not, and the same words wherever they stand."""

import html
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import room
import wideflow
from wideflow.cli import main
from wideflow.errors import InputError, RefusedError
from wideflow.files import write_rig
from wideflow.pipeline.before import clips
from wideflow.pipeline.before.frame_choice import asked_moments
from wideflow.storage.result import Result
from wideflow.sync import FramePairs, Sync, pair_frames
from wideflow.types import Rig, RigFrame
from wideflow.video.write import write_video


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rig]:
    folder = tmp_path_factory.mktemp("clip")
    rig = room.film(folder, 6)
    write_rig(folder / "rig.json", rig)
    write_rig(folder / "two.json", Rig(rig.cameras, rig.frames[1:3]))
    swapped = [RigFrame(f.index, f.times, (f.views[1], f.views[0])) for f in rig.frames]
    write_rig(folder / "swapped.json", Rig((rig.cameras[1], rig.cameras[0]), tuple(swapped)))
    return folder, rig


def arguments(folder: Path, out: Path, *more: str, rig: str = "rig.json") -> list[str]:
    known = ["--rig", str(folder / rig), "--size", "96"]
    return ["run", str(folder / "a.mp4"), str(folder / "b.mp4"), "-o", str(out), *known, *more]


def unsure(confidence: float) -> Callable[..., Sync]:
    """A synchronisation that is right and does not know it."""

    def synchronise(a: wideflow.Video, b: wideflow.Video, *_: object) -> Sync:
        return Sync(
            0.0, 1.0, "movement", confidence, pair_frames(a.times, b.times, 0.0), reasons=("few rivals",)
        )

    return synchronise


def test_a_guessed_moment_is_refused_and_anyway_goes_on_with_the_same_words_everywhere(
    clip: tuple[Path, Rig],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = arguments(clip[0], tmp_path, "--frames", "2:4")
    monkeypatch.setattr(clips, "synchronise", unsure(0.0))
    assert main([*words, "-q"]) == 2
    said = capsys.readouterr().err
    assert "0 % sure" in said
    assert "--offset" in said
    assert "--anyway" in said
    assert "overlap" not in said
    assert said.count("\n") == 1
    assert "0 % sure" in (tmp_path / "log.txt").read_text()
    monkeypatch.setattr(clips, "synchronise", None)  # what was found is kept
    assert main([*words, "--anyway"]) == 3
    captured = capsys.readouterr()
    verdict = Result(tmp_path).verdict
    assert (verdict.trusted, verdict.findings[0].topic, verdict.findings[0].grade) == (
        False,
        "Synchronisation",
        "poor",
    )
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert verdict.as_dict() == summary["verdict"]
    assert summary["sync"]["reasons"] == ["few rivals"]
    assert "cameras known to" not in captured.out
    lines = [line.removeprefix("wideflow: ") for line in captured.err.splitlines() if "wideflow: " in line]
    assert lines == [verdict.headline, *verdict.reasons]
    log = (tmp_path / "log.txt").read_text()
    assert all(line in log for line in lines)
    page = html.unescape((tmp_path / "report.html").read_text().replace("<code>", "").replace("</code>", ""))
    assert verdict.headline in page
    for finding in verdict.findings:
        assert finding.sentence in page
        assert finding.remedy in page


def test_portrait_against_landscape_from_end_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = room.film(tmp_path, 4, angle=10.0, size_b=(240, 320))
    write_rig(tmp_path / "rig.json", rig)
    out = tmp_path / "out"
    words = arguments(tmp_path, out, "--offset", "0", "--frames", "1:3", "--size", "240", "--no-report")
    assert main(words) == 0
    found = Result(out)
    assert (found.size_a, found.size_b) == ((240, 180), (180, 240))
    points = found.points(0)[found.confidence(0) > 0.5]
    walls = [
        np.abs((points - np.array(wall[0])) @ np.cross(*np.array(wall[1:3], float)))
        for wall in (*room._WALLS, room._BOARD)
    ]
    assert np.median(np.min(walls, axis=0)) < 0.05
    assert found.verdict.headline in "".join(capsys.readouterr())


def test_an_unsure_moment_is_named_before_the_overlap_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.film(tmp_path, 4, turn=180.0)
    monkeypatch.setattr(clips, "synchronise", unsure(0.4))
    with pytest.raises(InputError, match=r"overlap.* But first see to the synchronisation: .*40 % sure"):
        wideflow.run(tmp_path / "a.mp4", tmp_path / "b.mp4", tmp_path / "out", size=96)


def test_cameras_that_do_not_fit_are_refused(clip: tuple[Path, Rig], tmp_path: Path) -> None:
    folder, _ = clip
    swapped = wideflow.read_rig(folder / "swapped.json")
    todo = {"frames": slice(2, 4, 1), "size": 96, "rig": swapped, "offset": 0.0, "report": False}
    with pytest.raises(RefusedError, match=r"does not fit these videos.*--anyway"):
        wideflow.run(folder / "a.mp4", folder / "b.mp4", tmp_path, **todo)
    assert not (tmp_path / "result.zarr").exists()
    found = wideflow.run(folder / "a.mp4", folder / "b.mp4", tmp_path, **todo, anyway=True)
    assert found.verdict.exit_code == 3
    assert any("does not fit these videos" in reason for reason in found.verdict.reasons)


def test_moments_that_were_asked_for_and_do_not_come_are_said(
    clip: tuple[Path, Rig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(clip[0], tmp_path, "--offset", "0", "--frames", "0:4", "--no-report", rig="two.json")
    assert main(words) == Result(tmp_path).verdict.exit_code
    said = "Only 2 of the 4 moments asked for are there: the cameras are not known in 2."
    assert said in capsys.readouterr().err
    assert said in (tmp_path / "log.txt").read_text()


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [
        (slice(0, None, 1), 5),  # as long as both were filming
        (slice(0, None, 2), 2),
        (slice(1, None, 1), 7),
        (slice(0, 4, 1), 4),
        (slice(0, 100, 1), 10),
    ],
)
def test_what_was_asked_for(chosen: slice, asked: int) -> None:
    filmed = FramePairs(np.arange(3, 8), np.arange(5), np.zeros(5))
    assert asked_moments(filmed, chosen, 10) == asked


def test_one_place_in_a_moving_clip_is_no_tripod(
    clip: tuple[Path, Rig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pose of a single frame must not serve all moments."""
    folder, rig = clip
    once = Rig(rig.cameras, rig.frames[2:3])
    report = clips.check_rig(rig, *(wideflow.Video(folder / f"{c}.mp4") for c in "ab"), _pairs(folder))
    found = clips.Calibration(once, replace(report, registered=(1, 1), doubts=()))
    monkeypatch.setattr(clips, "calibrate", lambda *_: found)
    with pytest.raises(InputError, match="known in 1 of the 6 moments"):
        wideflow.run(folder / "a.mp4", folder / "b.mp4", tmp_path, offset=0, size=96)


def _pairs(folder: Path) -> FramePairs:
    times = [wideflow.Video(folder / f"{c}.mp4").times for c in "ab"]
    return pair_frames(*times, 0.0)


def test_calibrate_leaves_with_3_if_the_cameras_are_not_to_be_trusted(
    clip: tuple[Path, Rig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, rig = clip
    late = [replace(frame, times=(frame.times[0] + 3, frame.times[1])) for frame in rig.frames]
    write_rig(tmp_path / "late.json", Rig(rig.cameras, tuple(late)))
    for given, code, said in (
        (folder / "swapped.json", 3, "does not fit these videos"),
        (tmp_path / "late.json", 0, "times differ"),
        (folder / "rig.json", 0, ""),
    ):
        out = tmp_path / "rig.json"
        videos = [str(folder / "a.mp4"), str(folder / "b.mp4")]
        assert (
            main(["calibrate", *videos, "-o", str(out), "--offset", "0", "--rig", str(given), "-q"]) == code
        )
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == bool(said)
        assert len(wideflow.read_rig(out).frames) == len(rig.frames)
        kept = json.loads((tmp_path / "calibration.json").read_text())
        assert kept["verdict"]["trusted"] == (code == 0)
        out.unlink()


def test_one_clip_twice_is_no_pair_for_calibration_either(
    clip: tuple[Path, Rig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    once = str(clip[0] / "a.mp4")
    assert main(["calibrate", once, once, "-o", str(tmp_path / "rig.json"), "-q"]) == 2
    assert "same pictures" in capsys.readouterr().err


def test_cameras_that_nothing_can_check_are_neither_good_nor_poor(tmp_path: Path) -> None:
    rig = room.film(tmp_path, 3, plain=True)
    rng = np.random.default_rng(0)
    for name in "ab":  # textured, but nothing in one picture is in the other
        pictures = [rng.integers(0, 255, (240, 320, 3)).astype(np.uint8) for _ in range(3)]
        write_video(tmp_path / f"{name}.mp4", pictures, room.FPS)
    report = clips.check_rig(rig, *(wideflow.Video(tmp_path / f"{c}.mp4") for c in "ab"), _pairs(tmp_path))
    (doubt,) = report.doubts
    assert (doubt.grade, "could not be checked" in doubt.sentence) == ("weak", True)
    assert report.as_dict()["reprojection_error_median"] is None
