"""Dense matching against known flow: warped textures, and two cameras before a wall."""

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
import pytest

import wideflow
from matching_scenes import (
    end_point_error,
    rendered,
    stays_inside,
    stereo_truth,
    texture,
    two_views,
    warped_pair,
)
from wideflow.config import MatchConfig
from wideflow.geometry import fundamental_matrix, pixel_grid, sampson_distance
from wideflow.threads import use_threads

SIZE = (160, 120)
Stereo = tuple[tuple[np.ndarray, np.ndarray], tuple[wideflow.View, wideflow.View], np.ndarray, np.ndarray]
PYRAMID = MatchConfig(coarsest=64)  # three levels at this size


def constant(grid: np.ndarray) -> np.ndarray:
    return np.full_like(grid, (5.3, -3.6))


def far(grid: np.ndarray) -> np.ndarray:
    return np.full_like(grid, (-31.0, 22.0))


def shear(grid: np.ndarray) -> np.ndarray:
    return (grid - (80, 60)) @ np.array([[0.05, 0.02], [0.04, -0.06]])


def waves(grid: np.ndarray) -> np.ndarray:
    return 4 * np.stack([np.sin(grid[..., 1] / 20), np.cos(grid[..., 0] / 25)], axis=-1)


@pytest.mark.parametrize(("flow", "mean"), [(constant, 0.3), (shear, 0.2), (waves, 0.2)])
def test_optical_flow_of_a_warped_texture(flow: Callable[[np.ndarray], np.ndarray], mean: float) -> None:
    first, second, truth = warped_pair(flow, SIZE)
    found = wideflow.match(first, second, kind="optical")
    inside = stays_inside(truth, SIZE)
    error = end_point_error(found.forward.uv, truth)[inside]
    assert error.mean() < mean
    assert np.mean(error > 1) < 0.01
    assert found.occluded[inside].mean() < 0.01
    assert found.forward.confidence[inside].mean() > 0.5
    assert found.geometry is None


def test_large_motion_is_found_through_the_levels() -> None:
    first, second, truth = warped_pair(far, SIZE)
    found = wideflow.match(first, second, kind="optical", config=MatchConfig(coarsest=64, search_range=0.3))
    error = end_point_error(found.forward.uv, truth)[stays_inside(truth, SIZE, border=4)]
    assert np.mean(error > 1) < 0.02


@pytest.fixture(scope="module")
def stereo() -> Stereo:
    """Pictures of different size and colours, their views, the true flow and what the second sees."""
    views = two_views()
    (first, depth1), (second, depth2) = (rendered(view) for view in views)
    truth, seen = stereo_truth(views, (depth1, depth2))
    gain = np.array([1.1, 0.9, 0.7], np.float32)
    other_camera = np.clip(second**1.4 * gain + np.float32(0.02), 0, 1)
    return (first, other_camera), views, truth, seen


@pytest.mark.parametrize("config", [None, PYRAMID], ids=["one level", "three levels"])
@pytest.mark.parametrize("calibrated", [True, False])
def test_stereo_between_different_cameras(
    stereo: Stereo, config: MatchConfig | None, calibrated: bool
) -> None:
    (first, second), views, truth, seen = stereo
    found = wideflow.match(first, second, views=views if calibrated else None, config=config)
    error = end_point_error(found.forward.uv, truth)[seen]
    assert np.median(error) < 0.2
    assert error.mean() < 0.4
    assert np.mean(error > 3) < 0.02
    assert found.forward.shape == first.shape[:2]
    assert found.backward.shape == second.shape[:2]
    assert found.occluded[seen].mean() < 0.03
    assert found.occluded[~seen].mean() > 0.7
    assert found.forward.confidence[seen].mean() > 3 * found.forward.confidence[~seen].mean()


def test_backward_is_the_way_back(stereo: Stereo) -> None:
    (first, second), views, _, _ = stereo
    _, depths = zip(*(rendered(view) for view in views), strict=True)
    truth, seen = stereo_truth((views[1], views[0]), (depths[1], depths[0]))
    found = wideflow.match(first, second, views=views)
    error = end_point_error(found.backward.uv, truth)[seen]
    assert error.mean() < 0.4
    assert np.mean(error > 3) < 0.02


def test_geometry_of_unknown_cameras_is_recovered(stereo: Stereo) -> None:
    (first, second), views, truth, seen = stereo
    found = wideflow.match(first, second, config=PYRAMID)
    grid = pixel_grid(*SIZE)
    distance = np.abs(sampson_distance(found.geometry.F, grid[seen], (grid + truth)[seen]))
    assert np.median(distance) < 0.3
    truly = fundamental_matrix(*views)
    assert np.median(np.abs(sampson_distance(truly, grid[seen], (grid + truth)[seen]))) < 1e-6


