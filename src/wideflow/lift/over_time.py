"""Two depths of a pixel, one from both cameras now and one from A over time: which to believe, and how far.

What moves has no depth over time; what B does not show, or shows over-exposed, has none from the pair. Where
both are right they agree to their noise, which happens by chance only seldom: so agreement counts for both.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import static_flow
from wideflow.lift.confidence import Judged
from wideflow.types import DepthOverTime, View

Floats = NDArray[np.float32]

# where a depth comes from
UNKNOWN, BOTH_NOW, OVER_TIME, TRACK, COMPLETED = range(5)

# log odds of a depth over time to be that of the pixel, for what its windows show
_ODDS = -4.0
_UNLIKE = -0.84  # times the logarithm of their difference
_AGREEING = 1.06  # of the number of pictures that agree
_JUMP = -1.46  # of the step of depth around the pixel, as a share of it
_REACH = 9  # px: how far around a step is minded
_FACTOR = 2.5  # errors on the right surface are so many times what noise alone would give
_FLOOR = 0.002  # of depth: poses are not known better

_CHANCE = 1.0  # width of what wrong depths spread over, as a logarithm
_MOVED = 0.5, 2.0  # px of flow that stands against a static world: log odds 0, and how fast they grow


@dataclass(frozen=True, eq=False)
class Joined:
    """Depth (H, W) of every pixel from the best of its sources.

    Attributes
    ----------
    depth : float32
        World units, NaN where unknown.
    judged : Judged
        How far to trust it.
    source : uint8
        `UNKNOWN`, `BOTH_NOW`, `OVER_TIME`, or `COMPLETED` from what surrounds the pixel.
    moving : float32
        Chance that the world moved there.
    """

    depth: Floats
    judged: Judged
    source: NDArray[np.uint8]
    moving: Floats


def static_chance(over_time: DepthOverTime) -> Floats:
    """(H, W): chance that a depth over time is that of what the pixel shows."""
    inverse = over_time.inverse
    kernel = np.ones((_REACH, _REACH), np.uint8)
    jump = (cv2.dilate(inverse, kernel) - cv2.erode(inverse, kernel)) / inverse
    odds = (
        _ODDS
        + _UNLIKE * np.log(over_time.unlike + 0.02)
        + _AGREEING * np.log(over_time.agreeing + 0.1)
        + _JUMP * np.log(jump + 0.01)
    )
    return np.nan_to_num(1 / (1 + np.exp(-odds))).astype(np.float32)


def rigid_error(view: View, view_next: View, inverse: Floats, optical: Floats) -> Floats:
    """(H, W) px between the optical flow and that of a world that stands still; NaN where unknown."""
    return np.asarray(np.linalg.norm(static_flow(view, view_next, inverse) - optical, axis=2), np.float32)


def join(
    depth: Floats,
    judged: Judged,
    visible: NDArray[np.bool_],
    over_time: DepthOverTime,
    error_pair: Floats | None = None,
    error_time: Floats | None = None,
) -> Joined:
    """The better of two depths for every pixel, or their mean where they agree.

    Parameters
    ----------
    depth, judged : (H, W) and Judged
        From the pair.
    visible : (H, W) bool
        Where B shows the pixel; elsewhere the pair's depth is completed.
    over_time : DepthOverTime
        From A's other moments.
    error_pair, error_time : (H, W) float32, optional
        Of `rigid_error` with either depth.
    """
    source = np.where(visible, BOTH_NOW, COMPLETED).astype(np.uint8)
    source[~np.isfinite(depth)] = UNKNOWN
    if not over_time.known:
        return Joined(depth, judged, source, _moving(error_pair, depth.shape))
    chance = static_chance(over_time)
    if error_time is not None:
        chance = chance * (1 - _moving(error_time, depth.shape))
    noise = np.hypot(_FACTOR * over_time.deviation / over_time.inverse, _FLOOR).astype(np.float32)
    pair = np.where(np.isfinite(depth), judged.surface, 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = np.log(depth * over_time.inverse)
        both_noise = np.hypot(judged.deviation, noise)
        likely = np.exp(-0.5 * (apart / both_noise) ** 2) / (np.sqrt(2 * np.pi) * both_noise) * _CHANCE
    likely = np.where(np.isfinite(likely), likely, 0)
    both, only_pair = pair * chance * likely, pair * (1 - chance)
    only_time, none = (1 - pair) * chance, (1 - pair) * (1 - chance)
    total = both + only_pair + only_time + none
    by_time = only_time > only_pair
    surface = (both + np.where(by_time, only_time, only_pair)) / total
    agreed = both > np.maximum(only_pair, only_time)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(agreed, judged.deviation**2 / (judged.deviation**2 + noise**2), by_time)
        inverse = np.where(
            share == 0,
            1 / depth,
            np.where(share == 1, over_time.inverse, (1 - share) / depth + share * over_time.inverse),
        )
        deviation = np.where(
            agreed, judged.deviation * noise / both_noise, np.where(by_time, noise, judged.deviation)
        )
    source[by_time & ~agreed] = OVER_TIME
    source[agreed & ~visible] = OVER_TIME
    source[agreed & visible] = BOTH_NOW
    moving = np.where(
        source == OVER_TIME, np.nan_to_num(_moving(error_time, depth.shape)), _moving(error_pair, depth.shape)
    )
    found = Judged(surface.astype(np.float32), deviation.astype(np.float32), judged.bent, judged.tilt)
    return Joined((1 / inverse).astype(np.float32), found, source, moving.astype(np.float32))


def _moving(error: Floats | None, shape: tuple[int, ...]) -> Floats:
    """Chance that something moved, by how far the flow is from that of a static world."""
    if error is None:
        return np.zeros(shape, np.float32)
    middle, steep = _MOVED
    with np.errstate(over="ignore", divide="ignore"):
        odds = steep * np.log(error / middle)
        return np.nan_to_num(1 / (1 + np.exp(-odds)), nan=0.5).astype(np.float32)
