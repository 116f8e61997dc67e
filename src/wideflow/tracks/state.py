"""What is known of points on their way: where they are now, and what was found of them at each moment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wideflow.tracks.patches import SIDE

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


class Trails(NamedTuple):
    """What is found of N points at T moments; rows of moments that were not reached stay unknown.

    Attributes
    ----------
    pixels : (T, N, 2) float64
        Where the point is in A's picture.
    depth : (T, N) float64
        In camera A, as predicted and corrected on the way.
    claim, trust : (T, N) float32
        What the moment's depth map says of a point that is seen, NaN if it says nothing, and its confidence.
    seen : (T, N) bool
    likeness : (T, N) float32
        Of the best patch, -1 to 1.
    moving : (T, N) float32
        Chance of motion at the point; NaN where it is not seen.
    """

    pixels: Doubles
    depth: Doubles
    claim: Floats
    trust: Floats
    seen: NDArray[np.bool_]
    likeness: Floats
    moving: Floats


class State(NamedTuple):
    """Where N points are now.

    Attributes
    ----------
    world, velocity : (N, 3) float64
        World units, and world units a moment.
    pixel : (N, 2) float64
    depth : (N,) float64
        Where the point was last seen; 0 for one that has not begun.
    apart : (N, 2) float64
        px, what the flow has told beside the pose of late.
    hidden : (N,) int64
        Moments; 0 is seen.
    still : (N,) bool
    patch, weight : (2, N, SIDE, SIDE) float32
        What surrounds the point: of the query, and the last that agreed with it.
    taken, variance : (2, N) float64
        Depth where the patch was taken, and the variance of its grey levels.
    """

    world: Doubles
    velocity: Doubles
    pixel: Doubles
    depth: Doubles
    apart: Doubles
    hidden: NDArray[np.int64]
    still: NDArray[np.bool_]
    patch: Floats
    weight: Floats
    taken: Doubles
    variance: Doubles


def empty_trails(moments: int, count: int) -> Trails:
    """Nothing is known."""
    claim, trust, likeness, moving = np.full((4, moments, count), np.nan, np.float32)
    seen = np.zeros((moments, count), np.bool_)
    pixels, depth = np.full((moments, count, 2), np.nan), np.full((moments, count), np.nan)
    return Trails(pixels, depth, claim, trust, seen, likeness, moving)


def new_state(pixels: Doubles) -> State:
    """Of points (N, 2) that have not begun."""
    count = len(pixels)
    world, velocity = np.zeros((2, count, 3))
    patch, weight = np.zeros((2, 2, count, SIDE, SIDE), np.float32)
    taken, variance = np.zeros((2, 2, count))
    hidden, still = np.zeros(count, np.int64), np.ones(count, np.bool_)
    apart, depth = np.zeros((count, 2)), np.zeros(count)
    return State(world, velocity, pixels.copy(), depth, apart, hidden, still, patch, weight, taken, variance)