def test_known_cameras_are_kept(stereo: Stereo) -> None:
    (first, second), views, _, _ = stereo
    geometry = wideflow.match(first, second, views=views, config=PYRAMID).geometry
    F = fundamental_matrix(*views)
    assert np.allclose(geometry.F / np.linalg.norm(geometry.F), F / np.linalg.norm(F))


def test_an_edge_of_depth_hides_what_is_behind() -> None:
    """A square moves 8 px to the right before a still wall: what it covers next is hidden, no more."""
    wall, _, still = warped_pair(np.zeros_like, SIZE, seed=1)
    square, _, _ = warped_pair(np.zeros_like, SIZE, seed=2)
    first, second = wall.copy(), wall.copy()
    first[40:80, 50:90] = square[40:80, 50:90]
    second[40:80, 58:98] = square[40:80, 50:90]
    found = wideflow.match(first, second, kind="optical")
    covered = np.zeros(still.shape[:2], np.bool_)
    covered[40:80, 90:98] = True
    edge = cv2.dilate(covered.astype(np.uint8), np.ones((9, 9))) > 0
    assert found.occluded[covered].mean() > 0.6
    assert found.occluded[~edge].mean() < 0.02
    assert np.median(found.forward.uv[45:75, 55:85, 0]) == pytest.approx(8, abs=0.2)


@pytest.mark.parametrize("kind", ["stereo", "optical"])
def test_the_same_bits_for_any_number_of_threads(stereo: Stereo, kind: str) -> None:
    (first, second), views, _, _ = stereo
    views = views if kind == "stereo" else None
    before = cv2.getNumThreads()
    try:
        results = []
        for threads in (1, 2):
            cv2.setNumThreads(threads)
            with use_threads(threads):
                results.append(wideflow.match(first, second, kind=kind, views=views, config=PYRAMID))
    finally:
        cv2.setNumThreads(before)
    for one, two in zip(*([m.forward.uv, m.backward.uv, m.forward.confidence] for m in results), strict=True):
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("calibrated", [True, False])
def test_chance_starts_at_the_seed(stereo: Stereo, calibrated: bool) -> None:
    (first, second), views, _, _ = stereo
    views = views if calibrated else None
    same, again, other = (
        wideflow.match(first, second, views=views, config=replace(PYRAMID, seed=seed)).forward.uv
        for seed in (1, 1, 2)
    )
    assert same.tobytes() == again.tobytes()
    assert same.tobytes() != other.tobytes()


def test_a_start_near_the_truth_saves_the_search_and_a_coarse_way_back_keeps_the_way_there() -> None:
    first, second, truth = warped_pair(far, SIZE)
    start = (truth.astype(np.float32) + 2, -truth.astype(np.float32) - 2)
    found = wideflow.match(first, second, "optical", config=PYRAMID, start=start)  # too far for its search
    inside = stays_inside(truth, SIZE, border=4)
    assert np.median(end_point_error(found.forward.uv, truth)[inside]) < 0.3
    again = wideflow.match(first, second, "optical", config=PYRAMID, start=start, both=False)
    assert np.array_equal(again.forward.uv, found.forward.uv)
    assert not np.array_equal(again.backward.uv, found.backward.uv)
    assert again.occluded[inside].mean() < 0.1


def test_a_coarse_way_back_of_a_stereo_match_keeps_the_way_there() -> None:
    views = two_views()
    pictures = [rendered(view)[0] for view in views]
    one, two = (wideflow.match(*pictures, views=views, config=PYRAMID, both=both) for both in (True, False))
    assert np.array_equal(one.forward.uv, two.forward.uv)
    assert np.median(np.linalg.norm(one.backward.uv - two.backward.uv, axis=2)) < 2


def test_a_striped_bar_moves_with_what_is_around_it() -> None:
    larger = texture(200, 260, 1)
    larger[40:160, 100:160] = (0.5 + 0.4 * np.sin(0.7 * np.arange(60)))[:, None]
    chance = np.random.default_rng(1)
    pictures = [
        np.clip(part + chance.normal(0, 0.02, part.shape), 0, 1)
        for part in (larger[10:-10, 10:-10], larger[8:-12, 7:-13])
    ]

    def error(polish: bool) -> float:
        found = wideflow.match(*pictures, "optical", config=MatchConfig(polish=polish)).forward.uv
        return float(np.linalg.norm(found - (3, 2), axis=2)[35:145, 95:145].mean())

    assert error(polish=True) < 0.1
    assert error(polish=False) > 1  # along its stripes it could lie anywhere
