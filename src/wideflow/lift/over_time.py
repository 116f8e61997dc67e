"""Two depths of a pixel, one from both cameras now and one from A over time: which to believe, and how far.

What moves has no depth over time; what B does not show, or shows over-exposed, has none from the pair. Where
both are right they agree to their noise, which happens by chance only seldom: so agreement counts for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import static_flow
from wideflow.lift.confidence import Judged
from wideflow.types import DepthOverTime, View

Floats = NDArray[np.float32]

# where a depth comes from
UNKNOWN, BOTH_NOW, OVER_TIME, TRACK, COMPLETED = range(5)

# Log odds of a depth over time to be that of the pixel, for each of `static_tells`: `python -m
# benchmarks.chances` fits them, `wideflow evaluate video` shows what they are worth.
_BY_ITSELF = -4.1, -0.8, -1.1
_SEEN = -4.8, -0.9, -1.28, -0.36  # where B shows the pixel: then it is more often something that moves
_HIDDEN = -2.6, -0.26, -0.97, -0.32
_REACH = 9  # px: how far around a step is minded
_NOISE, _FLOOR = (
    1.8,
    0.004,
)  # errors on the right surface: so many times noise alone; poses are not known better
_PAIR = 1.5, 0.9  # log odds of the pair's depth to be within 3 %, from those of its surface
_TOGETHER = 0.003  # of depth: what two depths that agree may have in common
_AGREED = 0.5  # added to the log odds of the pair to be within a percent, where both agree
_LEAST = 0.5  # chance from which a hidden pixel takes its depth over time
_PREFERRED = 3.0  # odds by which the pair's own depth is given up where B shows the pixel
_CHANCE = 1.0  # width of what wrong depths spread over, as a logarithm
_MOVED_SEEN, _MOVED_HIDDEN = (
    (0.4, 1.5),
    (-2.2, 0.9),
)  # log odds of motion: a constant, and for that of the flow


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


def static_chance(
    over_time: DepthOverTime, error: Floats | None = None, visible: NDArray[np.bool_] | None = None
) -> Floats:
    """Chance (H, W) that a depth over time is that of what the pixel shows.

    Parameters
    ----------
    over_time : DepthOverTime
        From A's other moments.
    error : (H, W) float32, optional
        Of `rigid_error` with its depth.
    visible : (H, W) bool, optional
        Where B shows the pixel; with ``error``.
    """
    tells = static_tells(over_time, error)
    weights: Any = _BY_ITSELF
    if error is not None and visible is not None:
        weights = [np.where(visible, seen, hidden) for seen, hidden in zip(_SEEN, _HIDDEN, strict=True)]
    odds: Any = sum(weight * told for weight, told in zip(weights, tells, strict=True))
    return np.nan_to_num(_chance(odds)).astype(np.float32)


def static_tells(over_time: DepthOverTime, error: Floats | None = None) -> list[Floats]:
    """What tells whether a depth over time is that of the pixel, each (H, W): log odds are linear in them.

    A constant, and the logarithms of how unlike its windows are, of the step of depth around, and of
    ``error``, px between the optical flow and that of a static world, if that is known.
    """
    inverse = over_time.inverse
    kernel = np.ones((_REACH, _REACH), np.uint8)
    jump = (cv2.dilate(inverse, kernel) - cv2.erode(inverse, kernel)) / inverse
    tells = [np.ones_like(inverse), np.log(over_time.unlike + 0.02), np.log(jump + 0.01)]
    return tells if error is None else [*tells, np.log(error + 0.1)]


def rigid_error(view: View, view_next: View, inverse: Floats, optical: Floats) -> Floats:
    """(H, W) px between the optical flow and that of a world that stands still; NaN where unknown."""
    return length(static_flow(view, view_next, inverse) - optical)


def length(flow: Floats) -> Floats:
    """(H, W) of vectors (H, W, 2), with the bits of NumPy's norm, which is slow along short axes."""
    return np.sqrt(flow[..., 0] ** 2 + flow[..., 1] ** 2)


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
    moving = _moving(error_pair, visible)
    if not over_time.known:
        return Joined(depth, judged, source, moving)
    noise = np.hypot(_NOISE * over_time.deviation / over_time.inverse, _FLOOR)
    time = static_chance(over_time, error_time, visible)
    # what B does not show was completed with the help of depth over time: agreement would say nothing
    pair = np.where(visible & np.isfinite(depth), _chance(_PAIR[0] + _PAIR[1] * _odds(judged.surface)), 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart, spread = np.log(depth * over_time.inverse), np.hypot(judged.deviation, noise)
        likely = _CHANCE * np.exp(-0.5 * (apart / spread) ** 2) / (np.sqrt(2 * np.pi) * spread)
    both = pair * time * np.where(np.isfinite(likely), likely, 0)
    only_pair, only_time = pair * (1 - time), (1 - pair) * time
    total = both + only_pair + only_time + (1 - pair) * (1 - time)
    agreed = both > np.maximum(only_pair, only_time)
    by_time = ~agreed & np.where(visible, only_time > _PREFERRED * only_pair, time > _LEAST)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = judged.deviation**2 / spread**2  # the noisier a depth, the more the other one counts
        mean = 1 / ((1 - share) / depth + share * over_time.inverse)
        found = np.where(agreed, mean, np.where(by_time, 1 / over_time.inverse, depth))
        least = np.hypot(np.minimum(judged.deviation, noise), _TOGETHER)
    # two depths that agree are on the surface, but to the noise of the coarser one
    alone = np.where(visible, only_time / total, time)
    surface = np.where(agreed, _chance(_odds(judged.surface) + _AGREED), judged.surface)
    near = np.where(
        agreed, (both + np.maximum(only_pair, only_time)) / total, np.where(visible, pair, surface)
    )
    surface, near = (np.where(by_time, alone, chance).astype(np.float32) for chance in (surface, near))
    deviation = np.where(agreed, least, np.where(by_time, noise, judged.deviation))
    source[by_time] = OVER_TIME
    if error_time is not None:
        moving = np.where(by_time, _moving(error_time, visible), moving)
    sure = Judged(surface, deviation.astype(np.float32), judged.bent, judged.tilt, near)
    return Joined(found.astype(np.float32), sure, source, moving)


def _moving(error: Floats | None, visible: NDArray[np.bool_]) -> Floats:
    """Chance that something moved, by how far the flow is from a static world's; 0 if that is not told."""
    if error is None:
        return np.zeros(visible.shape, np.float32)
    (seen, hidden), (steep, less) = zip(_MOVED_SEEN, _MOVED_HIDDEN, strict=True)
    odds = np.where(visible, seen, hidden) + np.where(visible, steep, less) * np.log(error + np.float32(0.1))
    return np.nan_to_num(_chance(odds), nan=0.5).astype(np.float32)


def _chance(odds: NDArray[Any]) -> NDArray[Any]:
    """Of log odds."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-odds)))


def _odds(chance: NDArray[Any]) -> NDArray[Any]:
    """The logarithm of the odds."""
    kept = np.clip(chance, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(kept / (1 - kept)))
