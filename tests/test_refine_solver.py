"""Over-relaxation in bands of rows is that of whole sweeps, and solves the system."""

import numpy as np
import pytest

from wideflow.refine.solver import solve_step
from wideflow.refine.system import RIGHT, SYSTEM, UNKNOWNS

UPPER = np.triu_indices(UNKNOWNS)


def random_problem(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Positive definite systems of every pixel, and edges, none of which leaves the picture."""
    rng = np.random.default_rng(rows)
    root = rng.normal(size=(rows, columns, UNKNOWNS, UNKNOWNS))
    matrices = root @ np.swapaxes(root, 2, 3) + np.eye(UNKNOWNS)
    system = np.empty((rows, columns, SYSTEM), np.float32)
    system[..., :RIGHT] = matrices[:, :, UPPER[0], UPPER[1]]
    system[..., RIGHT:] = rng.normal(size=(rows, columns, UNKNOWNS))
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
    matrices[:, :, UPPER[0], UPPER[1]] = matrices[:, :, UPPER[1], UPPER[0]] = system[..., :RIGHT]
    around = neighbours(edges.astype(np.float64))
    diagonal = np.arange(UNKNOWNS)
    matrices[:, :, diagonal, diagonal] += sum(weight for weight, _, _ in around) + 1e-3
    inverse = np.linalg.inv(matrices)
    step = np.zeros((rows, columns, UNKNOWNS))
    colour = np.add.outer(np.arange(rows), np.arange(columns)) % 2
    for _ in range(sweeps):
        for turn in range(2):
            right = -system[..., RIGHT:] + sum(
                weight * np.roll(step, (-dy, -dx), axis=(0, 1)) for weight, dy, dx in around
            )
            target = np.einsum("yxij,yxj->yxi", inverse, right)
            step = np.where((colour == turn)[..., None], step + relaxation * (target - step), step)
    return step


@pytest.mark.parametrize("rows", [5, 63, 131])
@pytest.mark.parametrize("sweeps", [1, 3, 14])
def test_bands_of_rows_give_what_whole_sweeps_give(rows, sweeps):
    system, edges = random_problem(rows, 9)
    flows, slopes = np.zeros((rows, 9, UNKNOWNS), np.float32), np.zeros((rows, 9, 4), np.float32)
    found = solve_step(system.copy(), edges, flows, slopes, sweeps, 1.2)
    np.testing.assert_allclose(found, whole_sweeps(system, edges, sweeps, 1.2), atol=2e-4)
