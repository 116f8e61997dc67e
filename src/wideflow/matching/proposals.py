"""Flows that something else than the search knows: they are offered to it, and the pictures decide.

Depth over time knows where B must show what stands still. More than one may speak; at each pixel of each
level the likeliest becomes a particle, and has to hold its own against the others from there on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, over_rows
from wideflow.config import MatchConfig, PassesConfig
from wideflow.errors import InputError
from wideflow.geometry.planes import Planes
from wideflow.geometry.pyramid import sampled_flow, scale_between
from wideflow.geometry.vectors import whole_vectors
from wideflow.matching import pmbp
from wideflow.matching.cost import IMPOSSIBLE, unary
from wideflow.matching.level import Level
from wideflow.matching.particles import Direction, inverse
from wideflow.matching.propagate import terms

Floats = NDArray[np.float32]

_NOWHERE = np.float32(1e7)  # px: outside of every picture
_LEAST = np.float32(0.03)  # share of the evidence around a pixel from which a plane is proposed there
_UNSUPPORTED = np.float32(0.2)  # cost that holds back a plane on which nothing around lies


@dataclass(frozen=True, eq=False)
class Proposal:
    """A flow from the first picture to the second that may be right.

    Attributes
    ----------
    flow : (H, W, 2) float32
        Pixels, (x, y); NaN where it says nothing.
    cost : float
        What it is held back by against other proposals, in units of the matching cost.
    """

    flow: Floats
    cost: float = 0.0


class Voices(NamedTuple):
    """All that proposes to a match: flows of pictures of these shapes, and planes found on the way."""

    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    proposals: tuple[Proposal, ...] = ()
    planes: Planes | None = None


def checked_proposals(proposals: Sequence[Proposal], shape: tuple[int, ...]) -> tuple[Proposal, ...]:
    """The same, if they are flows of the first picture.

    Raises
    ------
    InputError
        One is not.
    """
    for proposal in proposals:
        if proposal.flow.shape != (*shape[:2], 2):
            raise InputError(
                f"a proposal must be a flow of the first picture, of shape {(*shape[:2], 2)}, not "
                f"{proposal.flow.shape}"
            )
    return tuple(proposals)


def offer(
    level: Level,
    directions: tuple[Direction, ...],
    voices: Voices,
    passes: PassesConfig,
    config: MatchConfig,
) -> None:
    """Let proposals take the place of particles, in both directions.

    The likeliest plane becomes the last particle, and the likeliest of all others the one before, of which
    there is one more then: so neither silences the other, nor what was found.
    """
    turned: Floats | None = None
    one, two = (
        scale_between(full, small.shape) for full, small in zip(voices.shapes, level.pictures, strict=True)
    )
    for i, direction in enumerate(directions):
        compared = terms(level, i, direction, passes, config)
        best = np.full((*level.pictures[i].shape[:2], 2), np.nan, np.float32)
        costs = np.full(best.shape[:2], IMPOSSIBLE)
        if i == 0 and voices.proposals:
            for proposal in voices.proposals:
                flow = sampled_flow(proposal.flow, one, two, (costs.shape[0], costs.shape[1]))
                _take(compared, flow, proposal.cost, best, costs)
            # a pixel of the second picture is offered what leads to it, turned round
            turned = inverse(_filled(best)[:, :, None], costs[..., None], level.pictures[1].shape[:2])
        elif turned is not None:
            _take(compared, turned, 0.0, best, costs)
        places = whole_vectors(direction.flow)
        np.copyto(places[..., -min(2, places.shape[2])], whole_vectors(best), where=np.isfinite(best[..., 0]))
        if voices.planes is not None:
            best[:], costs[:] = np.nan, IMPOSSIBLE
            shapes = [picture.shape for picture in level.pictures]
            homographies = voices.planes.from_picture(i, shapes)
            supports = voices.planes.supports[i]
            _take_planes(len(costs), *compared, homographies, supports, direction.settled, best, costs)
            np.copyto(places[..., -1], whole_vectors(best), where=np.isfinite(best[..., 0]))


def _take(compared: tuple[Any, ...], flow: Floats, held_back: float, best: Floats, costs: Floats) -> None:
    """Replace the best proposals by those that are better."""
    source, target, colours, F, weights = compared
    own = np.empty((*costs.shape, 1), np.float32)
    pmbp.evaluate(source, target, colours, F, _filled(flow)[:, :, None], own, weights)
    own += np.float32(held_back)
    better = own[..., 0] < costs
    np.copyto(whole_vectors(best), whole_vectors(flow), where=better)
    np.copyto(costs, own[..., 0], where=better)


def _filled(flow: Floats) -> Floats:
    return np.where(np.isnan(flow), _NOWHERE, flow)


@over_rows()
def _take_planes(
    first, end, source, target, colours, F, weights, homographies, support, settled, best, costs
):  # fmt: skip
    """The same with the flows of planes, each where enough around a pixel lies on it."""
    for y in range(first, end):
        _take_planes_row(
            source,
            target,
            colours[0],
            colours[1],
            F,
            weights,
            homographies,
            support,
            settled,
            best,
            costs,
            np.int64(y),
        )


@kernel()
def _take_planes_row(
    source, target, colour, colours, F, weights, homographies, support, settled, best, costs, y
):  # fmt: skip
    rows, columns = costs.shape
    high, wide, count = support.shape
    sy = y * high // rows
    for x in range(columns):
        if settled[y, x]:
            continue
        sx = x * wide // columns
        for k in range(count):
            share = support[sy, sx, k]
            if share < _LEAST:
                continue
            H = homographies[k]
            w = H[2, 0] * x + H[2, 1] * y + H[2, 2]
            if w <= 0:
                continue
            u = np.float32((H[0, 0] * x + H[0, 1] * y + H[0, 2]) / w - x)
            v = np.float32((H[1, 0] * x + H[1, 1] * y + H[1, 2]) / w - y)
            cost = unary(source, target, colour, colours, F, x, y, u, v, weights, costs[y, x])
            cost += _UNSUPPORTED * (1 - share)
            if cost < costs[y, x]:
                costs[y, x] = cost
                best[y, x, 0], best[y, x, 1] = u, v
