"""What the moment before has found, carried to this one by the motion in both cameras: a proposal."""

from __future__ import annotations

import numpy as np

from wideflow.geometry import forward_backward_error, pixel_grid
from wideflow.geometry.one_time import value_at
from wideflow.matching import OCCLUDED, Proposal
from wideflow.pipeline.step.values import MatchedFlow

# Moments that build on each other: the first is matched by itself. So what one got wrong has an end, and
# blocks can be worked on side by side.
BLOCK = 8


def carried(
    before: MatchedFlow | None, optical_a: MatchedFlow | None, optical_b: MatchedFlow | None
) -> list[Proposal]:
    """The stereo flow that the one of the moment before leads to.

    A pixel goes back in A, across to B, and forward in B. Nothing is said of what A did not show then, or B.

    Parameters
    ----------
    before : MatchedFlow or None
        From A to B then; without it there is nothing to carry.
    optical_a, optical_b : MatchedFlow or None
        From that moment to this one.
    """
    if before is None or optical_a is None or optical_b is None:
        return []
    grid = pixel_grid(optical_a.back.shape[1], optical_a.back.shape[0])
    there = grid + optical_a.back
    across = value_at(before.uv, there)
    here = there + across + value_at(optical_b.uv, there + across)
    new = forward_backward_error(optical_a.back, optical_a.uv) > OCCLUDED
    apart = forward_backward_error(before.uv, before.back)
    height, width = before.uv.shape[:2]
    unknown = new | (value_at(apart, there) > OCCLUDED)
    flow = np.empty(here.shape, np.float32)
    for i, last in enumerate((width - 0.5, height - 0.5)):  # NumPy is slow along an axis of two
        unknown |= (there[..., i] < -0.5) | (there[..., i] > last)
        flow[..., i] = here[..., i] - grid[..., i]
    flow[unknown] = np.nan
    return [Proposal(flow)]
