"""Depth from other moments of one camera, against rendered truth; and how it joins that of a pair."""

import cv2
import numpy as np
import pytest

import room
from wideflow.config import FillConfig
from wideflow.evidence import Glimpse, choose_views, depth_over_time
from wideflow.geometry import (
    flow_depths,
    ideal_camera,
    points_from_depth,
    static_flow,
    transfer,
    world_to_camera,
)
from wideflow.geometry.undistorter import Undistorter
from wideflow.lift import BOTH_NOW, COMPLETED, OVER_TIME, UNKNOWN, Judged, join, rigid_error, static_chance
from wideflow.pipeline.step.flows import fill_stereo
from wideflow.pipeline.step.one_time import OneTime
from wideflow.pipeline.step.over_time import depth_range, grey
from wideflow.pipeline.step.values import MatchedFlow, Pictures
from wideflow.types import Camera, DepthOverTime, RigFrame, View

SIZE = (320, 240)
CAMERA = ideal_camera(room.camera("a", SIZE, k1=0.0))
MOMENTS = np.arange(12) / 5


def glimpse(time: float, place: float, move: float = 1.0) -> Glimpse:
    """Of the room at a time, from where the hand is at another: what moves follows the time alone."""
    view = room.view(CAMERA, place, 0.0, move)
    return Glimpse(grey(room.picture(view, time)), view)


