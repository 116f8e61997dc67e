"""The benchmark of shoots: its scores against known errors, and a good and a hopeless shoot all the way."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.shoot_list import Shoot, choose, shoots
from benchmarks.shoot_score import score_cameras, score_depth
from benchmarks.shoot_table import is_wrong, put_into, summary, table
from benchmarks.shoots import main, render_clips, run_shoot

from result_scenes import put_moment
from wideflow.files import write_rig
from wideflow.geometry import ideal_camera
from wideflow.handheld import Clip, read_clip, read_truth, write_truth
from wideflow.storage.place import Place
from wideflow.storage.result import Result
from wideflow.storage.store import Store
from wideflow.synth import SynthConfig
from wideflow.synth.things.mesh import rotation
from wideflow.types import Rig, RigFrame, View

CLIPS = SynthConfig(
    frames=8, size=(96, 54), seed=2, offset=0.1, fps_b=24.0, video=True, samples=2, truth_frames=(4, 5)
)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shoots")
    shoot = Shoot("small", "good", CLIPS)
    render_clips([shoot], folder, 2)
    return folder / shoot.folder


def true_rig(truth: Clip) -> Rig:
    frames = []
    for t in (4, 5):
        views = truth.views[0][t], truth.views[1][truth.partner(t, truth.offset)]
        frames.append(RigFrame(t, (0.0, 0.0), views))
    return Rig((frames[0].views[0].camera, frames[0].views[1].camera), tuple(frames))


def moved(frame: RigFrame, turn: float, stretch: float, focal: float) -> RigFrame:
    """B turned by so many degrees and moved along the baseline, with another lens."""
    a, b = frame.views
    R = rotation((1, 2, -1), np.radians(turn)) @ b.R
    centre = a.centre + stretch * (b.centre - a.centre)
    lens = replace(b.camera, K=b.camera.K * np.array([focal, focal, 1]))
    return replace(frame, views=(a, View(lens, np.column_stack([R, -R @ centre]))))


def test_scores_of_cameras_are_the_errors_they_have(clips: Path) -> None:
    truth = read_clip(clips)
    assert truth.partner(4, 0.1) == round((4 / 30 - 0.1) * 24)
    rig = true_rig(truth)
    sync = {"offset_seconds": 0.1 + 0.004, "confidence": 0.9}
    right = score_cameras(rig, truth, sync)
    assert right["rotation_max"] < 1e-5
    assert right["direction"] < 1e-5
    assert right["spread"] < 1e-9
    assert right["sync_ms"] == pytest.approx(4)
    off = replace(rig, frames=(moved(rig.frames[0], 1.5, 2.0, 1.02), moved(rig.frames[1], 2.5, 2.4, 1.02)))
    found = score_cameras(off, truth, sync)
    assert found["rotation"] == pytest.approx(2.0)
    assert found["rotation_max"] == pytest.approx(2.5)
    assert found["spread"] == pytest.approx(0.2)
    assert found["focal"] == pytest.approx([0, 2])
    assert found["direction"] < 1e-5


def test_scores_of_depth_are_shares_of_trusted_pixels_up_to_scale(clips: Path, tmp_path: Path) -> None:
    """Of 96 columns 40 are sure and 72 trusted; 20 are off by 3 %, 12 by a factor, 4 have no true depth."""
    truth = read_clip(clips)
    filmed = true_rig(truth)
    a, b = (ideal_camera(camera) for camera in filmed.cameras)
    frames = [
        replace(f, views=(View(a, f.views[0].cam_from_world), View(b, f.views[1].cam_from_world)))
        for f in filmed.frames
    ]
    store = Store.create(Place(tmp_path / "out"), 2, (a, b))
    write_rig(tmp_path / "out" / "rig.json", Rig((a, b), tuple(frames)))
    column = np.arange(96)
    for t, frame in enumerate(frames):
        name = f"gt0_{frame.index:04d}.npz"
        real = read_truth(clips / name)
        depth = np.nan_to_num(real.depth, nan=100.0)
        sky = replace(real, depth=np.where(column < 4, np.nan, depth).astype(np.float32))
        write_truth(tmp_path / name, sky)
        factor = np.select([column < 4, column < 24, column < 60, column < 72], [1.0, 1.03, 1.0, 2.0], 5.0)
        confidence = np.select([column < 40, column < 72], [0.95, 0.65], 0.15) + 0 * depth
        put_moment(store, t, depth=(7 * factor * depth).astype(np.float32), confidence=confidence)
    found = score_depth(Result(tmp_path / "out"), filmed.cameras[0], tmp_path, truth)
    wanted = {"trusted": 72 / 96, "sure": 40 / 96, "off20": 16 / 72, "off5": 16 / 72, "off1": 36 / 72}
    wanted["within1"] = 16 / 40
    claimed, right = (np.array(found.pop(name)) for name in ("claimed", "right"))
    assert found == pytest.approx(wanted, abs=0.02)
    assert (claimed > 0).tolist() == [False, True, False, False, False, False, True, False, False, True]
    assert right[[6, 9]] / claimed[[6, 9]] == pytest.approx([20 / 32, 16 / 40], abs=0.02)


def test_list_has_both_halves_and_every_kind() -> None:
    every = shoots()
    assert len(every) >= 60
    assert len({shoot.name for shoot in every}) == len(every)
    for half in ("tuned", "untouched"):
        kinds = [shoot.kind for shoot in choose([half])]
        assert kinds.count("good") >= 15
        assert kinds.count("hopeless") >= 8
    shared = {shoot.folder: shoot.clips for shoot in every}
    assert all(shared[shoot.folder] == shoot.clips for shoot in every)
    for shoot in choose(["good"]):
        assert 8 <= shoot.clips.angle <= 30
        assert shoot.clips.movers <= 2 / 3
        assert "wrong" not in (shoot.lenses, shoot.offset)
    with pytest.raises(SystemExit, match="no shoot 'plan'"):
        choose(["plan"])


def test_table_and_summary_count_what_is_wrong(tmp_path: Path) -> None:
    base = {"kind": "good", "half": "tuned", "angle": 10.0, "trusted": 0.7, "off5": 0.1, "off1": 0.2}
    results = [
        base | {"name": "right", "exit": 0, "rotation": 0.2, "off20": 0.01, "within1": 0.95},
        base | {"name": "bent", "exit": 0, "rotation": 3.0, "off20": 0.4, "within1": 0.2},
        base | {"name": "doubted", "exit": 3, "rotation": 9.0, "off20": 0.9},
        {"kind": "good", "half": "untouched", "angle": 10.0, "name": "refused", "exit": 2},
    ]
    assert [is_wrong(found) for found in results] == [False, True, True, False]
    rows = table(results).splitlines()
    assert len(rows) == 6
    assert "| not trusted |" in rows[4]
    assert "accepted but wrong: 1 (bent)" in summary(results)
    tuned, untouched, both = summary(results).splitlines()
    assert "good ones refused: 1 of 3" in tuned
    assert "good ones refused: 1 of 1 (100 %)" in untouched
    assert "good ones within 0.3°: 1 of 4 (25 %)" in both
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- shoots -->\nold\n<!-- end -->\nafter\n")
    for _ in range(2):
        put_into(page, results)
        assert page.read_text().count("| bent |") == 1
    assert page.read_text().startswith("before\n<!-- shoots -->\n\n- tuned half: 3 shoots")
    assert page.read_text().endswith("\n\n<!-- end -->\nafter\n")


def test_a_good_shoot_is_solved_and_a_hopeless_one_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clips = replace(CLIPS, frames=20, size=(256, 144), angle=12.0, fps_b=None)
    selected = [
        Shoot("good-2", "good", clips, lenses="true"),
        Shoot("wide-5", "hopeless", replace(clips, seed=5, angle=80.0), lenses="true"),
    ]
    render_clips(selected, tmp_path, 2)
    good, wide = (run_shoot(shoot, tmp_path / shoot.folder, tmp_path / "calibrate") for shoot in selected)
    assert good["exit"] == 0
    assert good["rotation"] < 0.5
    assert wide["exit"] in (2, 3)
    (tmp_path / "calibrate" / "good-2" / "rig.json").unlink()  # a second time nothing is computed
    assert run_shoot(selected[0], tmp_path / "clips-2", tmp_path / "calibrate") == good
    monkeypatch.setattr("benchmarks.shoots.choose", lambda names: selected)
    main(["table", "--folder", str(tmp_path), "--calibrate-only"])
    assert "| good-2 | good | 12° | accepted |" in capsys.readouterr().out
