"""Complete a flow field: from the picture's colours (equations 7 to 10), or by diffusion."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import FillConfig
from wideflow.filling.cholesky import Plan, solve
from wideflow.filling.laplacian import (
    REACH,
    SIDE,
    matting_stencils,
    number_pixels,
    product,
    relax,
    window_models,
)

_CENTRE = SIDE * SIDE // 2
_SMALLEST = 6  # px: side of a picture that can be halved
_LEAST = np.float32(1e-4)  # weight of a window, so that no pixel is on its own


def complete_by_colour(
    picture: NDArray[np.float32],
    values: NDArray[np.float32],
    unknown: NDArray[np.bool_],
    config: FillConfig,
) -> NDArray[np.float32]:
    """Solve (L + lambda D_C) U = lambda U_C on the unknown pixels and a ring around them (equation 10).

    With weights for the windows this is done at half the size, at a fifth of the cost, and then mended.

    Parameters
    ----------
    picture : (H, W, 3) float32
        Colours in 0..1.
    values : (H, W, C) float32
        What is to be completed; finite where known, else 0. The first two are the flow, and follow colours
        most.
    unknown : (H, W) bool
        Pixels to find; at least one must be known.
    config : FillConfig
        Its epsilon, weight, ring and limit of the direct solver.

    Returns
    -------
    (N, C) float32
        Of the unknown pixels, row by row.
    """
    if config.reweighted == 0 or min(unknown.shape) < _SMALLEST:
        weights = np.ones(unknown.shape, np.float32)
        region = _Region(unknown, config)
        return region.solve(picture, values, weights)[unknown[region.around]].astype(np.float32)
    half = _half(picture, values, unknown)
    weights = _solve_half(half, config)
    found = _enlarged(picture, half, unknown, config.epsilon)
    # edges of the flow are as sharp as those of the picture only at its full size
    around = _grown(unknown, REACH)
    outer = number_pixels(around)
    weights = cv2.resize(weights, unknown.shape[::-1], interpolation=cv2.INTER_NEAREST)
    flow, inside = _of(values, around)[:, :2].astype(np.float64), unknown[around]
    flow[inside] = found[:, :2]
    relax(matting_stencils(picture, outer, config.epsilon, weights), outer, unknown, flow)
    found[:, :2] = flow[inside]
    return found


class _Half(NamedTuple):
    """A picture, its values and the share of known pixels at half the size."""

    picture: NDArray[np.float32]
    values: NDArray[np.float32]
    known: NDArray[np.float32]


def _half(picture: NDArray[np.float32], values: NDArray[np.float32], unknown: NDArray[np.bool_]) -> _Half:
    """Values are means of the known ones, 0 where there are none."""
    size = (-(-unknown.shape[1] // 2), -(-unknown.shape[0] // 2))
    known = (~unknown).astype(np.float32)
    share, small, total = (
        cv2.resize(each, size, interpolation=cv2.INTER_AREA) for each in (known, picture, values)
    )
    part = np.maximum(share, 1e-9)
    for i in range(total.shape[2]):
        total[..., i] /= part  # what has no known pixel has a sum of 0
    return _Half(small, total, share)


def _solve_half(half: _Half, config: FillConfig) -> NDArray[np.float32]:
    """Find the unknown values of a `_Half`, in place, and the weights (h, w) of its windows.

    The first weights change the solution everywhere. What later ones change lies beside the edges, where
    relaxation finds it at a fraction of the cost.
    """
    picture, values, hidden = half.picture, half.values, half.known == 0
    weights = np.ones(hidden.shape, np.float32)
    if hidden.any():
        region = _Region(hidden, replace(config, ring=-(-config.ring // 2)))
        weights = region.weigh(picture, region.solve(picture, values[..., :2], weights))
        found = region.solve(picture, values, weights)
        for _ in range(config.reweighted):
            weights = region.weigh(picture, found[:, :2])
            region.relax(picture, found, weights)
        values[region.around] = found
    return weights


def _enlarged(
    picture: NDArray[np.float32], half: _Half, unknown: NDArray[np.bool_], epsilon: float
) -> NDArray[np.float32]:
    """(N, C): values of the unknown pixels of the whole picture.

    What flow is of colour in the windows of the smaller picture, it is of the larger one's colours; all else
    varies too little to tell.
    """
    around = _grown(half.known < 1, REACH)
    models, _ = window_models(
        half.picture, number_pixels(around), epsilon, half.values[around, :2].astype(np.float64)
    )
    for edge, inner in ((0, 1), (-1, -2)):  # where no window has its centre
        models[edge], models[:, edge] = models[inner], models[:, inner]
    size = unknown.shape[::-1]
    models = cv2.resize(models.reshape(*half.known.shape, 8), size, interpolation=cv2.INTER_LINEAR)
    others = cv2.resize(np.ascontiguousarray(half.values[..., 2:]), size, interpolation=cv2.INTER_LINEAR)
    found = np.empty((np.count_nonzero(unknown), half.values.shape[2]), np.float32)
    factors, (r, g, b) = _of(models, unknown), _of(picture, unknown).T
    for i in range(2):
        f0, f1, f2, offset = factors[:, 4 * i : 4 * i + 4].T
        found[:, i] = f0 * r + f1 * g + f2 * b + offset
    found[:, 2:] = _of(others.reshape(*unknown.shape, -1), unknown)
    return found


class _Region:
    """Pixels to find and the ring around them, and what all systems on them have in common."""

    def __init__(self, unknown: NDArray[np.bool_], config: FillConfig) -> None:
        region = _grown(unknown, config.ring)
        self.unknown, self.config = unknown, config
        self.around = _grown(unknown, config.ring + REACH)  # as far beyond the ring as its windows reach
        self.outer, self.inner = number_pixels(self.around), number_pixels(region)
        self._edge = region & _grown(
            self.around & ~region, REACH
        )  # what is coupled with that beyond the ring
        self._inside, self._known = region[self.around], ~unknown[region]
        # of these alone, windows hold an unknown pixel
        self._near = np.where(_grown(np.pad(unknown, REACH), REACH), self.outer, -1)
        self._plan = Plan(self.inner)

    def solve(
        self, picture: NDArray[np.float32], values: NDArray[np.float32], weights: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Values of all pixels around, with these weights of the windows."""
        inside, known, weight = self._inside, self._known, self.config.weight_known
        stencils = matting_stencils(picture, self.outer, self.config.epsilon, weights)
        # beyond the ring the flow stays as it is, which moves its share of the equations to the right
        given = _of(values, self.around).astype(np.float64)
        found = np.where(inside[:, None], 0, given)
        right = -product(stencils, self.outer, self._edge, found)[inside]
        right[known] += weight * given[inside][known]
        stencils = stencils[inside]
        stencils[known, _CENTRE] += weight
        # a pixel in no window (pictures below 3x3, corners of a region) would have an empty row
        stencils[:, _CENTRE] += 1e-12
        found[inside] = solve(stencils, self.inner, right, self.config.direct_limit, self._plan)
        return found

    def relax(
        self, picture: NDArray[np.float32], found: NDArray[np.float64], weights: NDArray[np.float32]
    ) -> None:
        """Bring values closer to the solution with these weights, in place; the ring stays as it is."""
        stencils = matting_stencils(picture, self._near, self.config.epsilon, weights)
        relax(stencils, self._near, self.unknown, found)

    def weigh(self, picture: NDArray[np.float32], found: NDArray[np.float64]) -> NDArray[np.float32]:
        """Weights (H, W) of the windows: small where the flow that was found is no function of colour."""
        _, misfits = window_models(picture, self.outer, self.config.epsilon, found)
        return np.asarray(np.maximum(1 / (1 + misfits / np.float32(self.config.misfit**2)), _LEAST))


