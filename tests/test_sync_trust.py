"""Synchronisation by pictures: movement against made-up clips, and when its answers are to be trusted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shared_data import shared
from wideflow import Video, synchronise
from wideflow.sync.coincidence import agreement, detail
from wideflow.sync.doubts import WORDS, sentence
from wideflow.sync.lags import correlation_width, peak_width
from wideflow.sync.motion import MotionSeries, motion_series
from wideflow.sync.movement import MotionMatch, match_motion
from wideflow.sync.picture_match import _both_series, _decide, refine_offset
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
    mix = own.random((4, cells, 6)) * (own.random((4, cells, 6)) < 0.07)
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
    assert found.lead > 1.5
    assert found.kinds > 0
    assert found.parts > 0
    assert found.doubts == ()
    assert found.confidence > 0.8


def test_movement_of_something_else_is_not_trusted() -> None:
    times = np.arange(0, 12, 1 / 10)
    for seed in range(12):
        a, b = moving_cells(5 * seed - 35 + times, 30, 1 + seed), moving_cells(50 + times, 30, 90 + seed)
        found = match_motion(MotionSeries(times, a.values), MotionSeries(times, b.values))
        assert found is None or found.confidence < 0.5
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
    assert found.kinds < 0
    assert "kinds" in found.doubts
    assert found.confidence < 0.5


def test_movement_of_half_the_time_alone_is_less_trusted() -> None:
    times = np.arange(0, 20, 1 / 10)
    a, b, other = (moving_cells(begin + times, 30, seed) for begin, seed in ((0, 1), (0, 2), (50, 2)))
    mixed = np.concatenate([b.values[:100], other.values[100:]])
    whole, half = match_motion(a, b), match_motion(a, MotionSeries(times, mixed))
    assert whole is not None
    assert half is not None
    assert whole.parts > 0.5
    assert half.parts < 0
    assert half.confidence < whole.confidence


def test_one_slow_gesture_fits_another_and_is_not_trusted() -> None:
    times = np.arange(0, 8, 1 / 10)

    def gesture(at: float, seed: int) -> MotionSeries:
        rng = np.random.default_rng(seed)
        bump = np.exp(-0.5 * ((times[:, None, None] - at - 0.2 * rng.random((1, 4, 1))) / 0.8) ** 2)
        cells = rng.random((1, 4, 40)) * (rng.random((1, 4, 40)) < 0.3)
        return MotionSeries(times, (bump * cells + 0.01 * rng.random((80, 4, 40))).astype(np.float32))

    found = match_motion(gesture(3.0, 1), gesture(5.0, 2))
    assert found is not None
    assert abs(found.offset + 2) < 0.5  # the gestures do fall on each other
    assert found.confidence < 0.5
    assert found.doubts


def test_movement_ahead_of_few_others_is_not_trusted() -> None:
    a = moving_cells(np.arange(0, 3.5, 1 / 10), 30, 1)
    b = moving_cells(0.3 + np.arange(0, 3.5, 1 / 10), 30, 2)
    found = match_motion(a, MotionSeries(b.times - 0.3, b.values))
    assert found is not None
    assert found.confidence < 0.5
    assert "few rivals" in found.doubts
    assert sure_movement().confidence > 0.8
    assert replace(sure_movement(), rivals=2.0).confidence < 0.5
    in_two_seconds = np.linspace(0, 1.4, 200)  # of a fast camera
    assert replace(sure_movement(), offsets=in_two_seconds).confidence < 0.5
    assert replace(sure_movement(), width=16).confidence < 0.1  # however far ahead, which frame is it


def sure_movement() -> MotionMatch:
    offsets = np.arange(-10, 10, 0.1)
    return MotionMatch(offsets, np.zeros(200), 2.0, lead=2.5, kinds=1.0, parts=1.0, rivals=20.0, width=4)


def test_agreement_is_highest_where_the_series_fall_on_each_other() -> None:
    rng = np.random.default_rng(3)
    world = rng.random((80, 5)).astype(np.float32)
    curve = agreement(world[:60], world[17:70][:, ::-1], least=20)
    assert len(curve) == (53 - 20) + (60 - 20) + 1
    assert int(np.argmax(curve)) - (53 - 20) == 17


def test_what_the_whole_picture_does_is_the_cameras() -> None:
    rng = np.random.default_rng(0)
    own = np.zeros((50, 4, 20), np.float32)
    own[20:25, :, 3] = 1
    shake = rng.random((50, 4, 1)).astype(np.float32)
    np.testing.assert_allclose(detail(own + shake, 5.0), detail(own, 5.0), atol=0.05)


def test_widths_of_peaks() -> None:
    steps = np.arange(200)
    for sigma in (2.0, 6.0):
        bell = np.exp(-0.5 * ((steps - 90) / sigma) ** 2)
        assert abs(peak_width(bell, 90) - 2.355 * sigma) <= 1.5
        noise = np.random.default_rng(1).standard_normal(4000)
        smooth = np.convolve(noise, np.exp(-0.5 * (np.arange(-30, 31) / sigma) ** 2), "same")
        assert abs(correlation_width(smooth) - 1.665 * sigma) <= 2


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
    monkeypatch.setattr("wideflow.sync.picture_match._PIECE", 0.37)  # 12 frames
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
    monkeypatch.setattr("wideflow.sync.picture_match.geometry_offset", lambda *rest: election)
    found = refine_offset(video, video, 0.5)
    assert (found is not None) == used


@pytest.mark.parametrize(
    ("geometry", "length", "low", "high"),
    [(2.02, 4.0, 0.97, 1.0), (2.02, 20.0, 0.9, 0.96), (3.5, 20.0, 0.0, 0.2)],
)
def test_movement_and_geometry_confirm_or_contradict(
    geometry: float, length: float, low: float, high: float, tmp_path: Path
) -> None:
    video = plain_clip(tmp_path / "a.mp4", 20)
    election = Election(geometry, lead=5.0, voices=8, spread=0.002)
    spans = (0.0, length), (0.0, length)
    found = _decide(sure_movement(), election, video, video, spans)
    assert found is not None
    assert found.offset == geometry
    assert low <= found.confidence <= high
    assert ("contradiction" in found.doubts) == (geometry == 3.5)


def test_a_few_votes_do_not_move_a_sure_answer_of_movement(tmp_path: Path) -> None:
    video = plain_clip(tmp_path / "a.mp4", 20)
    spans = (0.0, 20.0), (0.0, 20.0)
    for spread, offset in ((np.inf, 2.0), (0.004, 2.02)):
        found = _decide(
            sure_movement(), Election(2.02, lead=1.4, voices=6, spread=spread), video, video, spans
        )
        assert found is not None
        assert found.offset == offset
        assert found.confidence > 0.8


def test_geometry_whose_halves_disagree_needs_more_pairs_of_frames() -> None:
    agreed = Election(0.4, lead=2.05, voices=6, spread=0.003)
    assert agreed.confidence > 0.7
    assert agreed.doubts == ()
    for spread in (0.1, np.inf):
        alone = replace(agreed, spread=spread)
        assert alone.confidence < 0.5
        assert alone.doubts == ("few votes",)
        assert replace(alone, voices=16).confidence > 0.9


@pytest.mark.parametrize(
    ("a", "b", "truth"),
    [("badminton_cam02_25_89_1", "badminton_cam14_1_96_2", -2.4), ("pan18_first", "pan25_last", np.inf)],
)
def test_real_clips_that_cannot_be_synchronised_are_doubted(a: str, b: str, truth: float) -> None:
    folder = shared("real/sync")
    found = synchronise(folder / f"{a}.mp4", folder / f"{b}.mp4")
    assert abs(found.offset_seconds - truth) <= 0.1 or found.confidence < 0.5
    if found.confidence < 0.5:
        assert found.reasons
        assert found.notes[0].startswith("low confidence")
        assert found.notes[0].endswith("give the offset with --offset")


def test_doubts_all_have_words() -> None:
    nothing = Election(0.0, lead=1.0, voices=3)
    hopeless = replace(sure_movement(), lead=0.0, kinds=-2.0, parts=-1.0, rivals=1.0, width=20)
    named = {*nothing.doubts, *hopeless.doubts}
    assert {"no lead", "kinds", "parts", "few rivals", "broad", "few votes"} == named
    assert named < set(WORDS)
    assert WORDS["parts"] in sentence(0.5, "movement", 0.2, ("parts", "kinds"))
