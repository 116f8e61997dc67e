"""How long a rolling shutter takes from the first row to the last, from what stands still.

Sightings are moved to the time of the middle row along their own way through the picture. The right read-out
is the one with which points, cameras and lenses explain them best. Cameras that hardly move tell nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.crossing import Crossing, Readouts, unrolled
from wideflow.calibration.sightings.matches import Pixels
from wideflow.calibration.sightings.tracks import Tracks
from wideflow.calibration.solving.bundle import NOISE, adjust, cost_of, joined
from wideflow.calibration.solving.lens import LensPrior
from wideflow.calibration.solving.world import World

Floats = NDArray[np.float64]

LONGEST = 0.04  # s: no phone takes longer
_SURE, _LEAST = 3.0, 0.0015  # times its standard deviation, and s, from which a shutter is said to roll
_CLOSE = 0.0005  # s between one estimate and the next that end the search
_ROUNDS = 4
_STEP = 0.004  # s between the read-outs that are compared
_SCALE = 1.0  # px of a picture 640 wide: narrower, far from the right read-out the loss is no parabola
_STEPS, _BOLD = 6, 1e-9


@dataclass(frozen=True)
class Readout:
    """Seconds from the first row to the last of both cameras, and their standard deviations."""

    seconds: Readouts
    spread: Readouts


@dataclass(frozen=True, eq=False)
class Settled:
    """The read-outs, and the world with them.

    Attributes
    ----------
    world : World
    tracks, matches
        Sightings, and the matches among them, where they were at the times of their pictures.
    readout : Readout
    """

    world: World
    tracks: Tracks
    matches: dict[int, Pixels]
    readout: Readout


def settle_readouts(
    tracks: Tracks,
    matches: dict[int, Pixels],
    prior: LensPrior,
    asked: list[int],
    cross: Callable[[], Crossing],
    build: Callable[[Tracks, dict[int, Pixels]], World],
) -> Settled:
    """The world as it is built from sightings of one time.

    Parameters
    ----------
    tracks, matches
        As the pictures show them.
    prior : LensPrior
        Lenses that are given may tell their read-out.
    asked : list of int
        Cameras whose read-out may be looked for.
    cross : callable
        Gives how the sightings cross their pictures; called if that matters.
    build : callable
        Gives the world of tracks and matches.
    """
    given = [0.0 if lens is None else lens.readout for lens in prior.given]
    asked = [c for c in asked if not given[c]]
    now = given[0], given[1]
    known = np.where(given, 0.0, np.nan)
    if not asked and not any(now):
        return Settled(build(tracks, matches), tracks, matches, Readout(now, (known[0], known[1])))
    crossing = cross()
    for left in reversed(range(_ROUNDS)):
        moved = unrolled(tracks, matches, crossing, now)
        world, spread = build(*moved), known
        if not asked:
            break
        found = find_readouts(world, tracks, crossing, prior, now, asked)
        spread = np.where(given, 0.0, found.spread)
        rolls = np.array(found.seconds) > np.maximum(_SURE * spread, _LEAST)
        best = np.where(rolls | (known == 0), found.seconds, 0.0)
        if not left or np.abs(best - now).max() < _CLOSE:
            break
        now = float(best[0]), float(best[1])
    return Settled(world, *moved, Readout(now, (float(spread[0]), float(spread[1]))))


def find_readouts(
    world: World, tracks: Tracks, crossing: Crossing, prior: LensPrior, now: Readouts, asked: list[int]
) -> Readout:
    """The read-outs of the cameras asked for that explain the world best, starting from those it has.

    The loss over the read-outs is a parabola near its lowest place: a few values tell where that is and how
    steep it is. Everything else is adjusted for each.
    """
    unit = max(map(max, prior.sizes)) / 640
    seen = np.concatenate([world.sighting, np.flatnonzero(tracks.matched)])  # as the bundles have them
    camera = tracks.camera[seen]

    def places(readouts: Readouts) -> Floats:
        xy = tracks.xy[seen] + crossing.shift(tracks.camera, readouts)[seen]
        for c in (0, 1):
            xy[camera == c] = prior.plain(c, xy[camera == c])
        return xy

    start = adjust(joined(world.bundle, world.pairs), _SCALE * unit, _STEPS, NOISE * unit, _BOLD)
    here = places(now)

    def loss(step: Floats) -> float:
        xy = start.xy + np.nan_to_num(places((now[0] + step[0], now[1] + step[1])) - here)
        found = adjust(replace(start, xy=xy), _SCALE * unit, _STEPS, NOISE * unit, _BOLD)
        return cost_of(found, _SCALE * unit, NOISE * unit)

    step, covariance = _lowest(loss, asked)
    seconds = np.clip(np.array(now) + step, -LONGEST, LONGEST)
    spread = NOISE * unit * np.sqrt(np.diag(covariance))
    return Readout((float(seconds[0]), float(seconds[1])), (float(spread[0]), float(spread[1])))


def _lowest(loss: Callable[[Floats], float], asked: list[int]) -> tuple[Floats, Floats]:
    """The step (2,) to the lowest place of a parabola, and the inverse (2, 2) of half its curvature.

    Infinite for a camera that is not asked for, or that tells nothing.
    """
    unit = _STEP * np.eye(2)
    middle = loss(np.zeros(2))
    up, down = ({c: loss(sign * unit[c]) for c in asked} for sign in (1, -1))
    told = [c for c in asked if up[c] + down[c] - 2 * middle > 0]
    step, covariance = np.zeros(2), np.diag([np.inf, np.inf])
    if not told:
        return step, covariance
    slope = np.array([up[c] - down[c] for c in told]) / (2 * _STEP)
    curvature = np.diag([up[c] + down[c] - 2 * middle for c in told]) / _STEP**2
    if len(told) == 2:
        both = loss(unit.sum(axis=0)) - up[0] - up[1] + middle
        curvature[0, 1] = curvature[1, 0] = both / _STEP**2
    if np.linalg.eigvalsh(curvature)[0] <= 0:
        return step, covariance
    step[told] = -np.linalg.solve(curvature, slope)
    covariance[np.ix_(told, told)] = np.linalg.inv(0.5 * curvature)
    return step, covariance
