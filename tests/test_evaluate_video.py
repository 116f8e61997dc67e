"""The video track: what is right scores nothing, and known errors score what they are."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from result_scenes import put_moment
from shared_data import shared
from video_scenes import BOX_PART, HEIGHT, HIDDEN, WIDTH, K, truth, view, write_clip, write_found
from wideflow.cli import main
from wideflow.config import Config
from wideflow.errors import FileError
from wideflow.evaluate.sampling import depth_at, same_pixels
from wideflow.evaluate.video import evaluate_video
from wideflow.evaluate.video.track import default_frames
from wideflow.files import write_rig
from wideflow.geometry import ideal_camera, pixel_grid
from wideflow.handheld import find_clips, read_clip
from wideflow.storage.place import Place
from wideflow.storage.store import Store
from wideflow.types import Camera, Rig, RigFrame, View

Rows = dict[str, dict[str, float]]
KNOWN = (HEIGHT - 4) * WIDTH  # pixels that are not sky


def score(clip: Path, found: Path, out: Path) -> Rows:
    rows = evaluate_video(clip, out, Config(), found)
    return {str(row["class"]): row for row in rows}


def test_the_truth_scores_nothing_and_classes_are_those_of_the_truth(tmp_path: Path) -> None:
    clip, found = write_clip(tmp_path / "clip"), tmp_path / "found"
    for frame in (0, 1, 4):
        moving = np.zeros((HEIGHT, WIDTH))
        moving[BOX_PART] = 0.9
        write_found(found, frame, depth=7 * truth(frame).depth, motion=7 * truth(frame).motion, moving=moving)
    rows = score(clip, found, tmp_path / "out")
    picture = HEIGHT * WIDTH
    shares = {
        "all": KNOWN,
        "seen": KNOWN - 28 * 12,
        "hidden": 28 * 12,
        "moving": 80,
        "static": KNOWN - 80,
        "seen moving": 80,
        "hidden moving": 0,
    }
    for name, count in shares.items():
        assert rows[name]["share"] == pytest.approx(100 * count / picture)
    for name in ("all", "seen", "hidden", "static", "moving", "seen static", "hidden static"):
        assert [rows[name][f"off{limit}"] for limit in (1, 5, 10)] == [0, 0, 0]
        assert rows[name]["missing"] == 0
    assert rows["moving"]["moving_iou"] == 100
    assert rows["moving"]["motion_moving_mm"] < 1e-3
    assert rows["static"]["motion_static_mm"] < 1e-3
    assert rows["static"]["flicker_95"] < 1e-3
    assert "flicker" not in rows["moving"]
    assert not any(name.startswith("confidence") for name in rows)  # nothing was claimed
    written = json.loads((tmp_path / "out" / "results.json").read_text())
    assert written["experiment"] == "video"
    for name in ("table.csv", "table.md", "figure.svg", "clip.png"):
        assert (tmp_path / "out" / name).stat().st_size > 100


def test_known_errors_score_what_they_are(tmp_path: Path) -> None:
    clip, found = write_clip(tmp_path / "clip"), tmp_path / "found"
    for frame in (0, 1, 4):
        depth, motion = truth(frame).depth.copy(), truth(frame).motion.copy()
        depth[10:12] *= 1.03  # two rows of 48: off by 3 %
        depth[12, 36:] *= 1.07  # twelve hidden pixels
        depth[BOX_PART] = np.nan  # all that moves is missing
        motion[6:] += np.float32([0, 0, 0.02])
        write_found(found, frame, depth=depth, motion=motion)
    rows = score(clip, found, tmp_path / "out")
    assert rows["all"]["off1"] == pytest.approx(100 * (96 + 12 + 80) / KNOWN)
    assert rows["all"]["off5"] == pytest.approx(100 * (12 + 80) / KNOWN)
    assert rows["hidden"]["off1"] == pytest.approx(100 * (24 + 12) / (28 * 12))
    assert rows["hidden"]["off5"] == pytest.approx(100 * 12 / (28 * 12))
    assert rows["hidden"]["off10"] == 0
    assert rows["moving"]["off10"] == rows["moving"]["missing"] == 100
    assert rows["moving"]["motion_moving_mm"] == pytest.approx(20, rel=1e-3)
    assert rows["moving"]["motion_moving_relative"] == pytest.approx(40, rel=1e-3)  # 20 of 50 mm
    assert rows["static"]["motion_static_mm"] == pytest.approx(20, rel=1e-3)


def test_motion_is_scored_only_to_the_next_frame(tmp_path: Path) -> None:
    clip, found = write_clip(tmp_path / "clip"), tmp_path / "found"
    wrong = truth(4).motion + np.float32([9, 9, 9])
    write_found(found, 1)
    write_found(found, 4, motion=wrong)
    result = tmp_path / "result"
    write_result(result, (0, 1, 4), view(0).camera, {})
    rows = score(clip, result, tmp_path / "out")
    assert rows["static"]["motion_static_mm"] < 1e-3
    assert rows["all"]["moments"] == 3
    rows = score(clip, found, tmp_path / "out2")
    assert rows["static"]["motion_static_mm"] > 1000  # plain files hold the motion to the next frame


def test_flicker_is_the_change_of_a_static_point(tmp_path: Path) -> None:
    clip, found = write_clip(tmp_path / "clip"), tmp_path / "found"
    columns = np.arange(WIDTH)
    stripes = np.where(columns % 2 == 0, 1.01, 1.0)  # a point moves by another number of pixels at each row
    write_found(found, 0, depth=(truth(0).depth * 1.0).astype(np.float32))
    write_found(found, 1, depth=(truth(1).depth * 1.004).astype(np.float32))
    write_found(found, 4, depth=(truth(4).depth * stripes).astype(np.float32))
    rows = score(clip, found, tmp_path / "out")
    # from 0 to 1 all change by 0.4 %, from 1 to 4 half by 0.4 % and half by 0.6 %
    assert rows["static"]["flicker"] == pytest.approx(0.4, abs=0.01)
    assert rows["static"]["flicker_95"] == pytest.approx(100 * (1.01 / 1.004 - 1), abs=0.01)
    still = {frame: tmp_path / f"only{frame}" for frame in (0,)}
    write_found(still[0], 0)
    assert "flicker" not in score(clip, still[0], tmp_path / "out2")["static"]


def test_confidence_counts_the_sky_against_who_claims_it(tmp_path: Path) -> None:
    clip, found = write_clip(tmp_path / "clip"), tmp_path / "found"
    depth = np.nan_to_num(truth(0).depth, nan=3.0)
    depth[10:12] *= 1.03
    confidence = np.full((HEIGHT, WIDTH), 0.95)
    confidence[16:] = 0.3
    source = np.full((HEIGHT, WIDTH), 1, np.uint8)
    source[HIDDEN] = 2
    more = {"confidence_5": np.full((HEIGHT, WIDTH), 0.9), "source": source}
    write_found(found, 0, depth=depth, confidence=confidence, **more)
    rows = score(clip, found, tmp_path / "out")
    sure = rows["confidence > 0.8"]
    assert sure["share"] == 50
    assert sure["off1"] == pytest.approx(100 * (4 + 2) / 16)  # four rows of sky, two of 3 %
    assert sure["off5"] == pytest.approx(100 * 4 / 16)
    assert sure["claimed"] == pytest.approx(95)
    assert rows["confidence_5 > 0.5"]["off5"] == pytest.approx(100 * 4 / 32)
    assert rows["confidence 0.3 to 0.4"]["share"] == 50
    assert rows["confidence 0.9 to 1.0"]["share"] == 50
    assert "off1" not in rows["confidence 0.5 to 0.6"]
    assert rows["source 1"]["share"] == pytest.approx(100 * 28 * 36 / (HEIGHT * WIDTH))
    assert rows["source 2"]["off1"] == pytest.approx(100 * 2 / 28)
    assert rows["source 2"]["sure_right"] == pytest.approx(100 * 10 / 12)  # of rows 4 to 15


def test_the_scale_of_a_clip_is_that_of_what_is_trusted(tmp_path: Path) -> None:
    clip, found = write_clip(tmp_path / "clip"), tmp_path / "found"
    depth = truth(0).depth * 2
    depth[8:] *= 1.2  # most of the picture, but not trusted
    confidence = np.where(np.arange(HEIGHT)[:, None] < 8, 0.9, 0.1) * np.ones((1, WIDTH))
    write_found(found, 0, depth=depth, confidence=confidence)
    rows = score(clip, found, tmp_path / "out")
    assert rows["confidence > 0.5"]["off1"] == 0
    assert rows["all"]["off10"] == pytest.approx(100 * 24 / 28)


def write_result(out: Path, frames: tuple[int, ...], lens: Camera, more: dict[str, np.ndarray]) -> None:
    """A folder of `wideflow run` with the truth in it, made with a lens that was found; B is a frame late."""
    ideal = ideal_camera(lens)
    cameras = ideal, replace(ideal, name="b")
    store = Store.create(Place(out), len(frames), cameras)
    for t, frame in enumerate(frames):
        given = {"depth": truth(frame).depth} | more
        if t < len(frames) - 1:
            given["motion"] = truth(frame).motion
        put_moment(store, t, **given)
    for name, pair in (("rig.json", cameras), ("filmed.json", (lens, replace(lens, name="b")))):
        moments = []
        for frame in frames:
            a, b = (View(pair[c], view(frame - c, c).cam_from_world) for c in (0, 1))
            moments.append(RigFrame(frame, (0.0, 0.0), (a, b)))
        write_rig(out / name, Rig(pair, tuple(moments)))


def test_a_result_is_read_through_the_lens_that_was_found(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip", k1=-0.2)
    lens = view(0, k1=-0.2).camera
    confidence = np.full((HEIGHT, WIDTH), 0.9, np.float32)
    write_result(tmp_path / "right", (0, 1, 4), lens, {"confidence": confidence})
    (tmp_path / "right" / "summary.json").write_text(
        json.dumps({"sync": {"offset_seconds": 1 / 30, "confidence": 1.0}})
    )
    rows = score(clip, tmp_path / "right", tmp_path / "out")
    assert rows["all"]["off1"] == 0
    assert max(rows["all"][name] for name in ("rotation", "direction", "focal")) < 1e-4
    assert rows["confidence > 0.8"]["share"] == 87.5  # the sky has no depth
    # pictures made with another lens have the box elsewhere
    write_result(tmp_path / "wrong", (0, 1, 4), view(0, k1=0.2).camera, {})
    assert score(clip, tmp_path / "wrong", tmp_path / "out2")["static"]["off10"] > 0.3


def test_depth_between_pixels_is_that_of_the_plane() -> None:
    exact, camera = truth(0).depth, ideal_camera(view(0).camera)
    where = pixel_grid(WIDTH, HEIGHT) + np.array([0.4, -0.3])
    rays = (where[..., 0] - K[0, 2]) / K[0, 0]
    plane = 4.0 / (1 - 0.1 * rays)
    found = depth_at(exact, where)
    inner = np.s_[6:18, 2:-2]
    assert np.abs(found[inner] / plane[inner] - 1).max() < 1e-6
    assert np.allclose(depth_at(exact, pixel_grid(WIDTH, HEIGHT)), exact, rtol=1e-6, equal_nan=True)
    assert np.isnan(depth_at(exact, where + 1000)).all()
    edge = depth_at(exact, where)[20:28, 8:22]  # no depth between box and wall
    assert ((np.abs(edge - 2) < 1e-6) | (edge > 3.8)).all()
    assert np.allclose(same_pixels(camera, camera, camera), pixel_grid(WIDTH, HEIGHT))


def test_folders_of_clips_have_means_of_their_halves(tmp_path: Path) -> None:
    for number, name in enumerate(("tuned-a", "tuned-b", "untouched-a", "untouched-b")):
        write_clip(tmp_path / "suite" / name)
        depth = truth(0).depth.copy()
        depth[10 : 10 + number] *= 1.2
        write_found(tmp_path / "found" / name, 0, depth=depth)
    rows = evaluate_video(tmp_path / "suite", tmp_path / "out", Config(), tmp_path / "found")
    means = {row["scene"]: row["off5"] for row in rows if row["class"] == "all"}
    row = 100 / 28
    assert means["tuned"] == pytest.approx(0.5 * row)
    assert means["untouched"] == pytest.approx(2.5 * row)
    assert means["mean"] == pytest.approx(1.5 * row)
    (tmp_path / "found" / "tuned-b" / "found0_0000.npz").unlink()
    with pytest.raises(FileError, match="tuned-b"):
        evaluate_video(tmp_path / "suite", tmp_path / "out", Config(), tmp_path / "found")


def test_frames_that_are_computed_unless_others_are_asked_for(tmp_path: Path) -> None:
    pairs = write_clip(tmp_path / "pairs", tuple(t + i for t in range(4, 46, 4) for i in (0, 1)), 48)
    chosen = default_frames(read_clip(pairs))
    frames = range(*chosen.indices(48))
    assert len(frames) == 10
    assert 14 <= frames[0] <= 22
    assert sum(t in read_clip(pairs).times() for t in frames) == 6
    apart = write_clip(tmp_path / "apart", (13, 24, 35, 46, 57), 60)
    assert default_frames(read_clip(apart)) == slice(13, 58, 11)


def test_wrong_inputs_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = write_clip(tmp_path / "clip")
    write_found(tmp_path / "found", 3)  # has no truth
    words = ["evaluate", "video", str(clip), "-o", str(tmp_path / "out"), "-q"]
    assert main([*words, "--results", str(tmp_path / "found")]) == 2
    assert "truth of 0, 1, 4" in capsys.readouterr().err
    assert main([*words, "--results", str(tmp_path)]) == 2
    assert "found0_*.npz" in capsys.readouterr().err
    assert main([*words, "--results", str(tmp_path / "found"), "--frames", "1:3"]) == 2
    assert "--frames" in capsys.readouterr().err
    assert main(["evaluate", "video", str(tmp_path / "found"), "-o", str(tmp_path / "out"), "-q"]) == 2
    assert "--suite video" in capsys.readouterr().err
    write_found(tmp_path / "small", 0, depth=np.ones((3, 4)))
    assert main([*words, "--results", str(tmp_path / "small")]) == 2
    assert "shape (3, 4)" in capsys.readouterr().err
    (clip / "truth.json").write_text("{}")
    assert main([*words, "--results", str(tmp_path / "found")]) == 2
    assert "truth.json" in capsys.readouterr().err


def test_clips_of_others_are_read() -> None:
    for name, offset, k1 in (("clip12", 0.4333333, -0.05), ("clip20", 0.35, 0.0)):
        clip = find_clips(shared("handheld") / name)[0]
        assert (clip.name, clip.offset) == (name, offset)
        assert clip.views[0][0].camera.distortion[0] == k1
        assert clip.truth(clip.times()[0]).depth.shape == (360, 640)
        assert len(clip.times()) == 5
