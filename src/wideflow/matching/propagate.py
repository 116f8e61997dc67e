"""One pass of one direction: what is compared, and the iterations of belief propagation over it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wideflow.config import MatchConfig, PassesConfig
from wideflow.matching import pmbp
from wideflow.matching.cost import byte_weights
from wideflow.matching.level import Level
from wideflow.matching.particles import Direction


class Chance(NamedTuple):
    """Random steps of a pass: where they start, how far they reach in px, how many a pixel tries."""

    seed: int
    step: float
    tries: int


def terms(
    level: Level, i: int, direction: Direction, passes: PassesConfig, config: MatchConfig
) -> tuple[Any, ...]:
    """What `pmbp.evaluate` and `pmbp.sweep` compare: descriptors, colours, cameras and their weights."""
    colours = (direction.colours(level.pictures[i]), level.colours[1 - i])
    F, w_e = np.zeros((3, 3)), 0.0
    if level.geometry is not None:
        F, w_e = (level.geometry.F if i == 0 else level.geometry.F.T), config.weight_epipolar
    w_c = passes.weight_colour_first
    if np.isfinite(direction.transform.spread):
        w_c = passes.weight_colour * min(1.0, config.colour_spread / direction.transform.spread)
    weights = byte_weights(1, config.descriptor_cap, w_c, w_e)
    return level.sources[i], level.descriptors[1 - i], colours, np.ascontiguousarray(F, np.float32), weights


def propagate(
    level: Level,
    i: int,
    direction: Direction,
    count: int,
    w_p: float,
    chance: Chance,
    fresh: bool,
    far: int,
    passes: PassesConfig,
    config: MatchConfig,
) -> None:
    """One pass of one direction: ``count`` iterations of belief propagation, ``far`` as in `pmbp.sweep`."""
    source, target, colours, F, weights = terms(level, i, direction, passes, config)
    d = direction
    if fresh:
        pmbp.evaluate(source, target, colours, F, d.flow, d.costs, weights)
    belief, messages = d.costs.copy(), np.zeros((*d.costs.shape, 4), np.float32)
    smooth = (np.float32(w_p), np.float32(config.truncation_pairwise))
    for iteration in range(count):
        reach = np.float32(max(chance.step * 0.7**iteration, 0.7))
        for parity in range(2):
            steps = (np.uint64(chance.seed + 2 * iteration + parity), reach, chance.tries)
            pmbp.sweep(
                source,
                target,
                colours,
                F,
                d.flow,
                d.costs,
                belief,
                messages,
                d.settled,
                parity,
                steps,
                far if iteration == 0 else 0,
                weights,
                smooth,
            )
