"""The passes of a match: both directions side by side, from coarse to fine (paper, section 3.1).

After each pass on the coarsest level, and after each finer level, the matches on which both directions agree
tell the colour transform and, where the cameras are unknown, the fundamental matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wideflow.config import LevelPasses, MatchConfig, PassesConfig
from wideflow.descriptors.daisy import texture
from wideflow.geometry import PairGeometry
from wideflow.geometry.planes import Planes
from wideflow.matching.colour import ColourTransform
from wideflow.matching.learn import learn, level_planes
from wideflow.matching.level import Level, Picture, build_level, level_count
from wideflow.matching.particles import (
    Direction,
    Flows,
    Particles,
    enlarged,
    shrunk_start,
    start_direction,
)
from wideflow.matching.propagate import Chance, propagate
from wideflow.matching.proposals import Proposal, Voices, offer
from wideflow.matching.settled import settle
from wideflow.matching.slant import Slant
from wideflow.matching.sweep import is_swept, sweep_planes
from wideflow.progress import Progress, silent

_THIN = 2  # px of the coarsest level: of rows and columns that tell a sweep how deep the scene is


@dataclass(frozen=True, eq=False)
class Matches:
    """What the passes of a level leave, each forward and backward.

    Attributes
    ----------
    flows, costs, textures : pairs of (h, w, 2), (h, w), (h, w) float32
        Best flow in pixels of the level, its cost, and how much there is to see at each pixel.
    transforms : pair of ColourTransform
        Source colours to target colours.
    geometry : PairGeometry or None
        What the level was matched with.
    particles : pair of (h, w, K, 2) float32
        Where the next level starts.
    slants : list of two Slant, or None
        Locally affine flows, which lay the descriptors of the next level.
    planes : Planes or None
        What the matches lie on, for the next level.
    """

    flows: Flows
    costs: Flows
    textures: Flows
    transforms: tuple[ColourTransform, ColourTransform]
    geometry: PairGeometry | None
    particles: Particles
    slants: list[Slant] | None
    planes: Planes | None


def run_passes(
    pictures: tuple[Picture, Picture],
    geometry: PairGeometry | None,
    config: MatchConfig,
    reestimate: Callable[[PairGeometry, Flows, float], PairGeometry] | None = None,
    progress: Progress = silent,
    start: Flows | None = None,
    both: bool = True,
    proposals: Sequence[Proposal] = (),
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
        Warm start: flows near the true ones, forward and backward. The coarsest level, which searches
        everywhere, is left out.
    both : bool
        Run the last level in both directions; otherwise the backward flow is that of the level before,
        enlarged.
    proposals : sequence of Proposal
        Flows that may be right, offered to every level.
    """
    if proposals:  # they have a place of their own among the particles
        config = replace(config, particles=config.particles + 1)
    levels = level_count(pictures, config)
    shapes = pictures[0].shape, pictures[1].shape
    skipped = 1 if start is not None and levels > 1 else 0
    passes = config.optical if geometry is None else config.stereo
    matches: Matches | None = None
    for done in range(skipped, levels):
        halvings = levels - 1 - done
        if halvings == 0 and not passes.full_size and matches is not None:
            yield _doubled(matches, pictures)
            break
        size = "x".join(str(-(-side // 2**halvings)) for side in pictures[0].shape[1::-1])
        progress(done, levels, f"matching at {size}")
        level = build_level(pictures, geometry, halvings, config)
        coarser = shrunk_start(level, start, halvings, config) if start is not None and done == 1 else None
        one_way = not both and halvings == 0 and matches is not None
        to_sweep = done == 0 and is_swept(geometry, config)
        every = _THIN if to_sweep else 1
        directions = _start_level(level, matches, coarser, config, one_way, every)
        searched_last = halvings == (0 if passes.full_size else 1)
        # the coarsest level of a stereo pair is too coarse, and makes but one pass after a sweep of planes
        if matches is not None and searched_last and done > (0 if geometry is None else 1):
            settle(directions, matches.flows, passes.settled)
        if halvings == 0 and done > 0:
            level = replace(level, maps=None)  # large, and described for the last time
        swept = to_sweep and sweep_planes(level, directions, config)
        if to_sweep and not swept:
            # too few matches tell how deep the scene is: those of a search stay, with all their passes
            directions = _start_level(level, matches, coarser, config, one_way)
        voices = Voices(shapes, tuple(proposals), None if matches is None else matches.planes)
        offer(level, directions, voices, passes, config)
        schedule = _schedule(passes, swept, done == 0, halvings == 0)
        slants, planes = _run_level(level, directions, schedule, passes, config, done == 0, halvings == 0)
        matches = _matches(level, directions, slants, matches, geometry, planes)
        yield matches
        if reestimate is not None and geometry is not None and halvings > 0:
            geometry = reestimate(geometry, matches.flows, 2.0**halvings)
    progress(levels, levels, "matched")


def _schedule(passes: PassesConfig, swept: bool, coarsest: bool, last: bool) -> LevelPasses:
    if not coarsest:
        return passes.final if last else passes.middle
    if not swept:
        return passes.coarse
    # what the one pass after a sweep teaches is for the next passes: where no level follows, they do
    return passes.swept.then(passes.final) if last else passes.swept


def _start_level(
    level: Level,
    before: Matches | None,
    warm: Particles | None,
    config: MatchConfig,
    one_way: bool,
    every: int = 1,
) -> tuple[Direction, ...]:
    """First particles of both directions: of the level before, of a warm start, or of a search."""
    coarser = before.particles if before is not None else warm
    transforms = (
        (ColourTransform.identity(config.colour_degree),) * 2 if before is None else before.transforms
    )
    directions = []
    for i in range(1 if one_way else 2):
        slants = None if before is None else before.slants
        larger = None if slants is None else slants[i].enlarged(*level.pictures[i].shape[:2])
        level.lay(i, larger, config)
        particles = None if coarser is None else coarser[i]
        directions.append(start_direction(level, i, particles, transforms[i], config, every))
    return tuple(directions)


def _run_level(
    level: Level,
    directions: tuple[Direction, ...],
    schedule: LevelPasses,
    passes: PassesConfig,
    config: MatchConfig,
    coarsest: bool,
    last: bool,
) -> tuple[list[Slant] | None, Planes | None]:
    """All passes of one level; the coarsest learns after each of them, the others after their last.

    Returns what the flows tell of slanted surfaces, for the next level.
    """
    step = config.step
    slants, planes = None, None
    for number, (count, w_p) in enumerate(zip(schedule.iterations, schedule.pairwise, strict=True)):
        for i, direction in enumerate(directions):
            seed = config.seed * 1_000_003 + level.pictures[0].shape[0] * 10_007 + number * 101 + i * 53
            fresh = coarsest or number == 0  # else the last pass left true costs
            chance = Chance(seed, step, schedule.tries)
            far = 8 if coarsest else 4 if fresh else 0
            propagate(level, i, direction, count, w_p, chance, fresh, far, passes, config)
        step *= 0.7**count
        ended = number + 1 == len(schedule.iterations)
        if ended and last:
            return None, None
        if coarsest or ended:
            slants = learn(level, directions, config)
            if level.geometry is not None and config.planes and len(directions) == 2:
                planes = level_planes(level, directions, config)
            if slants is not None and not ended:
                for i, slant in enumerate(slants):
                    level.lay(i, slant, config)
                offer(
                    level,
                    directions,
                    Voices((level.pictures[0].shape, level.pictures[1].shape), planes=planes),
                    passes,
                    config,
                )
    return slants, planes


def _doubled(before: Matches, pictures: tuple[Picture, Picture]) -> Matches:
    """The matches of a level as those of pictures twice its size, whose own are not sought."""

    def larger(each: Flows, scale: int = 1) -> Flows:
        one, two = (
            enlarged(values, *picture.shape[:2]) * np.float32(scale)
            for values, picture in zip(each, pictures, strict=True)
        )
        return one, two

    return replace(
        before,
        flows=larger(before.flows, 2),
        costs=larger(before.costs),
        textures=larger(before.textures),
        slants=None,
        planes=None,
    )


def _matches(
    level: Level,
    directions: tuple[Direction, ...],
    slants: list[Slant] | None,
    before: Matches | None,
    geometry: PairGeometry | None,
    planes: Planes | None,
) -> Matches:
    """The best particles of a level; a direction that was left out is that of the level before, enlarged."""
    textures = (texture(level.descriptors[0]), texture(level.descriptors[1]))
    forward = directions[0]
    if len(directions) == 2:
        backward = directions[1]
        flow, costs = np.ascontiguousarray(backward.best), backward.costs[:, :, 0]
        transforms, particles = (forward.transform, backward.transform), (forward.flow, backward.flow)
    else:
        assert before is not None
        shape = level.pictures[1].shape[:2]
        flow, costs = enlarged(before.flows[1], *shape) * np.float32(2), enlarged(before.costs[1], *shape)
        transforms, particles = before.transforms, before.particles
    return Matches(
        flows=(np.ascontiguousarray(forward.best), flow),
        costs=(forward.costs[:, :, 0], costs),
        textures=textures,
        transforms=transforms,
        geometry=geometry,
        particles=particles,
        slants=slants,
        planes=planes,
    )
