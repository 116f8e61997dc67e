"""Cameras that take their pictures at different moments, brought to one."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from refine_scenes import disturbed, plane_scene
from wideflow.config import RefineConfig
from wideflow.geometry import (
    fundamental_matrix,
    interpolate_pose,
    pixel_grid,
    project,
    world_to_camera,
)
from wideflow.geometry.one_time import moved_in_time, moved_picture, value_at, way_back
from wideflow.lift import lift_flows
from wideflow.matching import Proposal
from wideflow.pipeline.step.mirror import mirror
from wideflow.pipeline.step.one_time import Meeting, OneTime, find_one_time
from wideflow.pipeline.step.order import STAGE
from wideflow.pipeline.step.values import MatchedFlow
from wideflow.refine import refine_flows
from wideflow.types import View

SIZE = (80, 60)


def smooth_way(scale: float = 3.0, seed: int = 0) -> np.ndarray:
    """A flow (H, W, 2) of some pixels that changes slowly."""
    noise = np.random.default_rng(seed).normal(size=(SIZE[1], SIZE[0], 2))
    blurred = cv2.GaussianBlur(noise, (0, 0), 12)
    return (scale * blurred / np.abs(blurred).max()).astype(np.float32)


def texture() -> np.ndarray:
    x, y = pixel_grid(*SIZE)[..., 0], pixel_grid(*SIZE)[..., 1]
    waves = [np.sin(0.5 * x + 0.3 * y), np.cos(0.4 * x - 0.2 * y), np.sin(0.6 * y)]
    return (0.5 + 0.4 * np.stack(waves, axis=-1)).astype(np.float32)


def test_the_way_back_undoes_the_way() -> None:
    way = smooth_way()
    back = way_back(way)
    there = pixel_grid(*SIZE) + way
    inside = (there > 2).all(axis=2) & (there < np.array(SIZE) - 3).all(axis=2)
    np.testing.assert_allclose((way + value_at(back, there))[inside], 0, atol=0.02)
    picture = texture()
    moved = moved_picture(picture, back)
    same = cv2.remap(moved, there.astype(np.float32), None, cv2.INTER_CUBIC)
    np.testing.assert_allclose(same[inside], picture[inside], atol=0.03)


def test_values_are_not_mixed_across_the_edge_of_a_thing() -> None:
    flow = np.zeros((4, 6, 2), np.float32)
    flow[:, 3:] = 10
    places = np.array([[[2.4, 1.0], [2.6, 1.0], [np.nan, 0.0], [-9.0, 99.0]]])
    assert value_at(flow, places)[0, :, 0].tolist() == [0, 10, 0, 0]
    flow[:] = 0.2 * np.arange(6)[:, None]
    assert value_at(flow, places)[0, 0, 0] == pytest.approx(0.48, abs=0.01)


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("which", [0, 1])
def test_what_stands_still_agrees_with_a_camera_that_is_moved_in_time(camera: int, which: int) -> None:
    now, after = plane_scene(late=0.4).frames
    share, view = moved_in_time(now, after, camera, which)
    assert share == pytest.approx(-0.4 if camera else 0.4)
    points = np.random.default_rng(1).uniform([-0.5, -0.4, 2.5], [0.5, 0.4, 3.5], (50, 3))
    first, second, there = (
        project(each.camera, world_to_camera(each, points))
        for each in (now.views[camera], after.views[camera], view)
    )
    own = (first, second)[which]
    np.testing.assert_allclose(own + share * (second - first), there, atol=0.003)
    assert np.abs(there - own).max() > 0.02
    still = [replace(frame, late=0.0) for frame in (now, after)]
    assert moved_in_time(*still, camera, which) == (0.0, still[which].views[camera])
    same_picture = replace(after, times=now.times)  # a slower camera serves two moments with one picture
    assert moved_in_time(now, same_picture, camera, which)[0] == 0.0


def matched(seed: int = 0) -> MatchedFlow:
    even, plain = np.full(SIZE[::-1], np.float32(0.9)), np.eye(3, 10)
    return MatchedFlow(smooth_way(6, seed), smooth_way(6, seed + 1), even, even, plain, plain)


def test_a_match_is_the_same_after_meeting_and_parting() -> None:
    frames = plane_scene(SIZE, SIZE, late=0.5).frames
    time = find_one_time(frames[0], *frames, matched(4))
    assert time.way is not None
    meeting, found = Meeting(texture(), frames[0], time), matched()
    np.testing.assert_allclose(time.way, -0.5 * matched(4).uv)
    np.testing.assert_allclose(
        meeting.views[1].cam_from_world, moved_in_time(*frames, 1, 0)[1].cam_from_world
    )
    again = meeting.shown(meeting.met(found))
    middle = (slice(8, -8), slice(8, -8))
    np.testing.assert_allclose(again.uv[middle], found.uv[middle], atol=0.05)
    np.testing.assert_allclose(again.back[middle], found.back[middle], atol=0.05)
    (said,) = meeting.proposals([Proposal(np.where(pixel_grid(*SIZE) < 20, np.nan, found.uv))])
    assert np.isnan(said.flow).any()
    np.testing.assert_allclose(meeting.shown_flow(said.flow)[24:52, 24:70], found.uv[24:52, 24:70], atol=0.05)


def test_cameras_of_one_moment_stay_as_they_are() -> None:
    frames = plane_scene(SIZE, SIZE, late=0.01).frames  # less than is worth a picture sampled anew
    time = find_one_time(frames[0], *frames, matched(4))
    assert time.way is None
    picture, found = texture(), matched()
    meeting = Meeting(picture, frames[0], time)
    assert meeting.picture_b is picture
    assert meeting.met(found) is found is meeting.shown(found)
    assert find_one_time(frames[0], *frames, None).way is None  # a moment alone


def test_the_pictures_of_a_are_brought_to_the_time_of_b_for_its_view() -> None:
    """For B's view, A is the other camera: its own optical flow leads back to B's time."""
    frames = plane_scene(SIZE, SIZE, late=0.5).frames
    flow = matched(4)
    time = mirror(STAGE["one_time"]).function(frames[1], *frames, flow)
    assert isinstance(time, OneTime)
    np.testing.assert_allclose(time.way, -0.5 * way_back(flow.uv), atol=1e-6)
    view: View = time.view
    expected = interpolate_pose(*(frame.views[0].cam_from_world for frame in frames), 1.5)
    np.testing.assert_allclose(view.cam_from_world, expected)
    needs = [need.name for need in STAGE["one_time_b"].needs]
    assert needs == ["cameras", "cameras", "cameras", "match_optical_a"]


@pytest.mark.parametrize("late", [0.5, -0.4])
def test_refinement_minds_that_the_pictures_are_of_different_times(late: float) -> None:
    scene = plane_scene(late=late)
    start = disturbed(scene.flows, 0.3)

    def off(minded: bool) -> float:
        frames = scene.frames if minded else [replace(frame, late=0.0) for frame in scene.frames]
        late_b, view_b = moved_in_time(*frames, 1, 0)
        late_a, view_a = moved_in_time(*frames, 0, 1)
        lines = (
            fundamental_matrix(frames[0].views[0], view_b),
            fundamental_matrix(view_a, frames[1].views[1]),
        )
        found = refine_flows(scene.pictures, lines, start, RefineConfig(), late=(late_b, late_a)).flows
        depth = lift_flows(*frames, found).depth
        return float(np.median(np.abs(depth / scene.depth - 1)))

    assert off(True) < 0.003
    assert off(False) > 3 * off(True)
