"""Synchronisation: its parts against closed forms, the whole on clips with a known offset."""

import json
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_data import shared
from wideflow import Video, synchronise
from wideflow.cli import main
from wideflow.config import SyncConfig
from wideflow.errors import InputError
from wideflow.geometry import sampson_distance
from wideflow.sync import pair_frames
from wideflow.sync.epipolar import crossings
from wideflow.sync.fit import robust_line
from wideflow.sync.fundamental import fit_fundamental
from wideflow.sync.picture_match import PictureMatch
from wideflow.sync.sound import RATE, SoundMatch, match_sound
from wideflow.sync.votes import Votes, count_votes
from wideflow.video.write import write_video


def bursts(seconds: float, seed: int) -> np.ndarray:
    """Noise that comes and goes, like speech."""
    rng = np.random.default_rng(seed)
    loud = np.repeat(rng.random(int(seconds * 8) + 1) ** 3, RATE // 8)[: int(seconds * RATE)]
    return (0.3 * loud * rng.standard_normal(len(loud))).astype(np.float32)


def hiss(track: np.ndarray, seed: int, level: float = 0.02) -> np.ndarray:
    return (track + level * np.random.default_rng([seed, 1]).standard_normal(len(track))).astype(np.float32)


@pytest.mark.parametrize("late", [2.0, 0.123456, -3.5, 7.75])
def test_sound_finds_a_delay_to_a_fraction_of_a_sample(late: float) -> None:
    world, now = bursts(30, 0), np.arange(15 * RATE) / RATE
    smooth = np.convolve(world, np.hanning(9) / 4, mode="same")  # so that it can be read between samples
    start = 8.0
    a = np.interp(start + now, np.arange(len(world)) / RATE, smooth)
    b = np.interp(start + late + now, np.arange(len(world)) / RATE, smooth)
    found = match_sound(hiss(a, 1), hiss(0.4 * b, 2))  # a quieter microphone
    assert found is not None
    assert abs(found.offset - late) < 2e-5
    assert found.rate == 1
    assert found.confidence > 0.95


def test_sound_of_something_else_is_not_trusted() -> None:
    for seed in range(4):
        found = match_sound(hiss(bursts(12, seed), 1), hiss(bursts(9, seed + 100), 2))
        assert found is None or found.confidence < 0.3


def test_a_hum_and_a_clap_in_both_clips_are_not_one_moment() -> None:
    now = np.arange(2 * RATE) / RATE
    for seed in range(6):
        tracks = []
        for clip in range(2):
            rng = np.random.default_rng([seed, clip])
            clap = rng.standard_normal(len(now)) * np.exp(-(((now - rng.uniform(0.5, 1.5)) / 0.01) ** 2))
            hum = 0.03 * np.sin(2 * np.pi * 180 * now + rng.uniform(0, 6))
            tracks.append((0.5 * clap + hum + 0.003 * rng.standard_normal(len(now))).astype(np.float32))
        found = match_sound(tracks[0], tracks[1])
        assert found is None or found.confidence < 0.5
    echo = np.roll(tracks[0], 1200) + 0.003 * rng.standard_normal(len(now))
    found = match_sound(tracks[0], echo.astype(np.float32))
    assert found is not None
    assert found.confidence > 0.9
    assert abs(found.offset + 0.15) < 1e-3


def test_silence_says_nothing() -> None:
    assert match_sound(np.zeros(5 * RATE, np.float32), bursts(5, 0)) is None
    assert match_sound(bursts(5, 0)[:100], bursts(5, 0)) is None


def test_sound_that_repeats_is_uncertain_and_the_nearest_start_is_taken() -> None:
    loop = np.tile(bursts(2.5, 3), 8)
    found = match_sound(hiss(loop, 1, 0.001), hiss(loop[RATE // 2 :], 2, 0.001))
    assert found is not None
    assert abs(found.offset - 0.5) < 1e-3
    assert found.confidence <= 0.5
    assert "repeats" in found.doubts


def test_clock_drift_is_measured_on_long_clips() -> None:
    world = np.convolve(bursts(200, 5), np.hanning(9) / 4, mode="same")
    b_time = np.arange(180 * RATE) / RATE
    b = np.interp(4.2 + b_time * (1 + 50e-6), np.arange(len(world)) / RATE, world)
    found = match_sound(hiss(world, 1), hiss(b, 2))
    assert found is not None
    assert abs(found.rate - 1 - 50e-6) < 2e-6
    assert abs(found.offset - 4.2) < 3e-4


@given(st.floats(-1e-3, 1e-3), st.floats(-5, 5), st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_robust_line_ignores_a_third_of_wrong_points(slope: float, start: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 500, 45)
    y = start + slope * x
    wrong = rng.choice(45, 15, replace=False)
    y[wrong] += rng.uniform(-0.05, 0.05, 15)
    found = robust_line(x, y, tolerance=0.002)
    assert abs(found[0] - slope) < 5e-6
    assert abs(found[1] - start) < 2e-3


@given(
    st.floats(-1.5, 1.5), st.floats(0.99, 1.01), st.integers(1, 40), st.integers(1, 40), st.integers(0, 10**6)
)
@settings(max_examples=60, deadline=None)
def test_pairs_are_the_nearest(offset: float, rate: float, n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (np.cumsum(rng.uniform(0.02, 0.05, count)) for count in (n, m))
    pairs = pair_frames(a, b, offset, rate)
    on_a = offset + rate * b
    for i, j, error in zip(pairs.a, pairs.b, pairs.error, strict=True):
        assert abs(error - (on_a[j] - a[i])) < 1e-12
        assert abs(error) <= np.abs(on_a - a[i]).min() + 1e-12
    half = 0.5 * np.median(np.diff(on_a)) if m > 1 else 0.0
    assert list(pairs.a) == [i for i in range(n) if on_a[0] - half - 1e-9 <= a[i] <= on_a[-1] + half + 1e-9]


def rotation(angles: np.ndarray) -> np.ndarray:
    cross = np.array([[0, -angles[2], angles[1]], [angles[2], 0, -angles[0]], [-angles[1], angles[0], 0]])
    length = max(float(np.linalg.norm(angles)), 1e-12)
    unit = cross / length
    return np.eye(3) + np.sin(length) * unit + (1 - np.cos(length)) * unit @ unit


def seen(points: np.ndarray, camera: int, time: float) -> np.ndarray:
    """Pixels of points (N, 3) in one of two handheld cameras, which sway."""
    sway = np.array([np.sin(3 * time + camera), np.cos(2 * time), np.sin(4 * time + 2 * camera)])
    R = rotation(np.array([0.0, 0.35 * camera, 0.0]) + 0.02 * sway)
    X = points @ R.T + np.array([-1.6 * camera, 0.1 * camera, 0.3 * camera]) + 0.05 * sway[::-1]
    return 600 * X[:, :2] / X[:, 2:] + np.array([320, 180])


def still_and_moving(time: float) -> np.ndarray:
    rng = np.random.default_rng(4)
    points = rng.uniform([-2, -1, 4], [2, 1, 8], (120, 3))
    velocity = np.zeros_like(points)
    velocity[90:] = rng.uniform(-1.5, 1.5, (30, 3))
    return points + velocity * time


def test_fundamental_matrix_fits_still_points_of_moving_cameras() -> None:
    x = seen(still_and_moving(0.0)[:90], 0, 0.0)
    y = np.stack([seen(still_and_moving(t)[:90], 1, t) for t in (0.0, 0.2, 0.7)])
    y[1, :3] = np.nan
    y[2, 5] += 40  # a wrong match
    distance = np.abs(sampson_distance(fit_fundamental(x, y), x, y))
    assert np.isnan(distance[1, :3]).all()
    assert distance[2, 5] > 5
    distance[2, 5] = 0
    assert np.nanmax(distance) < 0.02


@pytest.mark.parametrize("delta", [0.0, 0.1234, -0.08])
def test_moving_points_cross_their_lines_when_both_cameras_saw_them(delta: float) -> None:
    fps, noise = 30.0, np.random.default_rng(0)
    now = 0.4
    x = seen(still_and_moving(now), 0, now)
    times = now + delta + np.arange(-8, 9) / fps
    tracks = np.stack([seen(still_and_moving(t), 1, t) for t in times])
    tracks += noise.normal(0, 0.15, tracks.shape)
    found = crossings(x, tracks)
    assert found is not None
    step, slope = found
    assert len(step) >= 10
    expected = 8 - delta * fps
    weight = slope**2
    assert abs((weight * step).sum() / weight.sum() - expected) < 0.15


def test_without_still_points_there_is_no_geometry() -> None:
    rng = np.random.default_rng(0)
    x, tracks = rng.uniform(0, 500, (60, 2)), rng.uniform(0, 500, (17, 60, 2))
    assert crossings(x, tracks) is None
    assert crossings(x[:5], tracks[:, :5]) is None


def test_votes_that_agree_win_over_many_that_do_not() -> None:
    rng = np.random.default_rng(1)
    pairs = []
    for _ in range(12):
        offset = np.concatenate([rng.uniform(-1, 1, 20), rng.normal(0.3217, 0.004, 5)])
        pairs.append(Votes(offset, np.full(25, 150.0), -1.0, 1.0))
    pairs.append(Votes(np.full(200, -0.6), np.full(200, 150.0), -1.0, 1.0))  # one wrong geometry
    found = count_votes(pairs, -1, 1)
    assert found is not None
    assert abs(found.offset - 0.3217) < 0.004
    assert found.voices >= 10
    assert found.confidence > 0.8
    chance = count_votes(
        [Votes(rng.uniform(-1, 1, 25), np.full(25, 150.0), -1.0, 1.0) for _ in range(12)], -1, 1
    )
    assert chance is None or chance.confidence < 0.5
    few = count_votes(
        [Votes(rng.normal(0.5, 0.002, 9), np.full(9, 150.0), -1.0, 1.0) for _ in range(3)], -1, 1
    )
    assert few is not None
    assert few.confidence < 0.5  # three pairs of frames that agree may be chance
    assert count_votes([Votes(np.zeros(2), np.ones(2), -1.0, 1.0)], -1, 1) is None


def plain_clip(path: Path, frames: int, sound: np.ndarray | None = None) -> Path:
    write_video(path, [np.full((48, 64, 3), 90, np.uint8)] * frames, 30, sound, RATE)
    return path


def test_clips_that_tell_nothing_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = plain_clip(tmp_path / "a.mp4", 40), plain_clip(tmp_path / "b.mp4", 40)
    short = plain_clip(tmp_path / "short.mp4", 3)
    with pytest.raises(InputError, match="too little moves; give the offset"):
        synchronise(a, b)
    with pytest.raises(InputError, match=r"short.mp4' has 3 frames, 0.1 s, too short"):
        synchronise(a, short)
    with pytest.raises(InputError, match="one of them is silent"):
        synchronise(a, b, SyncConfig(use="sound"))
    with pytest.raises(InputError, match="share no moment"):
        synchronise(a, b, offset=50.0)
    for words in (
        [str(a), str(short)],
        [str(a), str(tmp_path / "c.mp4")],
        [str(a), str(b), "--offset", "nan"],
    ):
        assert main(["sync", *words, "--quiet"]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1


def test_a_given_offset_pairs_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = plain_clip(tmp_path / "a.mp4", 40), plain_clip(tmp_path / "b.mp4", 30)
    assert main(["sync", str(a), str(b), "--offset", "0.51", "--quiet"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["method"] == "given"
    assert answer["offset_seconds"] == 0.51
    assert answer["pairs"] == 25
    assert abs(answer["pair_error_largest"] - 0.01) < 1e-4  # 0.51 s is 15.3 frames


def test_sound_of_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = hiss(bursts(6, 9), 1, 0.005)
    a = plain_clip(tmp_path / "a.mp4", 90, world[: 3 * RATE])
    b = plain_clip(tmp_path / "b.mp4", 90, world[10000:34000])
    assert main(["sync", str(a), str(b), "--quiet"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["method"] == "sound"
    assert abs(answer["offset_seconds"] - 1.25) < 1e-3
    assert answer["confidence"] > 0.9
    assert answer["reasons"] == []
    other = plain_clip(tmp_path / "other.mp4", 90, hiss(bursts(3, 77), 3, 0.005))
    assert main(["sync", str(a), str(other), "--quiet"]) == 0
    captured = capsys.readouterr()
    doubted = json.loads(captured.out)
    assert doubted["confidence"] < 0.5
    assert "bands" in doubted["reasons"]
    assert "low confidence" in captured.err


@pytest.mark.parametrize(
    ("late", "method"), [(0.004, "sound"), (0.03, "sound and geometry"), (0.09, "sound")]
)
def test_geometry_corrects_what_the_way_of_sound_explains(
    late: float, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = hiss(bursts(6, 9), 1, 0.005)
    a = plain_clip(tmp_path / "a.mp4", 90, world[: 3 * RATE])
    b = plain_clip(tmp_path / "b.mp4", 90, world[8000:32000])
    monkeypatch.setattr(
        "wideflow.sync.offset.refine_offset",
        lambda a, b, offset: PictureMatch(offset + late, "geometry", 1.0),
    )
    found = synchronise(a, b)
    assert found.method == method
    assert abs(found.offset_seconds - (1 + late * (method != "sound"))) < 1e-3


@pytest.mark.parametrize(
    ("heard", "apart", "method", "trusted"),
    [
        (0.3, 0.02, "sound and movement", True),  # two witnesses that know nothing of each other
        (0.3, 0.07, "sound", False),  # two frames apart: they contradict each other
        (0.05, 0.02, "sound and movement", False),  # sound that says nothing may be met by luck
    ],
)
def test_sound_and_pictures_that_agree_confirm_each_other(
    heard: float, apart: float, method: str, trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracks = [plain_clip(tmp_path / f"{name}.mp4", 60, hiss(bursts(2, 9), 1, 0.005)) for name in "ab"]
    where = "wideflow.sync.offset."
    monkeypatch.setattr(where + "match_sound", lambda a, b: SoundMatch(0.2, 1.0, heard, ("bands",)))
    monkeypatch.setattr(
        where + "match_pictures", lambda *_: PictureMatch(0.2 + apart, "movement", 0.02, ("few rivals",))
    )
    found = synchronise(*tracks)
    assert (found.method, found.offset_seconds) == (method, 0.2)
    assert (found.confidence > 0.5) == trusted
    assert (found.reasons == ()) == trusted


def test_measured_sound() -> None:
    folder = shared("audio")
    for late in (3, 7):
        found = synchronise(folder / "full.mp4", folder / f"{late}-secs-in.mp4")
        assert abs(found.offset_seconds - late) < 0.01
        assert found.confidence > 0.95


def test_handheld_clips_by_sound() -> None:
    clip = shared("handheld/clip12")
    found = synchronise(clip / "a.mp4", clip / "b.mp4", SyncConfig(use="sound"))
    assert abs(found.offset_seconds - 13 / 30) < 0.005
    assert len(found.pairs.a) == 47
    assert (found.pairs.a - found.pairs.b == 13).all()


def test_handheld_clips_by_pictures_alone(tmp_path: Path) -> None:
    clip = shared("handheld/clip12")
    silent = []
    for name in ("a.mp4", "b.mp4"):
        with av.open(str(clip / name)) as source, av.open(str(tmp_path / name), "w") as out:
            stream = out.add_stream_from_template(source.streams.video[0])
            for packet in source.demux(video=0):
                if packet.dts is not None:
                    packet.stream = stream
                    out.mux(packet)
        silent.append(Video(tmp_path / name))
    assert not any(video.has_sound for video in silent)
    found = synchronise(silent[0], silent[1])
    assert found.method == "geometry"
    assert abs(found.offset_seconds - 13 / 30) < 0.01
    assert found.confidence > 0.5
