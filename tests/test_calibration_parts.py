"""The parts of calibration against closed forms and properties."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import room
from wideflow import Rig, Video
from wideflow.calibration import scaled, smoothed
from wideflow.calibration.report import CalibrationReport, doubts_about
from wideflow.calibration.sightings.keyframes import choose_keyframes
from wideflow.calibration.solving.lens import first_lenses, focal_in_notes
from wideflow.cli.calibrate import parse_frames
from wideflow.errors import InputError
from wideflow.files.fingerprint import fingerprint
from wideflow.geometry import baseline, project, world_to_camera
from wideflow.geometry.features import Features, match_features
from wideflow.storage.parts import Parts
from wideflow.storage.place import Place
from wideflow.types import RigFrame, View
from wideflow.verdict import findings_from
from wideflow.video.state import video_state
from wideflow.video.write import write_video


def quiet(done: int, total: int, text: str) -> None:
    pass


def two_videos(folder: Path) -> tuple[Video, Video]:
    for name in "ab":
        pictures = [np.full((240, 320, 3), 10 * k, np.uint8) for k in range(3)]
        write_video(folder / f"{name}.mp4", pictures, 10)
    return Video(folder / "a.mp4"), Video(folder / "b.mp4")


@given(
    st.lists(st.floats(0, 0.5) | st.just(float("nan")), min_size=1, max_size=200),
    st.floats(0.01, 0.3),
    st.integers(1, 30),
)
@settings(max_examples=80, deadline=None)
def test_key_frames_rise_are_usable_and_near_each_other(
    motion: list[float], spacing: float, gap: int
) -> None:
    steps = np.array(motion)
    usable = np.flatnonzero(np.isfinite(steps))
    chosen = choose_keyframes(steps, spacing, gap, 4, 1000)
    assert np.isin(chosen, usable).all()
    assert (np.diff(chosen) > 0).all()
    if len(usable):
        assert {usable[0], usable[-1]} <= set(chosen.tolist())
        places = np.searchsorted(usable, chosen)
        assert np.diff(places, prepend=places[0]).max() <= gap + 1
    assert len(choose_keyframes(steps, spacing, gap, 2, 5)) <= 5


def test_key_frames_are_dense_where_cameras_move() -> None:
    motion = np.concatenate([np.full(50, 0.001), np.full(50, 0.03)])
    chosen = choose_keyframes(motion, 0.06, 1000, 2, 100)
    assert np.count_nonzero(chosen >= 50) > 10 * np.count_nonzero(chosen[1:] < 50)


def test_matches_are_mutual_clear_and_one_a_place() -> None:
    rng = np.random.default_rng(0)
    descriptors = rng.integers(0, 60, (40, 128)).astype(np.uint8)
    places = rng.uniform(0, 100, (40, 2)).astype(np.float32)
    a = Features(places, descriptors)
    order = rng.permutation(40)
    b = Features(places[order] + 3, descriptors[order])
    pairs = match_features(a, b)
    assert len(pairs) == 40
    assert (order[pairs[:, 1]] == pairs[:, 0]).all()
    twice = Features(np.concatenate([b.xy, b.xy + 20]), np.concatenate([b.descriptors, b.descriptors]))
    assert len(match_features(a, twice)) == 0  # each has a rival elsewhere
    turned = Features(np.concatenate([b.xy, b.xy]), np.concatenate([b.descriptors, b.descriptors]))
    assert len(match_features(a, turned)) == 40  # the same place with two orientations is no rival


def test_a_rival_off_the_epipolar_line_is_none() -> None:
    rng = np.random.default_rng(0)
    descriptors = rng.integers(0, 60, (40, 128)).astype(np.uint8)
    places = rng.uniform(0, 100, (40, 2)).astype(np.float32)
    a = Features(places, descriptors)
    along = Features(
        np.concatenate([places + (5, 0), places + (9, 30)]), np.concatenate([descriptors, descriptors])
    )
    F = np.array([[0, 0, 0], [0, 0, -1.0], [0, 1, 0]])  # lines are rows
    assert len(match_features(a, along)) == 0
    pairs = match_features(a, along, F)
    assert len(pairs) == 40
    assert (pairs[:, 0] == pairs[:, 1]).all()


@given(st.floats(0.01, 100))
@settings(max_examples=20, deadline=None)
def test_scale_multiplies_lengths_and_nothing_else(factor: float) -> None:
    truth = true_rig(4)
    found = scaled(truth, factor)
    for one, two in zip(truth.frames, found.frames, strict=True):
        assert baseline(*two.views) == pytest.approx(factor * baseline(*one.views))
        assert all((v.R == w.R).all() for v, w in zip(one.views, two.views, strict=True))
    with pytest.raises(InputError, match="above 0"):
        scaled(truth, 0.0)


def true_rig(frames: int) -> Rig:
    cameras = room.camera("a"), room.camera("b")
    return Rig(
        cameras,
        tuple(
            RigFrame(
                k, (k / 10, k / 10), (room.view(cameras[0], k / 10, -7), room.view(cameras[1], k / 10, 7))
            )
            for k in range(frames)
        ),
    )


def test_smoothing_calms_noise_and_leaves_steady_motion() -> None:
    rng = np.random.default_rng(1)
    cameras = room.camera("a"), room.camera("b")

    def moving(noise: float) -> Rig:
        frames = []
        for k in range(40):
            poses = [np.eye(3, 4) for _ in cameras]
            for pose in poses:
                pose[:, 3] = (0.1 * k, 0.02 * k, 1) + noise * rng.standard_normal(3)
            views = tuple(View(c, p) for c, p in zip(cameras, poses, strict=True))
            frames.append(RigFrame(k, (k / 30, k / 30), views))
        return Rig(cameras, tuple(frames))

    steady = moving(0)
    assert smoothed(steady, 0.0) is steady
    calm = smoothed(steady, 0.1)
    assert np.allclose([f.views[0].t for f in calm.frames], [f.views[0].t for f in steady.frames])
    noisy = moving(0.05)
    error = [
        np.std([f.views[0].t - s.views[0].t for f, s in zip(rig.frames, steady.frames, strict=True)])
        for rig in (noisy, smoothed(noisy, 0.1))
    ]
    assert error[1] < 0.6 * error[0]


def test_notes_of_phones_give_the_focal_length(tmp_path: Path) -> None:
    assert focal_in_notes({"com.apple.quicktime.camera.focal_length.35mm_equivalent": "26"}) == 26
    assert focal_in_notes({"FocalLengthIn35mmFilm": "27.5 mm"}) == 27.5
    assert focal_in_notes({"title": "35 focal", "focal_length_35": "none"}) is None
    a, b = two_videos(tmp_path)
    prior = first_lenses((a, b), (room.camera("a", (640, 480)), None))
    assert prior.sources == ("given", "self-calibrated")
    assert (prior.spread[0] == 0).all()
    assert (prior.spread[1] > 0).all()
    assert np.exp(prior.mean[0, 0]) == pytest.approx(0.95 * 320)  # half the size, half the focal length
    with pytest.raises(InputError, match="same shape"):
        first_lenses((a, b), (room.camera("a", (240, 320)), None))


LENSES, FOUND = ("given", "given"), ("self-calibrated", "self-calibrated")
BASE = CalibrationReport(50, (50, 50), 0.4, 0.3, 900, 200.0, 12.0, (1.0,), (12.0,), (600.0, 600.0), LENSES)


@pytest.mark.parametrize(
    ("change", "grade", "said"),
    [
        ({"inliers_across": 25.0}, "weak", "overlap"),
        ({"inliers_across": 0.0}, "poor", "share only 0 points"),
        ({"registered": (50, 40)}, "weak", "40 of 50"),
        ({"registered": (50, 1)}, "poor", "1 of 50"),
        ({"ray_angle": 0.4}, "weak", "farther apart"),
        ({"reprojection_error_median": 3.0}, "weak", "3.0 px"),
        ({"focal_lengths": (600.0, 9000.0)}, "poor", "camera B"),
        ({"focal_lengths": (85.0, 600.0)}, "poor", "camera A, 85 px"),  # 150 degrees of view
        (
            {"focal_lengths": (600.0, 1100.0), "focal_spread": (0.01, 0.2), "intrinsics_source": FOUND},
            "poor",
            "camera B",
        ),
        ({"intrinsics_source": ("guessed", "guessed")}, "poor", "--intrinsics-a"),
        ({"agreeing": 0.7}, "weak", "70%"),
        ({"pairs_turn": 3.0, "pairs_way": 4.0}, "poor", "3.0 degrees in rotation"),
        ({"support": 0.1}, "poor", "10%"),
        ({"baseline": (1.0, 1.01, 1.2, 1.21)}, "poor", "from one frame to the next"),
        ({"tilt": 0.05}, "weak", "5%"),
        ({"tilt": 0.5}, "poor", "50%"),
        ({"tilt": 0.16}, "poor", "Film from places farther apart"),
        ({"tilt": 0.16, "intrinsics_source": FOUND}, "poor", "Give the intrinsics"),
        ({"halves": 0.3, "focal_spread": (0.01, 0.01)}, "poor", "zoom"),
        ({"lens_off": 0.25}, "poor", "off by 25%"),
        ({"flat": 0.97, "intrinsics_source": FOUND}, "poor", "One plane"),
    ],
)
def test_weak_calibrations_are_said_to_be_weak(change: dict[str, object], grade: str, said: str) -> None:
    (doubt,) = doubts_about(replace(BASE, **change), (640, 640))
    assert (doubt.topic, doubt.grade) == ("Calibration", grade)
    assert said in doubt.words


def test_every_doubt_is_said_and_kept() -> None:
    assert doubts_about(BASE, (640, 640)) == ()
    bad = replace(BASE, inliers_across=3.0, focal_lengths=(10.0, 600.0))
    doubts = doubts_about(bad, (640, 640))
    assert len(doubts) == 2
    kept = json.loads(json.dumps(replace(bad, doubts=doubts).as_dict()))["doubts"]
    assert findings_from(kept) == doubts


def test_steps_are_kept_until_something_changes(tmp_path: Path) -> None:
    videos = two_videos(tmp_path)
    key = fingerprint(video_state(videos), {"size": 3}, np.arange(4))
    assert key == fingerprint(video_state(videos), {"size": 3}, np.arange(4))
    assert key != fingerprint(video_state(videos), {"size": 4}, np.arange(4))
    assert key != fingerprint(video_state(videos), {"size": 3}, np.arange(4.0))
    (tmp_path / "a.mp4").touch()
    assert key != fingerprint(video_state(videos), {"size": 3}, np.arange(4))
    runs = []
    work = Parts(Place(tmp_path / "work"), key)
    for _ in range(2):
        assert work.part("x", lambda: runs.append(1) or {"v": np.arange(3)})["v"].tolist() == [0, 1, 2]
    assert len(runs) == 1
    (tmp_path / "work" / key / "x.bin").write_bytes(b"PK half")
    assert work.part("x", lambda: {"v": np.ones(1)})["v"].tolist() == [1]


def test_frames_are_a_slice() -> None:
    assert parse_frames(None, 3) == slice(0, None, 3)
    assert parse_frames(":7", 1) == slice(0, 7, 1)
    assert parse_frames("4:", 2) == slice(4, None, 2)


def test_a_length_in_the_picture_is_measured() -> None:
    from wideflow.pipeline.before.known_length import measure_length

    views = true_rig(1).frames[0].views
    pictures = tuple(room.picture(view, 0.0).astype(np.float32) / 255 for view in views)
    board = np.array([[-1.3, 0.1, 4.375], [-0.7, 0.8, 4.825]])
    pixels = project(views[0].camera, world_to_camera(views[0], board))
    length = measure_length(pictures, views, pixels.tolist())
    assert length.length == pytest.approx(np.linalg.norm(board[1] - board[0]), rel=0.02)
    assert length.distance == pytest.approx(np.linalg.norm(board.mean(axis=0) - views[0].centre), rel=0.02)
    assert length.of(views) == pytest.approx(length.length)
    moved = np.array([[0.0, 0], [0.6, 0.8]])  # one end by 1 px
    other = replace(length, y=length.y + moved).of(views)
    assert abs(other / length.length - 1) < 3 * length.error
    with pytest.raises(InputError, match="outside A's picture"):
        measure_length(pictures, views, [(5, 5), (500, 5)])
