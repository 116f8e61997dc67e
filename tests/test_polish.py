"""Flow below the pixel, against truth in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from matching_scenes import end_point_error, rendered, stays_inside, stereo_truth, two_views, warped_pair
from wideflow.geometry import fundamental_matrix, pixel_grid
from wideflow.matching.polish import polish_once, polish_optical, polish_stereo


def turning(grid: np.ndarray) -> np.ndarray:
    """A motion that differs from pixel to pixel by fractions."""
    return np.stack([2.4 + 0.03 * (grid[..., 1] - 60), -1.3 - 0.03 * (grid[..., 0] - 80)], axis=-1)


def to_whole_pixels(uv: np.ndarray) -> np.ndarray:
    return np.rint(uv).astype(np.float32)


def test_whole_pixels_become_the_motion_itself() -> None:
    first, second, uv = warped_pair(turning)
    sure = np.ones(uv.shape[:2], np.float32)
    found = polish_optical(first, second, to_whole_pixels(uv), sure)
    inside = stays_inside(uv, (160, 120), 6)
    assert np.median(end_point_error(to_whole_pixels(uv), uv)[inside]) > 0.3
    assert np.median(end_point_error(found, uv)[inside]) < 0.06


def test_one_call_halves_what_is_left() -> None:
    first, second, uv = warped_pair(turning)
    inside = stays_inside(uv, (160, 120), 6)
    off = (uv + np.random.default_rng(0).normal(0, 0.15, uv.shape)).astype(np.float32)
    found = polish_once(first, second, off)
    before, after = (np.median(end_point_error(flow, uv)[inside]) for flow in (off, found))
    assert after < before / 2


def test_wrong_matches_that_know_they_are_wrong_give_way() -> None:
    first, second, uv = warped_pair(turning)
    sure = np.ones(uv.shape[:2], np.float32)
    wrong = to_whole_pixels(uv)
    wrong[40:70, 50:90], sure[40:70, 50:90] = (-8, 9), 0.01
    found = polish_optical(first, second, wrong, sure)
    assert np.median(end_point_error(found, uv)[40:70, 50:90]) < 0.1


def test_what_moves_further_than_a_small_picture_shows_keeps_its_motion() -> None:
    first, second, _ = warped_pair(lambda grid: np.zeros_like(grid))
    thing = warped_pair(lambda grid: np.zeros_like(grid), seed=5)[0][:48, :48]
    first[40:88, 30:78], second[40:88, 48:96] = thing, thing
    uv = np.zeros((120, 160, 2), np.float32)
    uv[40:88, 30:78, 0] = 18
    found = polish_optical(first, second, uv, np.ones((120, 160), np.float32))
    assert np.median(end_point_error(found, uv)[46:82, 36:72]) < 0.1
    assert np.median(end_point_error(found, uv)[:30]) < 0.02


@pytest.mark.parametrize("sizes", [((160, 120), (160, 120)), ((160, 120), (144, 128))], ids=["one", "two"])
def test_stereo_flow_lies_on_the_lines_of_known_cameras(
    sizes: tuple[tuple[int, int], tuple[int, int]],
) -> None:
    views = two_views(sizes)
    (one, depth_one), (two, depth_two) = (rendered(view, box=False) for view in views)
    uv, seen = stereo_truth(views, (depth_one, depth_two))
    F = fundamental_matrix(*views)
    start = to_whole_pixels(uv)
    found = polish_stereo(one, two, start, F)
    seen &= stays_inside(uv, sizes[1], 6)
    assert np.median(end_point_error(found, uv)[seen]) < 0.25 * np.median(end_point_error(start, uv)[seen])
    here = np.concatenate([pixel_grid(160, 120), np.ones((120, 160, 1))], axis=-1)
    there = np.concatenate([here[..., :2] + found, here[..., 2:]], axis=-1)
    line = here @ F.T
    distance = np.abs((there * line).sum(axis=-1)) / np.linalg.norm(line[..., :2], axis=-1)
    assert distance.max() < 1e-2
    free = polish_stereo(one, two, start)
    assert np.median(end_point_error(free, uv)[seen]) < 0.5 * np.median(end_point_error(start, uv)[seen])


@pytest.mark.parametrize("shape", [(4, 40), (9, 9), (12, 50)])
def test_tiny_pictures_are_no_error(shape: tuple[int, int]) -> None:
    picture = np.random.default_rng(0).random((*shape, 3), np.float32)
    flow = np.zeros((*shape, 2), np.float32)
    sure = np.ones(shape, np.float32)
    assert np.abs(polish_optical(picture, picture, flow, sure)).max() < 1e-3
    assert np.abs(polish_stereo(picture, picture, flow)).max() < 1e-3
