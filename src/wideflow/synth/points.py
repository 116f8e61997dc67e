"""Truth of tracks: where the surface points that a picture shows are at any other time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.synth.rendering.scene import Scene, State
from wideflow.synth.rendering.shade import first_hits
from wideflow.synth.truth import follow_surface, sees
from wideflow.types import View


@dataclass(frozen=True, eq=False)
class FollowedPoints:
    """N surface points at T times.

    Attributes
    ----------
    xyz : (T, N, 3) float64
        World coordinates; NaN where the ray of a query hits nothing.
    visible : (T, N) bool
        Seen by the camera at that time.
    """

    xyz: NDArray[np.float64]
    visible: NDArray[np.bool_]


def follow_points(
    scene: Scene, times: Sequence[tuple[State, View]], start: int, pixels: ArrayLike
) -> FollowedPoints:
    """What the pixels of one picture show, at all times.

    Parameters
    ----------
    scene : Scene
        What is there.
    times : sequence of (State, View)
        The scene and the camera at T times.
    start : int
        Which of them the pixels belong to.
    pixels : (N, 2) array_like
        Of the ideal picture: a pinhole with the K of the camera.
    """
    pixels = np.asarray(pixels, np.float64)
    state, view = times[start]
    rays = np.column_stack([pixels, np.ones(len(pixels))]) @ np.linalg.inv(view.camera.K).T @ view.R
    hits, where = first_hits(scene, state, view.centre, rays)
    first = follow_surface(scene, state, hits, where)
    side = np.sign(((view.centre - first[0]) * first[1]).sum(1))
    found = [follow_surface(scene, each, hits, where) for each, _ in times]
    visible = [
        sees(scene, state, view, *surface, side) for (state, view), surface in zip(times, found, strict=True)
    ]
    return FollowedPoints(np.stack([points for points, _ in found]), np.stack(visible))
