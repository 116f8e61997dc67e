"""Which pictures tell the depth of one, and between which depths it lies: what sparse points say of both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import inside_picture, project, world_to_camera
from wideflow.types import View

_BEST_ANGLE = 10.0  # degrees between two lines of sight: less tells depth worse, more looks different
_NARROWER, _WIDER = 5.0, 15.0  # degrees by which it may be less or more, as a standard deviation
_LEAST_ANGLE = 1.0  # degrees below which a picture tells nothing
_SHARED = 0.15  # share of the points that another picture must show
_CROWDED = 0.3  # part of the distance that pictures at one place count as another
_ENDS = 1.0, 99.0  # percentiles of inverse depth
_NEARER, _FURTHER = 1.4, 0.6  # how far beyond them, as a factor


def choose_photos(here: View, points: NDArray[np.float64], others: Sequence[View], most: int) -> list[int]:
    """Numbers of the views to compare with, the most telling first.

    A view is worth the points that it shows, each by the angle at which the two lines of sight meet, and less
    if its place is near to that of one that was chosen before: the same place tells the same.

    Parameters
    ----------
    here : View
        Pinhole, as are the others.
    points : (N, 3) float64
        Sparse points that are seen from here, world units.
    others : sequence of View
        Candidates.
    most : int
        How many to choose.
    """
    if len(points) == 0:
        return []
    worth = np.array([_worth(here, other, points) for other in others])
    centres = np.array([other.centre for other in others]).reshape(-1, 3)
    scale = np.median(np.linalg.norm(points - here.centre, axis=1)) * np.sin(np.radians(_BEST_ANGLE))
    chosen: list[int] = []
    while len(chosen) < most and (worth > 0).any():
        best = int(np.argmax(worth))
        chosen.append(best)
        gap = np.linalg.norm(centres - centres[best], axis=1) / scale
        worth *= 1 - (1 - _CROWDED) * np.exp(-(gap**2))
        worth[best] = 0
    return chosen


def _worth(here: View, other: View, points: NDArray[np.float64]) -> float:
    shown = inside_picture(other.camera, project(other.camera, world_to_camera(other, points)))
    if shown.mean() < _SHARED:
        return 0.0
    to_here, to_other = here.centre - points[shown], other.centre - points[shown]
    lengths = np.linalg.norm(to_here, axis=1) * np.linalg.norm(to_other, axis=1)
    cosine = (to_here * to_other).sum(axis=1) / np.maximum(lengths, 1e-12)
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    off = np.where(angle < _BEST_ANGLE, (angle - _BEST_ANGLE) / _NARROWER, (angle - _BEST_ANGLE) / _WIDER)
    return float(np.sum(np.exp(-(off**2) / 2) * (angle > _LEAST_ANGLE)) / len(points))


def depth_range(depths: NDArray[np.float64]) -> tuple[float, float] | None:
    """Nearest and farthest depth to look for, from those (N,) of points that are seen; None if none are."""
    if len(depths) == 0:
        return None
    far, near = np.percentile(1 / depths, _ENDS)
    return float(1 / (near * _NEARER)), float(1 / (far * _FURTHER))