def complete_by_diffusion(
    values: NDArray[np.float32], unknown: NDArray[np.bool_], config: FillConfig
) -> NDArray[np.float32]:
    """Solve Laplace's equation on the unknown pixels, whatever the picture shows: the baseline.

    Arrays are those of `complete_by_colour`; every unknown pixel becomes the mean of its four neighbours.
    """
    numbers = number_pixels(unknown)
    stencils = np.zeros((np.count_nonzero(unknown), SIDE * SIDE))
    right = np.zeros((stencils.shape[0], values.shape[2]))
    ys, xs = np.nonzero(unknown)
    height, width = unknown.shape
    for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        y, x = ys + dy, xs + dx
        inside = np.flatnonzero((y >= 0) & (y < height) & (x >= 0) & (x < width))
        stencils[inside, _CENTRE] += 1
        beside = unknown[y[inside], x[inside]]
        stencils[inside[beside], (dy + REACH) * SIDE + dx + REACH] = -1
        edge = inside[~beside]
        right[edge] += values[y[edge], x[edge]]
    return solve(stencils, numbers, right, config.direct_limit).astype(np.float32)


def _of(field: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(N, C): a field (H, W, C) in a mask; faster than by the mask as an index."""
    return field.reshape(-1, field.shape[2]).take(np.flatnonzero(mask), axis=0)


def _grown(mask: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    kernel = np.ones((2 * by + 1, 2 * by + 1), np.uint8)
    return np.asarray(cv2.dilate(mask.astype(np.uint8), kernel), np.bool_)
