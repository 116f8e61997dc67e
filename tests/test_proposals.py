"""Flows that are offered to a match, and planes that it finds by itself: the pictures decide."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from matching_scenes import (
    end_point_error,
    look_up,
    rendered,
    stays_inside,
    stereo_truth,
    texture,
    two_views,
    warped_pair,
)
from wideflow.config import MatchConfig
from wideflow.errors import InputError
from wideflow.geometry import PairGeometry, pixel_grid, points_from_depth, project, world_to_camera
from wideflow.geometry.edge_aware import EdgeAware
from wideflow.geometry.planes import find_planes
from wideflow.matching import Proposal, match
from wideflow.pipeline.step.carried import BLOCK, carried
from wideflow.pipeline.step.stage import Need
from wideflow.pipeline.step.values import MatchedFlow
from wideflow.types import View

FAR = (52.0, 7.0)  # px: motion beyond what optical flow searches in a picture of 160 x 120


@pytest.fixture(scope="module")
def moved() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return warped_pair(lambda grid: np.full_like(grid, FAR))


def wrong(pictures: tuple[np.ndarray, np.ndarray, np.ndarray], proposals: list[Proposal]) -> float:
    """Share of wrong pixels of optical flow, of those that stay in the picture."""
    first, second, uv = pictures
    found = match(first, second, "optical", proposals=proposals)
    return float(np.mean(end_point_error(found.forward.uv, uv)[stays_inside(uv, (160, 120), 6)] > 1))


def test_a_right_proposal_is_taken_where_search_does_not_reach(
    moved: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    assert wrong(moved, []) > 0.9
    right = moved[2].astype(np.float32)
    few = np.full_like(right, np.nan)
    few[20:50, 20:60] = right[20:50, 20:60]  # and spreads from there
    assert wrong(moved, [Proposal(right)]) < 0.02
    assert wrong(moved, [Proposal(few)]) < 0.4


def test_a_wrong_proposal_does_no_harm(moved: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    right = moved[2].astype(np.float32)
    noise = np.random.default_rng(0).uniform(-60, 60, right.shape).astype(np.float32)
    assert wrong(moved, [Proposal(noise), Proposal(right)]) < 0.02
    small = warped_pair(lambda grid: np.full_like(grid, (3.0, -2.0)))
    assert wrong(small, [Proposal(noise)]) <= wrong(small, []) + 0.01


def test_the_second_picture_is_offered_what_leads_to_it(
    moved: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    first, second, uv = moved
    found = match(first, second, "optical", proposals=[Proposal(uv.astype(np.float32))])
    back = found.backward.uv[10:110, 70:150]
    assert np.median(end_point_error(back, -np.broadcast_to(FAR, back.shape))) < 0.3


def test_a_proposal_has_the_size_of_the_first_picture() -> None:
    picture = texture(40, 50, 0)
    with pytest.raises(InputError, match="must be a flow of the first picture"):
        match(picture, picture, "optical", proposals=[Proposal(np.zeros((50, 40, 2), np.float32))])


def two_planes() -> tuple[tuple[View, View], np.ndarray, np.ndarray]:
    """Cameras, the flow of a wall that meets a floor, and which of the two a pixel shows."""
    views = two_views(((160, 120), (160, 120)))
    grid = pixel_grid(160, 120)
    rays = (
        np.concatenate([grid, np.ones((120, 160, 1))], -1) @ np.linalg.inv(views[0].camera.K).T @ views[0].R
    )
    ends = []
    for normal, distance in ((np.array([0.2, 0.3, 1.0]), 4.2), (np.array([0.0, 1.0, 0.1]), 0.9)):
        t = (distance - normal @ views[0].centre) / (rays @ normal)
        ends.append(np.where(t > 0, t, np.inf))
    floor = ends[1] < ends[0]
    points = points_from_depth(views[0], np.where(floor, ends[1], ends[0]))
    there = project(views[1].camera, world_to_camera(views[1], points))
    return views, (there - grid).astype(np.float32), floor


def test_planes_are_found_and_hold_where_nothing_was_matched() -> None:
    views, flow, floor = two_planes()
    assert 0.2 < floor.mean() < 0.6
    chance = np.random.default_rng(1)
    noisy = flow + chance.normal(0, 0.2, flow.shape).astype(np.float32)
    noisy[chance.random(floor.shape) < 0.2] += 30  # mismatches
    sure = np.zeros(floor.shape, bool)
    sure[:, :80] = True  # the right half was not matched
    picture = np.where(floor[..., None], np.float32(0.2), np.float32(0.8)).repeat(3, axis=2)
    geometry = PairGeometry.from_views(*views)
    flows, masks = (noisy, np.zeros_like(noisy)), (sure, np.zeros_like(sure))
    planes = find_planes(geometry, (picture, picture), flows, masks, seed=0)
    assert planes is not None
    maps = planes.from_picture(0, [picture.shape, picture.shape])
    homogeneous = np.concatenate([pixel_grid(160, 120), np.ones((120, 160, 1))], -1)
    for part in (floor, ~floor):
        errors = []
        for H in maps:
            q = homogeneous @ H.T
            errors.append(
                np.median(end_point_error(q[..., :2] / q[..., 2:] - homogeneous[..., :2], flow)[part])
            )
        best = int(np.argmin(errors))
        assert errors[best] < 0.3  # also in the right half
        support = planes.supports[0][..., best]
        assert support[part & sure].mean() > 0.5 > 0.2 > support[~part & sure].mean()
    back = planes.from_picture(1, [picture.shape, picture.shape])
    assert np.allclose((maps @ back) / (maps @ back)[:, 2:, 2:], np.eye(3), atol=1e-6)


def test_too_few_matches_tell_no_plane() -> None:
    views, flow, floor = two_planes()
    few = np.zeros(floor.shape, bool)
    few[:5, :5] = True
    picture = texture(120, 160, 0)
    assert find_planes(PairGeometry.from_views(*views), (picture,) * 2, (flow,) * 2, (few,) * 2, 0) is None


def test_matches_of_one_line_or_of_unknown_cameras_tell_no_plane_and_are_no_crash() -> None:
    views, flow, floor = two_planes()
    known = PairGeometry.from_views(*views)
    picture = texture(120, 160, 0)
    row = np.zeros(floor.shape, bool)
    row[60:62] = True
    everywhere = np.ones(floor.shape, bool)
    pixels = pixel_grid(160, 120)[::9, ::9].reshape(-1, 2)
    unknown = PairGeometry.from_fundamental(known.F, pixels, pixels + flow[::9, ::9].reshape(-1, 2))
    flat = np.zeros_like(flow)  # on no epipolar line, and all alike
    for geometry in (known, unknown):
        for each, sure in ((flow, row), (flat, everywhere), (flow, everywhere)):
            found = find_planes(geometry, (picture,) * 2, (each,) * 2, (sure,) * 2, 0)
            assert found is None or np.isfinite(found.from_picture(1, [picture.shape] * 2)).all()
    assert found is not None


def test_a_wall_goes_on_across_its_plain_part() -> None:
    """A wall of which a large part is white in both pictures: only planes know how it is slanted there."""
    views = two_views(((200, 150), (200, 150)))
    pictures, depths = [], []
    for view in views:
        picture, depth = rendered(view, box=False)
        points = points_from_depth(view, depth)
        plain = (np.abs(points[..., 0] - 0.1) < 0.55) & (np.abs(points[..., 1]) < 0.4)
        picture[plain] = 0.9
        noise = np.random.default_rng(len(pictures)).normal(0, 0.01, picture.shape)
        pictures.append(np.clip(picture + noise, 0, 1).astype(np.float32))
        depths.append(depth)
    truth, seen = stereo_truth(views, (depths[0], depths[1]))
    inner = cv2.erode((np.abs(pictures[0] - 0.9).max(axis=2) < 0.06).astype(np.uint8), np.ones((15, 15))) > 0
    inner &= seen
    assert inner.mean() > 0.03
    errors = [
        end_point_error(match(*pictures, views=views, config=config).forward.uv, truth)[inner].mean()
        # the sweep knows planes too
        for config in (MatchConfig(), replace(MatchConfig(), planes=False, search="line"))
    ]
    assert errors[0] < 1.0
    assert errors[0] < 0.8 * errors[1]


def test_what_spreads_stops_at_edges() -> None:
    picture = np.zeros((60, 80, 3), np.float32)
    picture[:, 40:] = 1
    values = np.zeros((60, 80, 1), np.float32)
    values[30, 20] = 1
    EdgeAware(picture).spread(values)
    assert values[30, 30, 0] > 0
    assert values[:, 42:].max() < 0.01 * values[30, 30, 0]
    constant = np.ones((60, 80, 1), np.float32)
    EdgeAware(look_up(texture(200, 200, 3), pixel_grid(80, 60))).spread(constant)
    assert constant == pytest.approx(1)


def _even(uv: tuple[float, float], back: tuple[float, float] | None = None) -> MatchedFlow:
    """A match of 40 x 60 pixels, the same everywhere."""
    there = np.broadcast_to(np.float32(uv), (40, 60, 2)).copy()
    other = np.broadcast_to(np.float32(back or (-uv[0], -uv[1])), (40, 60, 2)).copy()
    sure, colours = np.ones((40, 60), np.float32), np.zeros((3, 4))
    return MatchedFlow(there, other, sure, sure, colours, colours)


def test_the_moment_before_is_carried_along_the_motion_in_both_cameras() -> None:
    before, optical_a, optical_b = _even((9, 1)), _even((2, 0)), _even((-1, 3))
    (said,) = carried(before, optical_a, optical_b)
    # two pixels came in at the left, of which nothing is known, nor of what led out of B's picture
    assert np.isnan(said.flow[:, :2]).all()
    # back by (-2, 0), across by (9, 1), forward by (-1, 3)
    np.testing.assert_allclose(said.flow[:30, 5:45], np.broadcast_to((6, 4), (30, 40, 2)), atol=1e-5)
    hidden = _even((9, 1), (30, 30))  # both directions of the match disagree
    assert np.isnan(carried(hidden, optical_a, optical_b)[0].flow).all()
    new = _even((2, 0), (30, 0))  # and those of A's motion
    assert np.isnan(carried(before, new, optical_b)[0].flow).all()
    assert carried(None, optical_a, optical_b) == []


def test_blocks_of_moments_begin_by_themselves() -> None:
    need = Need("match_stereo", -1, -1, block=BLOCK)
    for t in range(3 * BLOCK):
        assert list(need.moments(t)) == ([-1] if t % BLOCK == 0 else [t - 1])
