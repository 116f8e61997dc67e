"""Match or completion? Where a match fails the check, the pictures decide between the two.

The check calls a pixel hidden whenever the flow back leads elsewhere. Part of these B does show: only the way
back is wrong. What is completed from around it then overwrites a match that was right. But what is truly
hidden lies behind something, and what is not must look in B as it does in A.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import flow_depths
from wideflow.types import View

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

_NEARER = 0.03  # of depth, by which what hides a pixel is nearer
_ALIKE = 0.25  # correlation of the pictures around a match that is kept
_SURELY = 0.6  # and of one that B surely shows
_BETTER = np.float32(0.02)  # difference of colour, sum over the channels, by which it explains B better
_HIDDEN = np.float32(0.05)  # how much better a completion does that lies behind something, or outside of B
_MOST = np.float32(0.3)  # difference of colour from which two colours are just different
_WINDOW = 7  # px: side of the windows that are compared
_AROUND = 15  # px: side of the neighbourhood that decides together
_NOISE = np.float32(1e-4)  # variance of brightness that says nothing


class Decided(NamedTuple):
    """(H, W) bool: where the match stays, and where B surely shows its pixel."""

    kept: Mask
    seen: Mask


def decide(
    pictures: tuple[Floats, Floats],
    matched: Floats,
    completed: Floats,
    undecided: Mask,
    views: tuple[View, View],
    shown: Floats,
) -> Decided:
    """Where a stereo match that fails the check explains the pictures better than its completion does.

    Parameters
    ----------
    pictures : pair of (H, W, 3) and (H2, W2, 3) float32
        RGB, 0..1; the first in the colours of the second.
    matched, completed : (H, W, 2) float32
        The flow to the second picture as it was matched, px, and completed where that is not believed.
    undecided : (H, W) bool
        Pixels to decide on.
    views : pair of View
        The cameras, pinhole.
    shown : (H2, W2) float32
        Depth of what the second picture shows, of `depth_shown`.
    """
    leads, there = _shown(pictures[1], matched)
    undecided = undecided & leads
    places = np.flatnonzero(undecided)
    if not places.size:
        return Decided(undecided, undecided)
    inside, completed_there = _shown(pictures[1], completed)
    unseen = ~inside
    among = undecided & inside
    unseen[among] = _behind(completed, among, shown, views)
    completion, match = (_difference(pictures[0], each).ravel() for each in (completed_there, there))
    better = np.where(unseen.ravel()[places], -_HIDDEN, completion[places] - match[places])
    # all that decide together are undecided, and only they are asked
    count = np.maximum(_around(np.ones(places.size, np.float32), places, undecided.shape), 1e-6)
    alike, better = (
        _around(each, places, undecided.shape) / count
        for each in (_correlation(pictures[0], there, places), better)
    )
    kept, seen = np.zeros_like(undecided), np.zeros_like(undecided)
    kept.ravel()[places] = keeps = (better > _BETTER) & (alike > _ALIKE)
    seen.ravel()[places] = keeps & (alike > _SURELY)
    return Decided(kept, seen)


def _around(values: Floats, places: NDArray[np.intp], shape: tuple[int, ...]) -> Floats:
    """(N,): mean of the values (N,) of some places over the neighbourhood of each, 0 for all others."""
    field = np.zeros(shape, np.float32)
    field.ravel()[places] = values
    return np.asarray(cv2.blur(field, (_AROUND, _AROUND)).ravel()[places], np.float32)


def _shown(picture: Floats, flow: Floats) -> tuple[Mask, Floats]:
    """Where a flow leads into a picture, and what that shows there."""
    height, width = flow.shape[:2]
    x = np.arange(width, dtype=np.float32) + flow[..., 0]
    y = np.arange(height, dtype=np.float32)[:, None] + flow[..., 1]
    inside = (x >= 0) & (y >= 0) & (x <= picture.shape[1] - 1) & (y <= picture.shape[0] - 1)
    return inside, cv2.remap(picture, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def _behind(flow: Floats, where: Mask, shown: Floats, views: tuple[View, View]) -> Mask:
    """Of the points of some pixels, which lie behind what the other picture shows in their place."""
    nearest = cv2.erode(np.where(np.isnan(shown), np.float32(np.inf), shown), np.ones((3, 3), np.uint8))
    y, x = np.nonzero(where)
    depth = flow_depths(*views, flow, where)[1][y, x]
    u, v = flow[y, x].T
    column, row = (
        np.rint(x + u.astype(np.float64)).astype(np.intp),
        np.rint(y + v.astype(np.float64)).astype(np.intp),
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(nearest[row, column] < depth * (1 - _NEARER), np.bool_)


def _difference(first: Floats, second: Floats) -> Floats:
    """(H, W): of the colours around each pixel, as far as it means something."""
    r, g, b = np.moveaxis(cv2.absdiff(first, second), 2, 0)
    change = np.minimum(r + g + b, _MOST)
    return np.asarray(cv2.blur(change, (_WINDOW, _WINDOW)), np.float32)


def _correlation(first: Floats, second: Floats, places: NDArray[np.intp]) -> Floats:
    """(N,): of the brightness in the windows around some pixels."""
    a, b = (cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) for picture in (first, second))
    a_mean, b_mean, aa, bb, ab = (
        cv2.blur(each, (_WINDOW, _WINDOW)).ravel()[places] for each in (a, b, a * a, b * b, a * b)
    )
    # plain windows agree by chance: the noise keeps them from it
    spread = np.maximum(aa - a_mean**2, 0) + _NOISE, np.maximum(bb - b_mean**2, 0) + _NOISE
    return np.asarray((ab - a_mean * b_mean) / np.sqrt(spread[0] * spread[1]), np.float32)