def truth(seen: Glimpse, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Depth of every pixel, and where it stands still."""
    _, depth, surface = room.shown(seen.view, time)
    return depth, surface != room.GHOST


@pytest.fixture(scope="module")
def found() -> tuple[Glimpse, DepthOverTime]:
    here = glimpse(0.4, 0.4)
    others = [glimpse(t, t) for t in MOMENTS if t != 0.4]
    chosen = choose_views(here.view, [other.view for other in others], 3.0, 12.0, 8)
    assert len(chosen) == 8
    return here, depth_over_time(here, [others[i] for i in chosen], 2.5, 14.0)


def test_depth_of_what_stands_still(found: tuple[Glimpse, DepthOverTime]) -> None:
    here, over_time = found
    depth, still = truth(here, 0.4)
    error = np.abs(1 / over_time.inverse / depth - 1)[still]
    assert np.median(error) < 0.01
    assert np.mean(error < 0.05) > 0.85


def test_the_chance_tells_right_from_wrong(found: tuple[Glimpse, DepthOverTime]) -> None:
    here, over_time = found
    right = np.abs(1 / over_time.inverse / truth(here, 0.4)[0] - 1) < 0.03
    chance = static_chance(over_time)
    assert chance[right].mean() > chance[~right].mean() + 0.2
    assert right[chance > 0.9].mean() > 0.9


def test_what_moves_is_not_believed(found: tuple[Glimpse, DepthOverTime]) -> None:
    here, over_time = found
    still = truth(here, 0.4)[1]
    chance = static_chance(over_time)
    assert np.median(chance[~still]) < 0.5 < np.median(chance[still])


def test_cameras_that_stand_or_only_turn_tell_no_depth() -> None:
    here = room.view(CAMERA, 0.0, 0.0)
    turned = [room.view(CAMERA, 0.0, 0.0, turn=degrees) for degrees in (1, 2, 3, 4, 5)]
    turned = [type(here)(CAMERA, np.column_stack([v.R, -v.R @ here.centre])) for v in turned]
    assert choose_views(here, turned, 3, 12, 8) == []
    assert choose_views(here, [here] * 5, 3, 12, 8) == []


def test_views_are_chosen_by_place_not_by_number() -> None:
    here = room.view(CAMERA, 0.0, 0.0, move=0)
    places = [(0.1, 0), (0.1, 0.001), (-0.1, 0), (0.1, -0.001), (0, 0.1)]
    others = [
        type(here)(CAMERA, np.column_stack([here.R, -here.R @ (here.centre + (x, y, 0))])) for x, y in places
    ]
    back = np.diag([-1.0, 1.0, -1.0]) @ here.R
    away = type(here)(CAMERA, np.column_stack([back, -back @ (here.centre + (0.1, 0, 0))]))  # looks back
    chosen = choose_views(here, [*others, away], 3, 12, 3)
    assert len(chosen) == 3
    assert {2, 4} <= set(chosen)  # the third is one of three that are nearly at the same place
    assert 5 not in choose_views(here, [*others, away], 3, 12, 6)


def test_sparse_features_tell_the_range_of_depth() -> None:
    views = room.view(CAMERA, 0.0, 0.0), room.view(CAMERA, 0.0, 6.0)
    cameras = RigFrame(0, (0.0, 0.0), views)
    pictures = Pictures(*(room.picture(view, 0.0) for view in views))
    depth = room.shown(views[0], 0.0)[1]
    near, far = depth_range(cameras, pictures, 480) or (np.nan, np.nan)
    assert 0.3 * depth.min() < near < np.percentile(depth, 5)
    assert np.percentile(depth, 95) < far < 4 * depth.max()
    plain = np.full((240, 320, 3), 128, np.uint8)
    assert depth_range(cameras, Pictures(plain, plain), 480) is None


def test_too_few_pictures_are_no_evidence() -> None:
    here = glimpse(0.0, 0.0)
    assert not depth_over_time(here, [glimpse(0.2, 0.2)] * 3, 2.5, 14.0).known


def test_transfer_is_the_flow_of_a_static_world() -> None:
    one, two = room.view(CAMERA, 0.0, 0.0), room.view(CAMERA, 0.7, 0.0)
    depth = np.full(SIZE[::-1], 5.0)
    H, e = transfer(one, two)
    q = H @ (30, 40, 1) + e / 5
    flow = static_flow(one, two, 1 / depth)
    np.testing.assert_allclose(flow[40, 30], q[:2] / q[2] - (30, 40), atol=1e-4)
    point = world_to_camera(two, points_from_depth(one, depth)[40, 30])
    np.testing.assert_allclose(5 * q, two.camera.K @ point, rtol=1e-6)
    assert np.nanmax(rigid_error(one, two, np.float32(1 / depth), flow)) < 1e-4


def test_depths_of_a_flow_are_those_that_it_came_from() -> None:
    one, two = room.view(CAMERA, 0.0, 0.0), room.view(CAMERA, 0.7, 0.3)
    x, y = np.meshgrid(np.arange(SIZE[0]), np.arange(SIZE[1]))
    depth = (4 + 0.01 * x + 0.5 * np.sin(y / 9)).astype(np.float32)
    flow = static_flow(one, two, 1 / depth)
    here, there = flow_depths(one, two, flow)
    np.testing.assert_allclose(here, depth, rtol=1e-4)
    points = world_to_camera(two, points_from_depth(one, depth))
    np.testing.assert_allclose(there, points[..., 2], rtol=1e-4)
    # beside the epipolar line lies the same depth; what would be behind a camera, or is unknown, has none
    ahead = static_flow(one, two, 1 / (1.02 * depth)) - flow
    across = np.stack([-ahead[..., 1], ahead[..., 0]], axis=2)
    across /= np.linalg.norm(across, axis=2, keepdims=True)
    np.testing.assert_allclose(flow_depths(one, two, flow + across)[0], depth, rtol=2e-3)
    behind = static_flow(one, two, np.full_like(depth, 1e-9)) + 100 * ahead
    assert np.isnan(flow_depths(one, two, behind)).all()
    assert np.isnan(flow_depths(one, two, np.full_like(flow, np.nan))).all()


def judged(surface: float, deviation: float) -> Judged:
    return Judged(*(np.full((1, 1), value, np.float32) for value in (surface, deviation, 0.0)))


def over_time(depth: float, relative: float, unlike: float = 0.02) -> DepthOverTime:
    """Of one pixel."""
    values = 1 / depth, relative / depth, unlike
    return DepthOverTime(*(np.full((1, 1), value, np.float32) for value in values))


ONE = np.ones((1, 1), np.float32)
SEEN = np.ones((1, 1), bool)


def test_depths_that_agree_are_surer_and_their_mean() -> None:
    found = join(ONE * 4.0, judged(0.6, 0.01), SEEN, over_time(4.04, 0.004))
    assert 4.0 < found.depth[0, 0] < 4.04
    assert found.source[0, 0] == BOTH_NOW
    assert found.judged.surface[0, 0] > 0.6
    assert found.judged.within(0.05)[0, 0] > 0.9 > found.judged.within(0.01)[0, 0]
    assert found.judged.deviation[0, 0] < 0.01


def test_the_surer_depth_wins() -> None:
    unsure, sure = judged(0.05, 0.01), judged(0.97, 0.01)
    assert join(ONE * 4, unsure, SEEN, over_time(5.0, 0.004)).source[0, 0] == OVER_TIME
    kept = join(ONE * 4, sure, SEEN, over_time(5.0, 0.004, unlike=1.5))
    assert kept.source[0, 0] == BOTH_NOW
    assert kept.depth[0, 0] == 4


def test_flow_that_no_static_world_has_speaks_for_the_pair() -> None:
    moved = join(ONE * 4, judged(0.7, 0.01), SEEN, over_time(5.0, 0.004, 0.5), ONE * 9, ONE * 9)
    assert moved.source[0, 0] == BOTH_NOW
    assert moved.moving[0, 0] > 0.9
    still = join(ONE * 4, judged(0.05, 0.01), ~SEEN, over_time(5.0, 0.004), ONE * 0.05, ONE * 0.05)
    assert still.source[0, 0] == OVER_TIME
    assert still.moving[0, 0] < 0.1


def test_without_evidence_nothing_changes() -> None:
    nothing = DepthOverTime.nothing((1, 3))
    depth = np.array([[4, 5, np.nan]], np.float32)
    pair = Judged(*(np.full((1, 3), value, np.float32) for value in (0.5, 0.01, 0.0)))
    found = join(depth, pair, np.array([[True, False, True]]), nothing)
    np.testing.assert_array_equal(found.depth, depth)
    assert found.source.tolist() == [[BOTH_NOW, COMPLETED, UNKNOWN]]
    assert found.judged is pair


def test_what_is_hidden_is_not_completed_from_what_hides_it() -> None:
    shape = height, width = 60, 120
    camera = Camera("c", width, height, np.array([[100.0, 0, 59.5], [0, 100, 29.5], [0, 0, 1]]))
    views = View(camera, np.eye(3, 4)), View(camera, np.column_stack([np.eye(3), [-1.0, 0, 0]]))
    wall, board = np.float32(10), np.float32(5)  # B sees the wall 10 px and the board 20 px further left
    depth = np.full(shape, wall)
    depth[15:45, 60:90] = board
    hidden = np.zeros(shape, bool)
    hidden[15:45, 50:60] = True
    hidden[:, :20] = True
    uv = np.zeros((*shape, 2), np.float32)
    uv[..., 0] = -100 / depth
    uv[hidden] = -60  # what the match says there is wrong
    back = np.zeros_like(uv)
    back[..., 0] = 100 / wall
    back[15:45, 40:70, 0] = 100 / board
    even, plain = np.full(shape, np.float32(0.9)), np.eye(3, 13)
    matched = MatchedFlow(uv, back, even, even, plain, plain)
    # depth over time makes the board fatter than it is
    fat = cv2.erode(depth, np.ones((1, 7), np.uint8))
    seen = DepthOverTime(1 / fat, np.float32(1e-3) / fat, np.full(shape, np.float32(0.02)))
    picture = np.full((*shape, 3), 128, np.uint8)  # colours tell nothing
    lenses = (Undistorter(camera, camera),) * 2
    filled = fill_stereo(
        FillConfig(), matched, Pictures(picture, picture), lenses, RigFrame(0, (0, 0), views), seen, OneTime()
    )
    assert filled.occluded[20:40, 51:59].all()
    off = np.abs(filled.uv[20:40, 50:60, 0] + 10)  # of 10
    assert np.median(off) < 0.3
    assert off.max() < 3
    np.testing.assert_allclose(filled.uv[20:40, 62:88, 0], -20, atol=0.1)
