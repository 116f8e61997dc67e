"""Pixels that the last level does not search: only where the level before is surely right, and left alone."""

import numpy as np
import pytest

from wideflow.matching.colour import ColourTransform
from wideflow.matching.particles import Direction
from wideflow.matching.settled import settle

HEIGHT, WIDTH = 40, 60  # of the smaller level


def slanted(rise: float) -> np.ndarray:
    """A flow that grows along the rows, as on a wall seen from the side."""
    flow = np.zeros((HEIGHT, WIDTH, 2), np.float32)
    flow[..., 0] = rise * np.arange(WIDTH, dtype=np.float32)
    return flow


def way_back(flow: np.ndarray) -> np.ndarray:
    """The exact inverse of `slanted`: x + r x lies there, so there x + r x - x = r / (1 + r) of it."""
    rise = flow[0, 1, 0] - flow[0, 0, 0]
    return -flow / (1 + rise)


def settled(flows: tuple[np.ndarray, np.ndarray], limit: float, size: tuple[int, int]) -> Direction:
    found = np.full((*size, 2, 2), 77, np.float32)
    direction = Direction(
        found, np.zeros((*size, 2), np.float32), ColourTransform.identity(3), np.zeros(size, np.bool_)
    )
    settle([direction], flows, limit)
    return direction


@pytest.mark.parametrize("size", [(2 * HEIGHT, 2 * WIDTH), (2 * HEIGHT - 1, 2 * WIDTH - 1)])
def test_a_smooth_flow_is_settled_and_drawn_between_its_pixels(size: tuple[int, int]) -> None:
    flow = slanted(0.05)
    found = settled((flow, way_back(flow)), 1.0, size)
    inside = np.s_[4:-4, 4:-16]  # at the right, the flow leads out of the picture
    assert found.settled[inside].all()
    # the place of the larger pixel x is (x - 0.5) / 2 in the smaller one
    truth = 2 * 0.05 * (np.arange(size[1]) - 0.5) / 2
    x = np.broadcast_to(truth.astype(np.float32), size)
    assert found.best[inside][..., 0] == pytest.approx(x[inside], abs=1e-4)
    assert (found.flow[:, :, 1] == 77).all()  # other candidates stay as they were
    assert (found.best[~found.settled] == 77).all()


def test_edges_and_what_disagrees_are_searched() -> None:
    flow = slanted(0.0)
    flow[:, 30:, 0] = 5
    found = settled((flow, np.zeros_like(flow)), 1.0, (2 * HEIGHT, 2 * WIDTH))
    assert found.settled[:, :56].all()
    assert not found.settled[:, 58:].any()  # at the edge, and where the way back misses by 5 px
    steep = slanted(2.0)  # agrees, but what lies between two pixels is not known
    assert not settled((steep, way_back(steep)), 1.0, (2 * HEIGHT, 2 * WIDTH)).settled.any()


def test_a_limit_of_zero_searches_everywhere() -> None:
    flow = slanted(0.0)
    assert not settled((flow, -flow), 0.0, (2 * HEIGHT, 2 * WIDTH)).settled.any()
