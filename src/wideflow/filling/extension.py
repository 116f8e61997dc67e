"""Planes go on where they are hidden: a floor behind a table is still a floor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import PairGeometry, forward_backward_error, triangulate
from wideflow.geometry.planes import Planes, find_planes
from wideflow.geometry.pyramid import sampled_flow, scale_between, shrunk
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
    planes = _planes(pictures, (forward, backward), unknown, views)
    taken = np.zeros_like(unknown)
    if planes is None:
        return forward, taken
    uv, share = forward.uv.copy(), np.full(unknown.shape, _LEAST, np.float32)
    shapes = [picture.shape for picture in pictures]
    for k, H in enumerate(planes.from_picture(0, shapes)):
        support = _enlarged(planes.supports[0][:, :, k], unknown.shape)
        y, x = np.nonzero(unknown & (support > share))
        here = np.stack([x, y], axis=1).astype(np.float64)
        q = here @ H[:, :2].T + H[:, 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            there = q[:, :2] / np.where(q[:, 2:] > 0, q[:, 2:], np.nan)
        goes_on = _behind(here, there, shown, views)
        y, x = y[goes_on], x[goes_on]
        uv[y, x] = (there - here)[goes_on]
        share[y, x] = support[y, x]
        taken[y, x] = True
    return Flow(uv, np.where(taken, np.float32(_TRUSTED) * share, forward.confidence)), taken


def _planes(
    pictures: tuple[Floats, Floats],
    flows: tuple[Flow, Flow],
    unknown: Mask,
    views: tuple[View, View],
) -> Planes | None:
    """What the sure matches lie on, found in smaller pictures."""
    longest = max(max(picture.shape[:2]) for picture in pictures)
    halvings = max(0, int(np.ceil(np.log2(longest / _SIZE))))
    small = shrunk(pictures[0], halvings), shrunk(pictures[1], halvings)
    scales = [scale_between(p.shape, s.shape) for p, s in zip(pictures, small, strict=True)]
    uvs, sure = [], []
    for i, flow in enumerate(flows):
        known = forward_backward_error(flow.uv, flows[1 - i].uv) < _AGREEING
        known &= flow.confidence > _SURE
        if i == 0:
            known &= ~unknown
        uv = np.where(known[..., None], flow.uv, np.float32(np.nan))
        uvs.append(sampled_flow(uv, scales[i], scales[1 - i], (small[i].shape[0], small[i].shape[1])))
        sure.append(np.isfinite(uvs[i][..., 0]))
    geometry = PairGeometry.from_views(*views).rescaled(scales[0], scales[1])
    return find_planes(geometry, small, (uvs[0], uvs[1]), (sure[0], sure[1]), seed=0)


def _behind(
    here: NDArray[np.float64],
    there: NDArray[np.float64],
    shown: Floats,
    views: tuple[View, View],
) -> Mask:
    """Which points (N,) may be hidden from the second camera: nothing further is shown in their place."""
    found = triangulate(*views, here, there)
    nearest = np.rint(np.nan_to_num(there, nan=-1))
    inside = (nearest >= 0).all(axis=1) & (nearest < (shown.shape[1], shown.shape[0])).all(axis=1)
    column, row = (np.where(inside, nearest[:, i], 0).astype(np.intp) for i in range(2))
    with np.errstate(invalid="ignore"):
        further = inside & (shown[row, column] > found.depths[1] * (1 + _FURTHER))
    return np.asarray(found.in_front & ~further, np.bool_)


def _enlarged(values: Floats, shape: tuple[int, ...]) -> Floats:
    rows = np.arange(shape[0]) * values.shape[0] // shape[0]
    columns = np.arange(shape[1]) * values.shape[1] // shape[1]
    return values.take(rows, axis=0).take(columns, axis=1)
