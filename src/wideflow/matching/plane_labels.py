"""The planes that a sweep tries: some orientations, each at many distances.

Distances are as far apart as moves most of a picture's matches by a pixel. What faces the cameras is tried
over the whole depth of the scene, other orientations only where matches lie.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import PairGeometry
from wideflow.geometry.planes import relative_depth

Doubles = NDArray[np.float64]

_STEP = 1.0  # px of the level by which matches move from one distance to the next
_MOST = 400  # distances of an orientation
_LIKELY = 0.01, 0.97  # of matches sorted by distance, those between are taken to be of the scene
_BEYOND = 0.85, 1.25  # and the scene goes on until so many times these
_GRAZING = 0.08  # share of its largest value at which a plane's inverse depth is seen too flat to tell
_WIDE = 2  # steps to either side over which matches are counted
_CROWDED = 1.5  # times the mean of all steps from which a plane is worth a try
_SEEN = 8  # of a grid of pixels, that must be shown to tell how far a step moves them
_OF_MOST = 0.8  # share of them that it moves by no more than `_STEP`
_FEWEST = 50  # matches below which nothing is said


class PlaneLabels(NamedTuple):
    """Planes, those of one orientation side by side.

    Attributes
    ----------
    homographies : (L, 3, 3) float64
        From the first picture to the second; what lies in front has a third coordinate above 0.
    joined : (L,) bool
        Whether a plane is one step beyond the one before.
    """

    homographies: Doubles
    joined: NDArray[np.bool_]


def plane_labels(
    geometry: PairGeometry, shape: tuple[int, ...], pixels: Doubles, flow: NDArray[np.float32]
) -> PlaneLabels | None:
    """Planes between which the matches of a scene lie; None if there are too few matches.

    Parameters
    ----------
    geometry : PairGeometry
        Of known cameras, in pixels of the level.
    shape : (h, w, ...)
        Of the first picture.
    pixels, flow : (N, 2) and (N, 2)
        Likely matches, some of them wrong.
    """
    assert geometry.infinity is not None
    assert geometry.orientations is not None
    H, e = geometry.infinity, -geometry.epipoles[1]
    rays, inverse, _ = relative_depth(H, e, pixels, flow)
    height, width = shape[:2]
    grid = np.stack(np.meshgrid(np.arange(0, width, 8.0), np.arange(0, height, 8.0)), axis=-1).reshape(-1, 2)
    seen = np.column_stack([grid, np.ones(len(grid))])
    homographies, joined = [], []
    for number, orientation in enumerate(geometry.orientations):
        least = _GRAZING * np.abs(seen @ orientation).max()
        facing, tilt = seen @ orientation, rays @ orientation
        told = (tilt > least) & (inverse > 0)
        if np.count_nonzero(told) < _FEWEST or np.count_nonzero(facing > least) < 2:
            continue
        scale = np.sort(inverse[told] / tilt[told])
        first, last = (
            times * scale[int(share * (len(scale) - 1))]
            for share, times in zip(_LIKELY, _BEYOND, strict=True)
        )
        ahead = facing > least
        steps = _distances(seen[ahead] @ H.T, facing[ahead], e, first, last, float(width), float(height))
        if not len(steps):  # the second picture shows nothing of such planes
            continue
        kept = np.ones(len(steps), bool) if number == 0 else _crowded(steps, scale)
        homographies.append(H + e[:, None] * (steps[kept, None] * orientation)[:, None, :])
        joined.append((kept & np.roll(kept, 1))[kept])
        joined[-1][:1] = False
    if not homographies:
        return None
    return PlaneLabels(np.concatenate(homographies), np.concatenate(joined))


def _crowded(steps: Doubles, scale: Doubles) -> NDArray[np.bool_]:
    """Steps around which more matches lie than around most."""
    edges = np.searchsorted(scale, steps)
    index = np.arange(len(steps))
    counts = edges[np.minimum(index + _WIDE, len(steps) - 1)] - edges[np.maximum(index - _WIDE, 0)]
    likely = counts > _CROWDED * counts.mean()
    # and what is beside such a step, which belongs to it
    return np.convolve(likely, np.ones(2 * _WIDE + 1), "same") > 0


def _distances(
    starts: Doubles, facing: Doubles, e: Doubles, first: float, last: float, width: float, height: float
) -> Doubles:
    """Values s, from ``first`` to ``last``, one pixel of most matches apart; ``starts`` (M, 3) is H x."""
    found: list[float] = []
    s = first
    while s < last and len(found) < _MOST:
        depth = s * facing
        w = starts[:, 2] + depth * e[2]
        with np.errstate(divide="ignore", invalid="ignore"):
            u, v = (starts[:, 0] + depth * e[0]) / w, (starts[:, 1] + depth * e[1]) / w
        inside = (w > 0) & (u >= 0) & (u < width) & (v >= 0) & (v < height)
        seen = np.count_nonzero(inside)
        if seen < _SEEN:  # nothing of it
            s += (last - first) / _MOST
            continue
        found.append(s)
        u, v, w = u[inside], v[inside], w[inside]
        moves = facing[inside] / w * np.hypot(e[0] - u * e[2], e[1] - v * e[2])
        rank = int(_OF_MOST * (seen - 1))
        s += _STEP / np.partition(moves, rank)[rank]
    return np.array(found)
