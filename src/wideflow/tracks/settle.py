"""What all moments of a trail say together: one world point for what stands, a smooth way for what moves."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit, over_rows
from wideflow.tracks.lookups import pixel_of
from wideflow.tracks.state import Floats, Trails
from wideflow.tracks.walk import STILL

_SPREAD = 0.03  # share of depth about which moments agree
_DOUBTFUL = 0.05  # weight of a depth that nothing speaks for
_WINDOW = 4  # moments to either side that smooth a depth
_ROUNDS = 4
_STRAY, _OFTEN = 1.5, 0.25  # px beside its place, and share of moments, from which a point does not stand
_MEMORY = 0.9  # of the confidence, a moment that a point is hidden
_FEWEST = 0.15  # share of seen moments in which a point must move to count as moving


def settle(
    trails: Trails, starts: NDArray[np.intp], forth: NDArray[np.float64], back: NDArray[np.float64]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """World points, confidence, and which points stand still.

    Parameters
    ----------
    trails : Trails
        Of both directions.
    starts : (N,) int
        The moment at which each point was asked for.
    forth, back : (T, 3, 4) float64
        From world to pixels times depth, and from pixels times depth to world.

    Returns
    -------
    xyz : (T, N, 3) float32
        NaN for points of which nothing is known.
    confidence : (T, N) float32
    still : (N,) bool
    """
    moments, count = trails.seen.shape
    with np.errstate(invalid="ignore"):
        share = np.nansum(trails.moving > STILL, axis=0) / np.maximum(trails.seen.sum(axis=0), 1)
    still = share < _FEWEST
    xyz = np.full((moments, count, 3), np.nan, np.float32)
    confidence = np.zeros((moments, count), np.float32)
    _settle(count, trails, still, starts, forth, back, xyz, confidence)
    return xyz, confidence, still


@over_rows()
def _settle(first, end, trails, still, starts, forth, back, xyz, confidence):
    pixels, depth, claim, trust, seen = trails.pixels, trails.depth, trails.claim, trails.trust, trails.seen
    alike = trails.likeness
    moments = len(seen)
    for n in range(first, end):
        start = starts[n]
        if not depth[start, n] > 0:
            continue
        if still[n]:
            _stand(n, start, pixels, depth, claim, trust, seen, forth, back, xyz)
            still[n] = not _strays(n, pixels, seen, forth, xyz)
        if not still[n]:
            _move(n, pixels, depth, claim, trust, seen, back, xyz)
        last = -1
        for t in range(moments):  # the nearest moment at which it was seen, before and after
            if seen[t, n]:
                last = t
                chance = 0.0 if not trust[t, n] > 0 else trust[t, n]
                confidence[t, n] = chance * (0.5 + 0.5 * min(max(alike[t, n], 0.0), 1.0))
            elif last >= 0:
                confidence[t, n] = confidence[last, n] * _MEMORY ** ((0.3 if still[n] else 1.0) * (t - last))
        last = -1
        for t in range(moments - 1, -1, -1):
            if seen[t, n]:
                last = t
            elif last >= 0:
                fade = _MEMORY ** ((0.3 if still[n] else 1.0) * (last - t))
                confidence[t, n] = max(confidence[t, n], confidence[last, n] * fade)


@njit()
def _stand(n, start, pixels, depth, claim, trust, seen, forth, back, xyz):
    """Depth along the ray of the query on which the moments agree: its pixel is known exactly."""
    moments = len(seen)
    ray, centre = np.empty(3), back[start, :, 3]
    for k in range(3):
        ray[k] = back[start, k, 0] * pixels[start, n, 0] + back[start, k, 1] * pixels[start, n, 1]
        ray[k] += back[start, k, 2]
    values, weights = np.empty(moments), np.zeros(moments)
    for t in range(moments):
        values[t] = 0.0
        if not (seen[t, n] and claim[t, n] > 0):
            continue
        # the depth in this camera of a point of the ray is linear in its depth in that of the query
        slope, base = 0.0, forth[t, 2, 3]
        for k in range(3):
            slope += forth[t, 2, k] * ray[k]
            base += forth[t, 2, k] * centre[k]
        z = (claim[t, n] - base) / slope
        if z > 0:
            values[t] = math.log(z / depth[start, n])
            weights[t] = _DOUBTFUL + trust[t, n]
    z = depth[start, n] * math.exp(_agreed(values, weights))
    for t in range(moments):
        for k in range(3):
            xyz[t, n, k] = centre[k] + z * ray[k]


@njit()
def _strays(n, pixels, seen, forth, xyz):
    """Whether patches were found too often beside where a point that stands would be: it moves slowly."""
    count, away = 0, 0
    for t in range(len(seen)):
        if seen[t, n]:
            x, y, _ = pixel_of(forth[t], xyz[t, n])
            count += 1
            away += math.hypot(pixels[t, n, 0] - x, pixels[t, n, 1] - y) > _STRAY
    return away > _OFTEN * count


@njit()
def _agreed(values, weights):
    """The weighted median, then the mean of what lies near it."""
    order = np.argsort(values)
    half, below = 0.5 * weights.sum(), 0.0
    middle = 0.0
    for i in order:
        below += weights[i]
        if weights[i] > 0:
            middle = values[i]
            if below >= half:
                break
    for _ in range(_ROUNDS):
        total, mean = 1e-9, 1e-9 * middle
        for i in range(len(values)):
            share = weights[i] * math.exp(-(((values[i] - middle) / _SPREAD) ** 2))
            total += share
            mean += share * values[i]
        middle = mean / total
    return middle


@njit()
def _move(n, pixels, depth, claim, trust, seen, back, xyz):
    """Depths smoothed over time; between moments at which it is seen, a straight way at an even speed."""
    moments = len(seen)
    logs, weights = np.zeros(moments), np.zeros(moments)
    for t in range(moments):
        if seen[t, n] and claim[t, n] > 0:
            logs[t], weights[t] = math.log(claim[t, n]), _DOUBTFUL + trust[t, n]
    last = -1
    for t in range(moments):
        if not seen[t, n]:
            continue
        z = _smoothed(logs, weights, t, math.log(depth[t, n]))
        for k in range(3):
            there = back[t, k, 0] * pixels[t, n, 0] + back[t, k, 1] * pixels[t, n, 1] + back[t, k, 2]
            xyz[t, n, k] = z * there + back[t, k, 3]
        for between in range(last + 1, t):
            if last >= 0:
                share = (between - last) / (t - last)
                for k in range(3):
                    xyz[between, n, k] = (1 - share) * xyz[last, n, k] + share * xyz[t, n, k]
        last = t
    for t in range(moments):  # before it was first seen and after it was last seen: as was predicted
        if not np.isfinite(xyz[t, n, 0]) and depth[t, n] > 0:
            for k in range(3):
                there = back[t, k, 0] * pixels[t, n, 0] + back[t, k, 1] * pixels[t, n, 1] + back[t, k, 2]
                xyz[t, n, k] = depth[t, n] * there + back[t, k, 3]


@njit()
def _smoothed(logs, weights, t, guess):
    """Depth at t of a line through those around it, outliers of which count little."""
    moments = len(logs)
    first, end = max(0, t - _WINDOW), min(moments, t + _WINDOW + 1)
    scale = 2 * _SPREAD
    level, slope = guess, 0.0
    for _ in range(_ROUNDS):
        s0, s1, s2, r0, r1 = 1e-6, 0.0, 1.0, 1e-6 * level, 0.0
        for i in range(first, end):
            if weights[i] <= 0:
                continue
            away = i - t
            off = (logs[i] - level - slope * away) / scale
            w = weights[i] * math.exp(-off * off - 0.5 * (away / 2.5) ** 2)
            s0 += w
            s1 += w * away
            s2 += w * away * away
            r0 += w * logs[i]
            r1 += w * away * logs[i]
        determinant = s0 * s2 - s1 * s1
        if not determinant > 1e-12:
            break
        level, slope = (s2 * r0 - s1 * r1) / determinant, (s0 * r1 - s1 * r0) / determinant
    return math.exp(level)
