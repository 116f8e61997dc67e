"""Planes go on where they are hidden: a floor behind a table is still a floor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import PairGeometry, forward_backward_error, triangulate
from wideflow.geometry.planes import Planes, find_planes
from wideflow.geometry.pyramid import nearest_pixels, sampled_flow, scale_between, shrunk
from wideflow.types import Flow, View

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

_SIZE = 480  # px: of the pictures in which planes are sought
_SURE, _AGREEING = 0.2, 1.0  # confidence of a match that planes are fitted to, and px to the way back
_LEAST = 0.8  # share of the evidence around a pixel from which a plane goes on there
_FURTHER = 0.03  # of depth: if the other picture shows what lies further, a plane does not go on
_TRUSTED = 0.5  # times that share is how far to trust it


def extend_planes(
    pictures: tuple[Floats, Floats],
    forward: Flow,
    backward: Flow,
    unknown: Mask,
    views: tuple[View, View],
    shown: Floats,
) -> tuple[Flow, Mask]:
    """Complete a stereo flow by the planes of the scene.

    Parameters
    ----------
    pictures : pair of (H, W, 3) float32
        RGB, 0..1.
    forward, backward : Flow
        Between them.
    unknown : (H, W) bool
        Pixels of the first picture whose flow is not to be believed.
    views : pair of View
        The cameras, pinhole.
    shown : (H2, W2) float32
        Depth of what the second picture shows, of `depth_shown`.

    Returns
    -------
    Flow, (H, W) bool
        The flow, and which of the unknown pixels lie on a plane of what surrounds them that may go on there:
        what the other picture shows in its direction is not further away.
    """
    planes = _planes(pictures, forward, backward, unknown, views)
    taken = np.zeros_like(unknown)
    if planes is None:
        return forward, taken
    ys, xs = np.nonzero(unknown)
    height, width, count = planes.supports[0].shape
    at = ys * height // unknown.shape[0] * width + xs * width // unknown.shape[1]
    supports = planes.supports[0].reshape(-1, count).take(at, axis=0)
    uv, confidence, share = forward.uv.copy(), forward.confidence.copy(), np.full(len(ys), _LEAST, np.float32)
    shapes = [picture.shape for picture in pictures]
    for k, H in enumerate(planes.from_picture(0, shapes)):
        on = np.flatnonzero(supports[:, k] > share)
        here = np.stack([xs[on], ys[on]], axis=1).astype(np.float64)
        q = here @ H[:, :2].T + H[:, 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            there = q[:, :2] / np.where(q[:, 2:] > 0, q[:, 2:], np.nan)
        goes_on = _behind(here, there, shown, views)
        on = on[goes_on]
        uv[ys[on], xs[on]] = (there - here)[goes_on]
        share[on] = supports[on, k]
        taken[ys[on], xs[on]] = True
    confidence[taken] = np.float32(_TRUSTED) * share[taken[ys, xs]]
    return Flow(uv, confidence), taken


def _planes(
    pictures: tuple[Floats, Floats],
    forward: Flow,
    backward: Flow,
    unknown: Mask,
    views: tuple[View, View],
) -> Planes | None:
    """What the sure matches lie on, found in smaller pictures; what supports it in the first of them."""
    longest = max(max(picture.shape[:2]) for picture in pictures)
    halvings = max(0, int(np.ceil(np.log2(longest / _SIZE))))
    small = shrunk(pictures[0], halvings), shrunk(pictures[1], halvings)
    scales = [scale_between(p.shape, s.shape) for p, s in zip(pictures, small, strict=True)]
    sure = forward_backward_error(forward.uv, backward.uv) < _AGREEING
    sure &= (forward.confidence > _SURE) & ~unknown
    shape = small[0].shape[0], small[0].shape[1]
    row, column = nearest_pixels(scales[0], sure.shape, shape)
    uv = sampled_flow(forward.uv, scales[0], scales[1], shape)
    geometry = PairGeometry.from_views(*views).rescaled(scales[0], scales[1])
    return find_planes(geometry, small, (uv,), (sure[row[:, None], column],), seed=0)


def _behind(
    here: NDArray[np.float64],
    there: NDArray[np.float64],
    shown: Floats,
    views: tuple[View, View],
) -> Mask:
    """Which points (N,) may be hidden from the second camera: nothing further is shown in their place."""
    found = triangulate(*views, here, there)
    x, y = np.rint(np.nan_to_num(there, nan=-1)).T
    inside = (x >= 0) & (y >= 0) & (x < shown.shape[1]) & (y < shown.shape[0])
    column, row = (np.where(inside, each, 0).astype(np.intp) for each in (x, y))
    with np.errstate(invalid="ignore"):
        further = inside & (shown[row, column] > found.depths[1] * (1 + _FURTHER))
    return np.asarray(found.in_front & ~further, np.bool_)
