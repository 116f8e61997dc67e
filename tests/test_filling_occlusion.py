"""The occlusion mask: closed forms, islands, and rendered scenes with known visibility."""

from dataclasses import replace

import numpy as np
import pytest

from matching_scenes import end_point_error, rendered, stereo_truth, two_views
from shared_data import shared
from wideflow.config import FillConfig
from wideflow.errors import InputError
from wideflow.evaluate.metrics import occlusion_scores
from wideflow.filling import decide, depth_shown, extend_planes, find_occluded, find_refuted, find_shown
from wideflow.handheld import read_handheld
from wideflow.types import Camera, Flow, View

RAW = FillConfig(island=0.0, hole=0.0)


def shifted(height: int, width: int, by: float) -> tuple[np.ndarray, np.ndarray]:
    forward = np.zeros((height, width, 2), np.float32)
    forward[..., 0] = by
    return forward, -forward


def test_what_leaves_the_frame_is_occluded_in_both_directions() -> None:
    forward, backward = shifted(20, 30, 6)
    assert np.array_equal(find_occluded(forward, backward), np.arange(30)[None].repeat(20, 0) >= 24)
    assert np.array_equal(find_occluded(backward, forward), np.arange(30)[None].repeat(20, 0) < 6)


@pytest.mark.parametrize(("error", "expected"), [(2.9, False), (3.1, True)])
def test_the_threshold_is_three_pixels(error: float, expected: bool) -> None:
    forward, backward = shifted(20, 30, 0)
    backward[8:14, 9:20, 1] = error
    occluded = find_occluded(forward, backward, RAW)
    assert occluded[8:14, 9:20].all() == expected
    assert not occluded[:8].any()


def test_unknown_flow_is_occluded() -> None:
    forward, backward = shifted(20, 30, 0)
    forward[5, 5], backward[7, 7] = np.nan, np.nan
    assert np.argwhere(find_occluded(forward, backward, RAW)).tolist() == [[5, 5], [7, 7]]


def test_a_small_island_of_other_flow_is_chance_and_a_large_one_is_not() -> None:
    forward, backward = shifted(60, 60, 0)
    for y, x, size in ((5, 5, 4), (20, 20, 20)):  # both agree with their way back
        forward[y : y + size, x : x + size, 0] = 8
        backward[y : y + size, x + 8 : x + 8 + size, 0] = -8
    config = replace(RAW, island=0.02)  # 72 pixels
    raw, cleaned = find_occluded(forward, backward, RAW), find_occluded(forward, backward, config)
    assert not raw[5:9, 5:9].any()
    assert cleaned[5:9, 5:9].all()
    assert not cleaned[20:40, 20:40].any()
    assert np.array_equal(np.delete(cleaned, range(5, 9), 0), np.delete(raw, range(5, 9), 0))


def test_small_holes_are_left_and_closing_joins() -> None:
    forward, backward = shifted(40, 40, 0)
    backward[5:7, 5:7] = 50
    backward[20:30, 10:18] = backward[20:30, 20:28] = 50  # two columns between them
    holes = find_occluded(forward, backward, replace(RAW, hole=0.01))
    assert not holes[:10].any()
    assert holes[25, 12]
    assert not holes[25, 18:20].any()
    closed = find_occluded(forward, backward, replace(RAW, closing=2))
    assert closed[25, 18:20].all()


def test_pictures_may_differ_in_size_and_shapes_are_checked() -> None:
    forward, backward = np.zeros((20, 30, 2), np.float32), np.zeros((25, 24, 2), np.float32)
    occluded = find_occluded(forward, backward)
    assert occluded.shape == (20, 30)
    assert np.array_equal(occluded.all(axis=0), np.arange(30) >= 24)
    with pytest.raises(InputError, match="must have shape"):
        find_occluded(forward[..., 0], backward)


def test_true_flows_give_the_true_mask() -> None:
    """With perfect matches only the mask's own mistakes are left."""
    scene = read_handheld(shared("handheld/scene15"))
    flows = [scene.flows(camera, 0).stereo for camera in (0, 1)]
    truth = scene.truth(0, 0)
    scores = occlusion_scores(find_occluded(*flows), ~truth.stereo_visible, np.isfinite(flows[0]).all(axis=2))
    assert scores.f1 > 97


@pytest.mark.parametrize(
    ("there", "back", "hidden"), [(400, 404, False), (400, 396, False), (200, 205, True), (400, 408, True)]
)
def test_one_depth_there_and_back_is_seen(there: float, back: float, hidden: bool) -> None:
    camera = Camera("c", 900, 20, np.array([[500.0, 0, 449.5], [0, 500, 9.5], [0, 0, 1]]))
    views = View(camera, np.eye(3, 4)), View(camera, np.column_stack([np.eye(3), [-1.0, 0, 0]]))
    forward, backward = (np.zeros((20, 900, 2), np.float32) for _ in range(2))
    forward[..., 0], backward[..., 0] = -there, back
    inside = np.s_[:, 450:850]
    assert find_occluded(forward, backward, RAW)[inside].all()
    assert (find_occluded(forward, backward, RAW, views)[inside] == hidden).all()
    assert find_occluded(forward, backward, replace(RAW, same_depth=0.0), views)[inside].all()


