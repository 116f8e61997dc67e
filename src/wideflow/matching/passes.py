"""The passes of a match: both directions side by side, from coarse to fine (paper, section 3.1).

After each pass on the coarsest level, and after each finer level, the matches on which both directions agree
tell the colour transform and, where the cameras are unknown, the fundamental matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.config import MatchConfig, PassesConfig
from wideflow.descriptors.daisy import texture
from wideflow.geometry import PairGeometry, forward_backward_error
from wideflow.matching import pmbp
from wideflow.matching.colour import ColourTransform, fit_colour_transform
from wideflow.matching.cost import byte_weights
from wideflow.matching.level import Level, Picture, build_level, colour_bytes, level_count
from wideflow.matching.particles import Direction, Flows, enlarged, exchange, shrunk_start, start_direction
from wideflow.matching.settle import surroundings
from wideflow.matching.slant import Slant, fit_slant

_FAR = 10.0  # px of a level: most that a match is taken to differ from its surroundings
_SAMPLE = 6_000  # matches that a colour transform is fitted to
_AGREE = 2.0  # px of a level: directions that differ by less are taken for true
_PLAIN = 0.2  # texture at which a pixel tells half as much of a slanted surface


@dataclass(frozen=True, eq=False)
class Matches:
    """What the passes of a level leave, both ways: best flow, its cost, each pixel's texture, the colours."""

    flows: Flows
    costs: tuple[NDArray[np.float32], NDArray[np.float32]]
    textures: tuple[NDArray[np.float32], NDArray[np.float32]]
    transforms: tuple[ColourTransform, ColourTransform]
    geometry: PairGeometry | None


