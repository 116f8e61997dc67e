"""Over-relaxation of many pixels at once, in bands of rows, is that of whole sweeps."""

from itertools import pairwise

import numpy as np
import pytest

from wideflow.refine.bands import in_bands
from wideflow.refine.lanes import from_lanes, to_lanes
from wideflow.refine.solver import solve_step
from wideflow.refine.system import MATRIX, SYSTEM, UNKNOWNS

UPPER = np.triu_indices(UNKNOWNS)


def random_problem(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Positive definite systems of every pixel, and edges, none of which leaves the picture."""
    rng = np.random.default_rng(rows)
    root = rng.normal(size=(rows, columns, UNKNOWNS, UNKNOWNS))
    matrices = root @ np.swapaxes(root, 2, 3) + np.eye(UNKNOWNS)
    system = np.empty((rows, columns, SYSTEM), np.float32)
    system[..., :MATRIX] = matrices[:, :, UPPER[0], UPPER[1]]
    system[..., MATRIX:] = rng.normal(size=(rows, columns, UNKNOWNS))
    edges = rng.uniform(0, 2, (rows, columns, UNKNOWNS)).astype(np.float32)
    edges[:, -1, :3] = 0
    edges[-1, :, 3:] = 0
    return system, edges


def neighbours(edges: np.ndarray) -> list[tuple[np.ndarray, int, int]]:
    """Weights (H, W, 6) of the edges to each neighbour, and where it lies."""
    right, below = (np.repeat(edges[..., i : i + 3], 2, axis=2) for i in (0, 3))
    left, above = np.roll(right, 1, axis=1), np.roll(below, 1, axis=0)
    return [(right, 0, 1), (left, 0, -1), (below, 1, 0), (above, -1, 0)]


def whole_sweeps(system: np.ndarray, edges: np.ndarray, sweeps: int, relaxation: float) -> np.ndarray:
    """Red pixels, then black ones, all rows at a time, in double precision."""
    rows, columns = system.shape[:2]
    matrices = np.zeros((rows, columns, UNKNOWNS, UNKNOWNS))
    matrices[:, :, UPPER[0], UPPER[1]] = matrices[:, :, UPPER[1], UPPER[0]] = system[..., :MATRIX]
    around = neighbours(edges.astype(np.float64))
    diagonal = np.arange(UNKNOWNS)
    matrices[:, :, diagonal, diagonal] += sum(weight for weight, _, _ in around) + 1e-3
    inverse = np.linalg.inv(matrices)
    step = np.zeros((rows, columns, UNKNOWNS))
    colour = np.add.outer(np.arange(rows), np.arange(columns)) % 2
    for _ in range(sweeps):
        for turn in range(2):
            right = -system[..., MATRIX:] + sum(
                weight * np.roll(step, (-dy, -dx), axis=(0, 1)) for weight, dy, dx in around
            )
            target = np.einsum("yxij,yxj->yxi", inverse, right)
            step = np.where((colour == turn)[..., None], step + relaxation * (target - step), step)
    return step


@pytest.mark.parametrize("rows", [5, 63, 131])
@pytest.mark.parametrize("sweeps", [1, 3, 14])
def test_bands_of_rows_give_what_whole_sweeps_give(rows, sweeps):
    """On a picture whose strips are two or four columns wide, the last ones empty."""
    width = 9 if sweeps > 1 else 50
    system, edges = random_problem(rows, width)
    flows, slopes = np.zeros((rows, width, UNKNOWNS)), np.zeros((rows, width, 4))
    found = solve_step(to_lanes(system), to_lanes(edges), to_lanes(flows), to_lanes(slopes), sweeps, 1.2)
    np.testing.assert_allclose(from_lanes(found, width), whole_sweeps(system, edges, sweeps, 1.2), atol=2e-4)


@pytest.mark.parametrize("rows", [1, 31, 200])
@pytest.mark.parametrize("turns", [1, 10, 24])
def test_a_turn_of_a_row_waits_for_those_beside_it(rows, turns):
    """In whatever order bands come: neighbours have had the turn before, and not the one after."""
    for direction in (1, -1):
        done = np.full(rows, 4)  # turns begin with the fifth
        for order, starts in in_bands(rows, 5, turns):
            bands = [order[start:end] for start, end in pairwise(starts)]
            for y, turn in np.concatenate([np.zeros((0, 2), int), *bands[::direction]]):
                beside = done[max(y - 1, 0) : y + 2]
                assert done[y] == turn - 1
                assert beside.min() >= turn - 1
                assert beside.max() <= turn
                done[y] = turn
        assert (done == 4 + turns).all()


@pytest.mark.parametrize("width", [1, 31, 32, 33, 100])
def test_lanes_keep_every_number_and_its_neighbours(width):
    field = np.random.default_rng(0).normal(size=(4, width, 3)).astype(np.float32)
    lanes = to_lanes(field)
    np.testing.assert_array_equal(from_lanes(lanes, width), field)
    for shift in (-1, 1):  # the positions beside hold the columns beside, and zeros beyond the picture
        beside = np.zeros_like(lanes)
        beside[:, 1:-1] = lanes[:, 1 + shift : lanes.shape[1] - 1 + shift]
        expected = np.zeros_like(field)
        if shift > 0:
            expected[:, :-1] = field[:, 1:]
        else:
            expected[:, 1:] = field[:, :-1]
        np.testing.assert_array_equal(from_lanes(beside, width), expected)
