"""The passes of a match: both directions side by side, from coarse to fine (paper, section 3.1).

After each pass on the coarsest level, and after each finer level, the matches on which both directions agree
tell the colour transform and, where the cameras are unknown, the fundamental matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wideflow.config import MatchConfig, PassesConfig
from wideflow.geometry import PairGeometry, forward_backward_error, pixel_grid
from wideflow.matching import pmbp
from wideflow.matching.colour import ColourTransform, fit_colour_transform
from wideflow.matching.cost import byte_weights
from wideflow.matching.daisy import texture
from wideflow.matching.level import Level, Picture, build_level, colour_bytes, level_count
from wideflow.matching.search import search_line
from wideflow.matching.settle import surroundings
from wideflow.matching.slant import Slant, fit_slant

Flows = tuple[NDArray[np.float32], NDArray[np.float32]]
_FAR = 10.0  # px of a level: most that a match is taken to differ from its surroundings
_SAMPLE = 6_000  # matches that a colour transform is fitted to
_AGREE = 2.0  # px of a level: directions that differ by less are taken for true
_PLAIN = 0.2  # texture at which a pixel tells half as much of a slanted surface


@dataclass(eq=False)
class Direction:
    """The particles of one direction on one level, which the passes change in place.

    Attributes
    ----------
    flow, costs, belief, messages
        As `pmbp.sweep` takes them.
    transform : ColourTransform
        Source colours to target colours.
    """

    flow: NDArray[np.float32]
    costs: NDArray[np.float32]
    belief: NDArray[np.float32]
    messages: NDArray[np.float32]
    transform: ColourTransform

    @property
    def best(self) -> NDArray[np.float32]:
        """Flow of the best particles, (h, w, 2)."""
        return self.flow[:, :, 0]


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
            flows = _shrunk_start(level, start, halvings, config)
        sides = range(2 if both or halvings > 0 or before is None else 1)
        if slants is not None:
            for i in sides:
                level.lay(i, slants[i].enlarged(*level.pictures[i].shape[:2]), config)
        directions = tuple(
            _start(level, i, None if flows is None else flows[i], transforms[i], config) for i in sides
        )
        stage = "coarse" if done == 0 else "final" if halvings == 0 else "middle"
        slants = _iterate(level, directions, passes, config, stage, last=halvings == 0)
        best = [np.ascontiguousarray(direction.best) for direction in directions]
        costs = [direction.costs[:, :, 0] for direction in directions]
        if len(sides) == 1 and before is not None:
            shape = level.pictures[1].shape[:2]
            best.append(_enlarged(before.flows[1], *shape) * np.float32(2))
            costs.append(_enlarged(before.costs[1], *shape))
        else:
            flows = (directions[0].flow, directions[1].flow)
            transforms = (directions[0].transform, directions[1].transform)
        textures = (texture(level.descriptors[0]), texture(level.descriptors[1]))
        before = Matches((best[0], best[1]), (costs[0], costs[1]), textures, transforms, geometry)
        yield before
        if reestimate is not None and geometry is not None and halvings > 0:
            geometry = reestimate(geometry, before.flows, 2.0**halvings)
    progress(levels, levels, "matched")


def _start(
    level: Level, i: int, coarser: NDArray[np.float32] | None, transform: ColourTransform, config: MatchConfig
) -> Direction:
    """First particles of a level: those of the coarser one, or a search."""
    height, width = level.pictures[i].shape[:2]
    K = config.particles
    costs = np.empty((height, width, K), np.float32)
    if coarser is not None:
        flow = _enlarged(coarser, height, width) * np.float32(2)
    elif level.geometry is not None and config.search == "line":
        geometry = level.geometry if i == 0 else level.geometry.reversed()
        infinity = np.zeros((3, 3)) if geometry.infinity is None else geometry.infinity
        flow = np.empty((height, width, K, 2), np.float32)
        source, target = level.sources[i], level.descriptors[1 - i]
        colours = (colour_bytes(level.pictures[i]), colour_bytes(level.pictures[1 - i]))
        weights = byte_weights(1, config.descriptor_cap, 0, 0)
        epipole = geometry.epipoles[1]
        search_line(source, target, colours, geometry.F, infinity, epipole, flow, costs, weights)
    else:
        flow = _random_particles(level, i, config)
    belief, messages = np.empty_like(costs), np.zeros((*costs.shape, 4), np.float32)
    return Direction(flow, costs, belief, messages, transform)


def _enlarged(coarser: NDArray[np.float32], height: int, width: int) -> NDArray[np.float32]:
    """Each value of a coarser level at the pixels that it covers."""
    rows = np.minimum(np.arange(height) // 2, coarser.shape[0] - 1)
    columns = np.minimum(np.arange(width) // 2, coarser.shape[1] - 1)
    return coarser[rows][:, columns]


def _shrunk_start(level: Level, start: Flows, halvings: int, config: MatchConfig) -> Flows:
    """Particles of the level above ``level`` from flows at full size: the flows, and others around them."""
    particles = []
    for i, flow in enumerate(start):
        height, width = (-(-side // 2) for side in level.pictures[i].shape[:2])
        size = 2 ** (halvings + 1)
        rows = np.minimum(np.arange(height) * size + size // 2, flow.shape[0] - 1)
        columns = np.minimum(np.arange(width) * size + size // 2, flow.shape[1] - 1)
        chance = np.random.default_rng((config.seed, i))
        around = chance.normal(0, config.step / 4, (height, width, config.particles, 2))
        around[:, :, 0] = 0
        particles.append((flow[rows][:, columns, None] / size + around).astype(np.float32))
    return particles[0], particles[1]


def _random_particles(level: Level, i: int, config: MatchConfig) -> NDArray[np.float32]:
    """Random targets anywhere (stereo), or no motion and random motions around it (optical flow)."""
    chance = np.random.default_rng((config.seed, i))
    height, width = level.pictures[i].shape[:2]
    shape = (height, width, config.particles, 2)
    if level.geometry is None:
        reach = config.search_range * max(height, width)
        flow = chance.uniform(-reach, reach, shape)
        flow[:, :, 0] = 0
        return flow.astype(np.float32)
    here = pixel_grid(width, height)[:, :, None]
    other = np.array(level.pictures[1 - i].shape[1::-1])
    return (chance.uniform(0, other - 1, shape) - here).astype(np.float32)


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
                _exchange(directions)
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


def _exchange(directions: tuple[Direction, ...]) -> None:
    """Where a match of one direction ends, its way back becomes the other direction's last particle."""
    offers = [_way_back(d.flow, d.costs, directions[1 - i].flow) for i, d in enumerate(directions)]
    for i, offer in enumerate(offers):
        known = ~np.isnan(offer[..., 0])
        directions[1 - i].flow[known, -1] = offer[known]


@njit(cache=True)
def _way_back(flow, costs, other):
    """Flow (h2, w2, 2) from each target pixel to the source pixel that matches it best; NaN for none."""
    offer = np.full((other.shape[0], other.shape[1], 2), np.nan, np.float32)
    best = np.full(other.shape[:2], np.inf, np.float32)
    for y in range(flow.shape[0]):
        for x in range(flow.shape[1]):
            tx = int(np.floor(x + flow[y, x, 0, 0] + 0.5))
            ty = int(np.floor(y + flow[y, x, 0, 1] + 0.5))
            inside = 0 <= tx < other.shape[1] and 0 <= ty < other.shape[0]
            if inside and costs[y, x, 0] < best[ty, tx]:
                best[ty, tx] = costs[y, x, 0]
                offer[ty, tx, 0], offer[ty, tx, 1] = x - tx, y - ty
    return offer
