"""The variational refinement of a flow, against closed forms and plain loops."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from matching_scenes import end_point_error, stays_inside, warped_pair
from wideflow.matching.variational import Rounds, Weights, refine_flow
from wideflow.matching.variational_rows import relax
from wideflow.threads import use_threads


def greys(pictures: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
    return [cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) * np.float32(255) for picture in pictures]


def zoom(grid: np.ndarray) -> np.ndarray:
    return np.stack([0.4 + 0.01 * (grid[..., 0] - 80), -0.3 + 0.01 * (grid[..., 1] - 60)], axis=-1)


def test_motion_of_fractions_is_found_from_none() -> None:
    *pictures, uv = warped_pair(zoom)
    first, second = greys((pictures[0], pictures[1]))
    found = refine_flow(first, second, np.zeros_like(uv, np.float32), Weights(), Rounds(8, 20))
    inside = stays_inside(uv, (160, 120), 6)
    assert np.median(end_point_error(found, uv)[inside]) < 0.06


@pytest.mark.parametrize("size", [(41, 30), (40, 31), (9, 8)])
def test_bands_of_rows_give_what_plain_turns_give(size: tuple[int, int]) -> None:
    width, height = size
    chance = np.random.default_rng(3)
    half = (width + 1) // 2
    matrix = np.zeros((height, width, 5), np.float32)
    matrix[..., [0, 2]] = 0.2
    matrix[..., 1] = 0.05
    matrix[..., 3:] = chance.normal(size=(height, width, 2))
    right, below = (chance.uniform(0, 1, (height, width)).astype(np.float32) for _ in range(2))
    right[:, -1] = below[-1] = 0
    system = np.zeros((2, height, 5, half), np.float32)
    bonds = np.zeros((2, height + 1, 2, half + 1), np.float32)
    for y in range(height):
        for x in range(width):
            colour = (x + y) & 1
            system[colour, y, :, x // 2] = matrix[y, x]
            bonds[colour, y + 1, :, x // 2 + 1] = right[y, x], below[y, x]
    steps = np.zeros((2, 2, height + 2, half + 2), np.float32)
    relax(system, bonds, steps, width, 0, 6, np.float32(1.2))
    plain = np.zeros((height + 2, width + 2, 2))
    for turn in range(6):
        for y in range(height):
            for x in range(width):
                if (x + y) & 1 != turn & 1:
                    continue
                ties = (right[y, x], plain[y + 1, x + 2]), (below[y, x], plain[y + 2, x + 1])
                ties += ((right[y, x - 1] if x else 0, plain[y + 1, x]),)
                ties += ((below[y - 1, x] if y else 0, plain[y, x + 1]),)
                force = matrix[y, x, 3:] + sum(weight * other for weight, other in ties)
                a, b, c = matrix[y, x, :3]
                aim = np.array([a * force[0] + b * force[1], b * force[0] + c * force[1]])
                plain[y + 1, x + 1] += 1.2 * (aim - plain[y + 1, x + 1])
    for y in range(height):
        for x in range(width):
            found = steps[:, (x + y) & 1, y + 1, x // 2 + 1]
            np.testing.assert_allclose(found, plain[y + 1, x + 1], rtol=1e-4, atol=1e-4)


def test_the_same_bits_for_any_number_of_threads() -> None:
    *pictures, uv = warped_pair(zoom)
    first, second = greys((pictures[0], pictures[1]))
    found = []
    for count in (1, 3):
        with use_threads(count):
            found.append(refine_flow(first, second, np.zeros_like(uv, np.float32), Weights(), Rounds(3, 25)))
    np.testing.assert_array_equal(*found)


def test_a_flow_is_held_to_its_lines() -> None:
    *pictures, uv = warped_pair(zoom)
    first, second = greys((pictures[0], pictures[1]))
    level = np.array([[0, 0, 0], [0, 0, -1], [0, 1, 0]], float)  # rows stay rows
    free = refine_flow(first, second, np.zeros_like(uv, np.float32), Weights(), Rounds(6, 20), level)
    held = refine_flow(first, second, np.zeros_like(uv, np.float32), Weights(line=1e3), Rounds(6, 20), level)
    assert np.abs(free[..., 1]).max() > 0.5
    assert np.abs(held[..., 1]).max() < 0.05


def test_what_leads_out_of_the_picture_follows_its_surroundings() -> None:
    *pictures, uv = warped_pair(lambda grid: np.full_like(grid, 1.5))
    first, second = greys((pictures[0], pictures[1]))
    found = refine_flow(first, second, np.rint(uv).astype(np.float32), Weights(), Rounds(8, 20))
    assert np.median(end_point_error(found, uv)[:, -2:]) < 0.1


def test_edges_of_the_picture_set_the_flow_free() -> None:
    """Two halves of other brightness move apart: with the contrast, the step between them stays sharp."""
    chance = np.random.default_rng(1)
    texture = cv2.GaussianBlur(chance.uniform(0, 1, (60, 120)), (0, 0), 1.5)
    texture = (texture - texture.min()) / (texture.max() - texture.min()) * 80
    first = (texture + np.where(np.arange(120) < 60, 0, 160)).astype(np.float32)
    second = first.copy()
    second[:, :60] = np.roll(first[:, :60], 1, axis=0)
    uv = np.zeros((60, 120, 2), np.float32)
    uv[:, :60, 1] = 1
    errors = []
    for contrast in (0.0, 20.0):
        weights = Weights(smoothness=20.0, contrast=contrast)
        found = refine_flow(first, second, np.zeros_like(uv), weights, Rounds(10, 20))
        errors.append(end_point_error(found, uv)[5:-5, 55:65].mean())
    assert errors[1] < 0.7 * errors[0]
