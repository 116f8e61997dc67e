"""Which other pictures tell the depth of this one: those that see the same from another place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wideflow.geometry import camera_to_world, inside_picture, project, unproject, world_to_camera
from wideflow.types import View

_OVERLAP = 0.5  # share of the picture that another one must see
_LEAST = 0.004  # distance between two places, over depth: below it, parallax drowns in noise
_MOST = 0.25  # beyond it, surfaces look different
_GRID = 6  # points a side that stand for the picture


def choose_views(here: View, others: Sequence[View], near: float, far: float, most: int) -> list[int]:
    """Numbers of the views to compare with, the most telling first.

    One after the other, the view whose place is furthest from all that are chosen: places around the
    camera, not moments, are what tells depth, and a hand comes back to the same place again and again.

    Parameters
    ----------
    here : View
        Pinhole, as are the others.
    others : sequence of View
        Of any camera at any moment.
    near, far : float
        Depths between which nearly everything lies, world units.
    most : int
        How many to choose.

    Returns
    -------
    list of int
        Empty if no view has parallax, as of cameras that stand still or only turn.
    """
    middle = 2 / (1 / near + 1 / far)
    centre = here.centre
    away = np.array([np.linalg.norm(view.centre - centre) for view in others]) / middle
    parallax = np.flatnonzero((away > _LEAST) & (away < _MOST)).tolist()
    left = [i for i in parallax if _overlap(here, others[i], near, far)]
    places = [centre]
    chosen: list[int] = []
    while left and len(chosen) < most:
        gaps = [min(np.linalg.norm(others[i].centre - place) for place in places) for i in left]
        best = int(np.argmax(gaps))
        places.append(others[left[best]].centre)
        chosen.append(left.pop(best))
    return chosen


def _overlap(here: View, other: View, near: float, far: float) -> bool:
    """Does the other view see enough of this one, both at the near and at the far depth?"""
    width, height = here.camera.size
    x, y = np.meshgrid(np.linspace(0, width - 1, _GRID), np.linspace(0, height - 1, _GRID))
    rays = unproject(here.camera, np.stack([x, y], axis=-1))
    for depth in (near, far):
        pixels = project(other.camera, world_to_camera(other, camera_to_world(here, rays * depth)))
        if inside_picture(other.camera, pixels).mean() < _OVERLAP:
            return False
    return True
