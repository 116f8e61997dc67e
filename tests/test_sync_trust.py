"""Synchronisation by pictures: movement against made-up clips, and when its answers are to be trusted."""

from pathlib import Path

import numpy as np
import pytest

from wideflow import Video
from wideflow.sync.motion import MotionMatch, MotionSeries, match_motion, motion_series
from wideflow.sync.pictures import _both_series, _decide, refine_offset
from wideflow.sync.votes import Election, Votes, count_votes
from wideflow.video.write import write_video


def plain_clip(path: Path, frames: int) -> Video:
    write_video(path, [np.full((48, 64, 3), 90, np.uint8)] * frames, 30)
    return Video(path)


def moving_cells(times: np.ndarray, cells: int, seed: int) -> MotionSeries:
    """Things that move now and then; each clip sees them in cells of its own, beside others of its own."""
    rng = np.random.default_rng(7)
    grid = np.arange(-40, 80, 0.05)
    things = np.stack([np.convolve(rng.random(len(grid)) < 0.03, np.hanning(12), "same") for _ in range(6)])
    own = np.random.default_rng(seed)
    mix = own.random((4, cells, 6)) * (own.random((4, cells, 6)) < 0.25)
    values = np.stack([np.interp(times, grid, thing) for thing in things])
    noise = 0.05 * own.random((len(times), 4, cells))
    return MotionSeries(times, (np.einsum("kcs,st->tkc", mix, values) + noise).astype(np.float32))


@pytest.mark.parametrize("late", [3.0, -4.27])
def test_movement_finds_the_offset(late: float) -> None:
    a = moving_cells(np.arange(0, 20, 1 / 10), 30, 1)
    b = moving_cells(late + np.arange(0, 18, 1 / 12), 40, 2)
    found = match_motion(a, MotionSeries(b.times[20:] - late, b.values[20:]))  # watched from 1.7 s on
    assert found is not None
    assert abs(found.offset - late) < 0.05
    assert found.margin > 1.5
    assert found.confidence > 0.8


def test_movement_of_something_else_is_not_trusted() -> None:
    a = moving_cells(np.arange(0, 20, 1 / 10), 30, 1)
    b = moving_cells(np.arange(50, 70, 1 / 10), 30, 2)
    found = match_motion(a, MotionSeries(b.times - 50, b.values))
    assert found is None or found.confidence < 0.3
    still = MotionSeries(a.times, np.zeros_like(a.values))
    assert match_motion(a, still) is None


def test_movement_of_one_kind_alone_is_not_trusted() -> None:
    a = moving_cells(np.arange(0, 20, 1 / 10), 30, 1)
    b = moving_cells(3 + np.arange(0, 18, 1 / 10), 30, 2)
    other = moving_cells(50 + np.arange(0, 18, 1 / 10), 30, 3)
    values = other.values.copy()
    values[:, 3] = b.values[:, 3]  # brightness alone changes at the same moments
    found = match_motion(a, MotionSeries(b.times - 3, values))
    assert found is not None
    assert found.agreeing < 0.6
    assert found.confidence < 0.5


def test_movement_ahead_of_few_others_is_not_trusted() -> None:
    a = moving_cells(np.arange(0, 3.5, 1 / 10), 30, 1)
    b = moving_cells(0.3 + np.arange(0, 3.5, 1 / 10), 30, 2)
    found = match_motion(a, MotionSeries(b.times - 0.3, b.values))
    assert found is not None
    assert found.rivals < 20
    assert found.confidence < 0.5
    longer = MotionMatch(found.offsets, found.score, 0.3, margin=3.0, agreeing=1.0, rivals=100)
    assert longer.confidence > 0.95


def test_movement_watched_in_pieces_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    ground = rng.integers(0, 255, (48, 64, 3), np.uint8)
    pictures = []
    for step in range(40):
        picture = ground.copy()
        picture[10:30, step : step + 16] = 200
        pictures.append(picture)
    write_video(tmp_path / "a.mp4", pictures, 30)
    video = Video(tmp_path / "a.mp4")
    whole = motion_series(video, 0, len(video), 1)
    monkeypatch.setattr("wideflow.sync.pictures._PIECE", 0.37)  # 12 frames
    for series in _both_series((video, video), ((0.0, 2.0), (0.0, 2.0))):
        np.testing.assert_array_equal(series.times, whole.times)
        np.testing.assert_array_equal(series.values, whole.values)
    assert len(whole.times) == 39


@pytest.mark.parametrize(("apart", "steady"), [(0.0, True), (0.03, False)])
def test_votes_know_how_well_their_halves_agree(apart: float, steady: bool) -> None:
    rng = np.random.default_rng(2)
    pairs = [
        Votes(rng.normal(0.3 + apart * (k % 2), 0.002, 6), np.full(6, 150.0), -1.0, 1.0) for k in range(20)
    ]
    found = count_votes(pairs, -1, 1)
    assert found is not None
    assert abs(found.spread - apart / 2) < 0.002
    few = count_votes(pairs[::2][:4], -1, 1)
    assert few is not None
    assert few.spread == np.inf  # two pairs of frames in a half are too few


@pytest.mark.parametrize(("spread", "used"), [(0.002, True), (0.008, False), (np.inf, False)])
def test_a_correction_within_its_own_error_is_none(
    spread: float, used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = plain_clip(tmp_path / "a.mp4", 60)
    election = Election(0.512, lead=5.0, voices=20, spread=spread)
    monkeypatch.setattr("wideflow.sync.pictures.geometry_offset", lambda *rest: election)
    found = refine_offset(video, video, 0.5)
    assert (found is not None) == used


@pytest.mark.parametrize(("geometry", "low", "high"), [(2.02, 0.97, 1.0), (3.5, 0.0, 0.2)])
def test_movement_and_geometry_confirm_or_contradict(
    geometry: float, low: float, high: float, tmp_path: Path
) -> None:
    video = plain_clip(tmp_path / "a.mp4", 20)
    movement = MotionMatch(np.zeros(0), np.zeros(0), 2.0, margin=1.8, agreeing=1.0, rivals=100)
    election = Election(geometry, lead=5.0, voices=8)
    spans = (0.0, 20.0), (0.0, 20.0)
    found = _decide(movement, election, video, video, spans)
    assert found is not None
    assert found.offset == geometry
    assert low <= found.confidence <= high


def test_a_few_votes_do_not_move_a_sure_answer_of_movement(tmp_path: Path) -> None:
    video = plain_clip(tmp_path / "a.mp4", 20)
    movement = MotionMatch(np.zeros(0), np.zeros(0), 2.0, margin=1.8, agreeing=1.0, rivals=100)
    spans = (0.0, 20.0), (0.0, 20.0)
    for spread, offset in ((np.inf, 2.0), (0.004, 2.02)):
        found = _decide(movement, Election(2.02, lead=1.4, voices=6, spread=spread), video, video, spans)
        assert found is not None
        assert found.offset == offset
        assert found.confidence > 0.8