@pytest.fixture(scope="module")
def board() -> tuple[tuple[View, View], list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """A board before a slanted wall: cameras, pictures, true flows and what the other picture shows."""
    views = two_views(((160, 120), (160, 120)))
    shown = [rendered(view) for view in views]
    there = stereo_truth(views, (shown[0][1], shown[1][1]))
    back = stereo_truth((views[1], views[0]), (shown[1][1], shown[0][1]))
    flows = [each[0].astype(np.float32) for each in (there, back)]
    return views, [picture for picture, _ in shown], flows, [there[1], back[1]]


def test_what_was_mismatched_is_seen_again_once_completed(board) -> None:  # type: ignore[no-untyped-def]
    views, _, flows, seen = board
    passes_for_hidden = ~seen[0]
    passes_for_hidden[30:90, 20:60] = True
    shown = find_shown(flows[0], flows[1], passes_for_hidden, views)
    assert not shown[~passes_for_hidden].any()
    assert shown[passes_for_hidden & seen[0]].mean() > 0.95
    assert shown[~seen[0]].mean() < 0.1  # what lies behind the board, or outside of the picture
    wrong = flows[0] + np.float32([12, 0])
    assert find_shown(wrong, flows[1], passes_for_hidden, views).mean() < 0.02
    never = FillConfig(shown_depth=0.0)
    assert not find_shown(flows[0], flows[1], passes_for_hidden, views, never).any()


def test_a_depth_that_the_other_camera_looks_through_is_refuted(board) -> None:  # type: ignore[no-untyped-def]
    views, _, flows, seen = board
    depth = rendered(views[0])[1].astype(np.float32)
    assert find_refuted(1 / depth, *flows, views).mean() < 0.02
    nearer = find_refuted(1 / (0.85 * depth), *flows, views)  # in front of all that B shows
    assert nearer[seen[0]].mean() > 0.9
    assert find_refuted(1 / (1.15 * depth), *flows, views).mean() < 0.02  # behind it: it may be hidden
    assert not find_refuted(np.full_like(depth, np.nan), *flows, views).any()


def test_a_wall_goes_on_behind_a_board_and_the_board_does_not(board) -> None:  # type: ignore[no-untyped-def]
    views, pictures, flows, seen = board
    guessed = [np.where(mask[..., None], flow, np.float32(0)) for flow, mask in zip(flows, seen, strict=True)]
    forward, backward = (
        Flow(flow, mask.astype(np.float32)) for flow, mask in zip(guessed, seen, strict=True)
    )
    found, taken = extend_planes(
        (pictures[0], pictures[1]), forward, backward, ~seen[0], views, depth_shown(*guessed, views)
    )
    assert not taken[seen[0]].any()
    assert np.array_equal(found.uv[seen[0]], forward.uv[seen[0]])
    assert taken[~seen[0]].mean() > 0.3
    assert np.mean(end_point_error(found.uv, flows[0])[taken] < 1) > 0.9
    assert 0 < found.confidence[taken].min() <= found.confidence[taken].max() <= 0.5


def test_nothing_goes_on_where_no_plane_is_known(board) -> None:  # type: ignore[no-untyped-def]
    views, pictures, flows, _ = board
    nothing = np.zeros(flows[0].shape[:2], np.float32)
    found, taken = extend_planes(
        (pictures[0], pictures[1]),
        Flow(flows[0], nothing),
        Flow(flows[1], nothing),
        nothing == 0,
        views,
        depth_shown(*flows, views),
    )
    assert not taken.any()
    assert np.array_equal(found.uv, flows[0])


def test_pictures_decide_between_a_match_and_its_completion(board) -> None:  # type: ignore[no-untyped-def]
    views, (first, second), flows, seen = board
    wrong = flows[0] - np.float32([9, 0])  # nearer than what B shows, so B must show it
    asked = np.zeros_like(seen[0])
    asked[25:95, 15:65] = True
    shown = asked & seen[0]
    right = decide((first, second), flows[0], wrong, asked, views, depth_shown(*flows, views))
    assert not right.kept[~asked].any()
    assert right.kept[shown].mean() > 0.9
    assert right.seen[shown].mean() > 0.8
    assert not (right.seen & ~right.kept).any()
    mistaken = decide((first, second), wrong, flows[0], asked, views, depth_shown(*flows, views))
    assert mistaken.kept[shown].mean() < 0.02


def test_what_is_hidden_takes_its_completion_whatever_it_was_matched_to(board) -> None:  # type: ignore[no-untyped-def]
    views, (first, second), flows, seen = board
    guessed = np.where(seen[0][..., None], flows[0], flows[0] + np.float32([4, 0]))
    found = decide((first, second), guessed, flows[0], ~seen[0], views, depth_shown(*flows, views))
    assert found.kept[~seen[0]].mean() < 0.1
    nothing = decide(
        (first, second), guessed, flows[0], np.zeros_like(seen[0]), views, depth_shown(*flows, views)
    )
    assert not nothing.kept.any()


def test_a_match_that_leads_out_of_the_other_picture_is_never_kept(board) -> None:  # type: ignore[no-untyped-def]
    views, (first, second), flows, seen = board
    outside = np.full_like(flows[0], 500)
    assert not decide(
        (first, second), outside, flows[0], seen[0], views, depth_shown(*flows, views)
    ).kept.any()
