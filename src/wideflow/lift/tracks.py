"""Depth along tracks: what B does not show at a moment, it may have shown shortly before, or will show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.geometry import camera_to_world, unproject, world_to_camera
from wideflow.lift.over_time import BOTH_NOW, COMPLETED
from wideflow.lift.steady import ALIKE, SeenMoment, smooth

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

_SURE = 0.4  # confidence from which a depth is carried
_FEWEST = 2  # other moments: four pictures alone carry nothing


class Way(NamedTuple):
    """Optical flow (H, W, 2) of a camera to its next moment, and (H, W) where that hides the pixel."""

    uv: Floats
    occluded: Mask


def carried_depth(moments: Sequence[SeenMoment | None], ways: Sequence[Way | None]) -> tuple[Floats, Mask]:
    """Depth (H, W) of the moment in the middle, and where it was carried from others.

    A pixel whose depth was completed from its surroundings is followed along the optical flow to the moments
    after, and those of the moments before are followed to it, until one is found whose depth both cameras
    saw and that has its colour. In between, a thing is taken not to move towards the camera.

    Parameters
    ----------
    moments : sequence of SeenMoment or None
        Moments of one camera in a row, as many before as after the one in the middle; None if there is none.
    ways : sequence of Way or None
        From each but the last to the next.
    """
    middle = len(moments) // 2
    own = moments[middle]
    assert own is not None
    wanted = own.found.source == COMPLETED
    depth, weight = own.found.depth.copy(), np.zeros(wanted.shape, np.float32)
    if sum(each is not None for each in moments) <= _FEWEST:
        return depth, np.zeros_like(wanted)
    picture = smooth(own.picture)
    for i, other in enumerate(moments):
        along = ways[min(i, middle) : max(i, middle)]
        if other is None or i == middle or any(way is None for way in along):
            continue
        known = [way for way in along if way is not None]
        told = (other.found.source == BOTH_NOW) & (other.found.confidence > _SURE)
        starts = _pixels(wanted if i > middle else told)
        ends = _followed(starts, known)
        found = _inside(ends, told if i > middle else wanted)
        starts, ends = starts[found], ends[found]
        here, there = (starts, ends) if i > middle else (ends, starts)
        x, y = _nearest(here)
        u, v = _nearest(there)
        off = np.abs(picture[y, x].astype(np.int16) - smooth(other.picture)[v, u]).max(axis=1)
        claim = other.found.confidence[v, u] / abs(i - middle)
        kept = (off <= ALIKE) & (claim > weight[y, x])
        order = np.flatnonzero(kept)[np.argsort(claim[kept], kind="stable")]  # the surest is written last
        x, y, u, v = x[order], y[order], u[order], v[order]
        points = unproject(other.view.camera, there[order]) * other.found.depth[v, u, None]
        depth[y, x] = world_to_camera(own.view, camera_to_world(other.view, points))[:, 2]
        weight[y, x] = claim[order]
    return depth, weight > 0


def _pixels(mask: Mask) -> NDArray[np.float64]:
    y, x = np.nonzero(mask)
    return np.stack([x, y], axis=1).astype(np.float64)


def _followed(pixels: NDArray[np.float64], ways: Sequence[Way]) -> NDArray[np.float64]:
    """Where pixels (N, 2) lead to; NaN for those that are hidden on the way, or leave the picture."""
    place = pixels.copy()
    for way in ways:
        _follow(place, way.uv, way.occluded)
    return place


@njit()
def _follow(place: NDArray[Any], uv: NDArray[Any], occluded: NDArray[Any]) -> None:
    height, width = occluded.shape
    for i in range(len(place)):
        u, v = place[i]
        inside = -0.5 <= u < width - 0.5 and -0.5 <= v < height - 0.5
        x, y = (int(u + 0.5), int(v + 0.5)) if inside else (0, 0)
        if inside and not occluded[y, x]:
            place[i, 0], place[i, 1] = u + uv[y, x, 0], v + uv[y, x, 1]
        else:
            place[i, 0], place[i, 1] = np.nan, np.nan


def _nearest(pixels: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Columns and rows."""
    whole = np.floor(pixels + 0.5).astype(np.intp)
    return whole[:, 0], whole[:, 1]


def _inside(pixels: NDArray[np.float64], mask: Mask) -> Mask:
    """Which pixels (N, 2) lie in a mask."""
    height, width = mask.shape
    with np.errstate(invalid="ignore"):
        x, y = np.floor(pixels[:, 0] + 0.5), np.floor(pixels[:, 1] + 0.5)
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    u, v = (np.where(inside, each, 0).astype(np.intp) for each in (x, y))
    return np.asarray(inside & mask[v, u], np.bool_)