def run_passes(
    pictures: tuple[Picture, Picture],
    geometry: PairGeometry | None,
    config: MatchConfig,
    reestimate: Callable[[PairGeometry, Flows, float], PairGeometry] | None = None,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
    start: Flows | None = None,
    both: bool = True,
) -> Iterator[Matches]:
    """Match two pictures in both directions, level by level; the last level has the size of the pictures.

    Parameters
    ----------
    pictures : pair of (H, W, 3) float32
        RGB, 0..1; sizes may differ.
    geometry : PairGeometry or None
        Of a stereo pair; None for optical flow.
    config : MatchConfig
        Weights and schedule.
    reestimate : callable, optional
        Given the geometry, both flows of a level and the size of its pixels, a better geometry; called
        after each level but the last.
    progress : callable
        Told (steps done, steps in all, what comes next).
    start : pair of (H, W, 2) float32, optional
        Flows near the true ones, both ways: the coarsest level, which searches everywhere, is left out.
    both : bool
        Run the last level in both directions; otherwise the way back is that of the level before, enlarged.
    """
    passes = config.optical if geometry is None else config.stereo
    transforms = (ColourTransform.identity(config.colour_degree),) * 2
    levels = level_count(pictures, config)
    flows: Flows | None = None
    slants: list[Slant] | None = None
    before: Matches | None = None
    for done in range(0 if start is None or levels == 1 else 1, levels):
        halvings = levels - 1 - done
        size = "x".join(str(-(-side // 2**halvings)) for side in pictures[0].shape[1::-1])
        progress(done, levels, f"matching at {size}")
        level = build_level(pictures, geometry, halvings, config)
        if flows is None and start is not None and done > 0:
            flows = shrunk_start(level, start, halvings, config)
        sides = range(2 if both or halvings > 0 or before is None else 1)
        if slants is not None:
            for i in sides:
                level.lay(i, slants[i].enlarged(*level.pictures[i].shape[:2]), config)
        directions = tuple(
            start_direction(level, i, None if flows is None else flows[i], transforms[i], config)
            for i in sides
        )
        stage = "coarse" if done == 0 else "final" if halvings == 0 else "middle"
        slants = _iterate(level, directions, passes, config, stage, last=halvings == 0)
        best = [np.ascontiguousarray(direction.best) for direction in directions]
        costs = [direction.costs[:, :, 0] for direction in directions]
        if len(sides) == 1 and before is not None:
            shape = level.pictures[1].shape[:2]
            best.append(enlarged(before.flows[1], *shape) * np.float32(2))
            costs.append(enlarged(before.costs[1], *shape))
        else:
            flows = (directions[0].flow, directions[1].flow)
            transforms = (directions[0].transform, directions[1].transform)
        textures = (texture(level.descriptors[0]), texture(level.descriptors[1]))
        before = Matches((best[0], best[1]), (costs[0], costs[1]), textures, transforms, geometry)
        yield before
        if reestimate is not None and geometry is not None and halvings > 0:
            geometry = reestimate(geometry, before.flows, 2.0**halvings)
    progress(levels, levels, "matched")


def _iterate(
    level: Level,
    directions: tuple[Direction, ...],
    passes: PassesConfig,
    config: MatchConfig,
    stage: str,
    last: bool,
) -> list[Slant] | None:
    """All passes of one level, with the settings of its stage: coarse, middle or final.

    Returns what the flows tell of slanted surfaces, for the next level.
    """
    iterations = getattr(passes, f"{stage}_iterations")
    pairwise = getattr(passes, f"{stage}_pairwise")
    tries = getattr(passes, f"{stage}_tries")
    coarsest = stage == "coarse"
    step = config.step
    slants = None
    for number, (count, w_p) in enumerate(zip(iterations, pairwise, strict=True)):
        for i, direction in enumerate(directions):
            seed = config.seed * 1_000_003 + level.pictures[0].shape[0] * 10_007 + number * 101 + i * 53
            fresh = coarsest or number == 0  # else the last pass left true costs
            _propagate(level, i, direction, count, w_p, step, tries, seed, fresh, passes, config)
        step *= 0.7**count
        ended = number + 1 == len(iterations)
        if ended and last:
            return None
        if coarsest or ended:
            if config.colour_transform:
                _fit_colours(level, directions, config.colour_degree)
            if config.exchange:
                exchange(directions)
            if config.weight_settle > 0 and level.geometry is None:
                _settle(level, directions, passes, config)
            if config.slanted and level.geometry is not None:
                slants = _fit_slants(level, directions)
                if not ended:
                    for i, slant in enumerate(slants):
                        level.lay(i, slant, config)
    return slants


def _fit_slants(level: Level, directions: tuple[Direction, ...]) -> list[Slant]:
    """Locally affine flows of both directions, from pixels on which they agree and that have texture."""
    slants = []
    for i, direction in enumerate(directions):
        flow = np.ascontiguousarray(direction.best)
        agreed = forward_backward_error(flow, directions[1 - i].best) < _AGREE
        seen = texture(level.descriptors[i])
        slants.append(fit_slant(level.pictures[i], flow, agreed * seen / (seen + _PLAIN)))
    return slants


def _terms(
    level: Level, i: int, direction: Direction, passes: PassesConfig, config: MatchConfig
) -> tuple[Any, ...]:
    """What `pmbp.evaluate` and `pmbp.sweep` compare: descriptors, colours, cameras and their weights."""
    here, there = level.pictures[i], level.pictures[1 - i]
    colours = (colour_bytes(direction.transform(here)), colour_bytes(there))
    F, w_e = np.zeros((3, 3)), 0.0
    if level.geometry is not None:
        F, w_e = (level.geometry.F if i == 0 else level.geometry.F.T), config.weight_epipolar
    w_c = passes.weight_colour_first
    if np.isfinite(direction.transform.spread):
        w_c = passes.weight_colour * min(1.0, config.colour_spread / direction.transform.spread)
    weights = byte_weights(1, config.descriptor_cap, w_c, w_e)
    return level.sources[i], level.descriptors[1 - i], colours, F, weights


def _propagate(
    level: Level,
    i: int,
    direction: Direction,
    count: int,
    w_p: float,
    step: float,
    tries: int,
    seed: int,
    fresh: bool,
    passes: PassesConfig,
    config: MatchConfig,
) -> None:
    """One pass of one direction: ``count`` iterations of belief propagation."""
    source, target, colours, F, weights = _terms(level, i, direction, passes, config)
    d = direction
    if fresh:
        pmbp.evaluate(source, target, colours, F, d.flow, d.costs, weights)
    d.belief[:] = d.costs
    d.messages[:] = 0
    smooth = (np.float32(w_p), np.float32(config.truncation_pairwise))
    for iteration in range(count):
        reach = np.float32(max(step * 0.7**iteration, 0.7))
        for colour in range(2):
            chance = (np.uint64(seed + 2 * iteration + colour), reach, tries)
            far = fresh and iteration == 0
            pmbp.sweep(
                source,
                target,
                colours,
                F,
                d.flow,
                d.costs,
                d.belief,
                d.messages,
                colour,
                chance,
                far,
                weights,
                smooth,
            )


def _settle(
    level: Level, directions: tuple[Direction, ...], passes: PassesConfig, config: MatchConfig
) -> None:
    """Let the surroundings decide where a pixel's own match is hardly better than theirs."""
    for i, direction in enumerate(directions):
        best = np.ascontiguousarray(direction.best)
        agreed = forward_backward_error(best, directions[1 - i].best) < _AGREE
        others, leans = surroundings(level.pictures[i], best, agreed)
        costs = np.empty((*best.shape[:2], 2), np.float32)
        both = np.stack([best, others], axis=2)
        source, target, colours, F, weights = _terms(level, i, direction, passes, config)
        pmbp.evaluate(source, target, colours, F, both, costs, weights)
        far = np.minimum(np.linalg.norm(others - best, axis=2), _FAR)
        taken = costs[:, :, 1] < costs[:, :, 0] + config.weight_settle * leans * far
        direction.flow[taken, 0] = others[taken]
        direction.costs[taken, 0] = costs[taken, 1]


def _fit_colours(level: Level, directions: tuple[Direction, ...], degree: int) -> None:
    for i, direction in enumerate(directions):
        agreed = forward_backward_error(direction.best, directions[1 - i].best) < _AGREE
        y, x = np.nonzero(agreed)
        thin = max(1, len(y) // _SAMPLE)
        y, x = y[::thin], x[::thin]
        target = np.rint(np.stack([x, y], axis=-1) + direction.best[y, x]).astype(np.int64)
        other = level.pictures[1 - i][target[:, 1], target[:, 0]]
        direction.transform = fit_colour_transform(level.pictures[i][y, x], other, degree)
