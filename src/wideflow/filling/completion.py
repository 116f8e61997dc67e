"""Complete a flow field: from the picture's colours (equations 7 to 10), or by diffusion."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import FillConfig
from wideflow.filling.cholesky import solve
from wideflow.filling.laplacian import REACH, SIDE, matting_stencils, number_pixels, product, window_misfits

_CENTRE = SIDE * SIDE // 2
_LEAST = np.float32(1e-4)  # weight of a window, so that no pixel is on its own


def complete_by_colour(
    picture: NDArray[np.float32],
    values: NDArray[np.float32],
    unknown: NDArray[np.bool_],
    config: FillConfig,
) -> NDArray[np.float32]:
    """Solve (L + lambda D_C) U = lambda U_C on the unknown pixels and a ring around them (equation 10).

    Parameters
    ----------
    picture : (H, W, 3) float32
        Colours in 0..1.
    values : (H, W, C) float32
        What is to be completed; finite where known.
    unknown : (H, W) bool
        Pixels to find; at least one must be known.
    config : FillConfig
        Its epsilon, weight, ring and limit of the direct solver.

    Returns
    -------
    (H, W, C) float32
        The given values where they are known.
    """
    weights = _window_weights(picture, values[..., :2], unknown, config)
    found = _solve_once(picture, values, unknown, weights, config)
    completed = values.copy()
    completed[unknown] = found[unknown[_grown(unknown, config.ring + REACH)]]
    return completed


def _window_weights(
    picture: NDArray[np.float32], values: NDArray[np.float32], unknown: NDArray[np.bool_], config: FillConfig
) -> NDArray[np.float32]:
    """Weights (H, W) of the windows: small where flow is no function of colour.

    Solutions at half the size tell where that is, at a fifth of the cost.
    """
    height, width = unknown.shape
    if config.reweighted == 0 or min(height, width) < 6:
        return np.ones((height, width), np.float32)
    size = (-(-width // 2), -(-height // 2))
    known = (~unknown).astype(np.float32)
    share = cv2.resize(known, size, interpolation=cv2.INTER_AREA)
    total = cv2.resize(values * known[..., None], size, interpolation=cv2.INTER_AREA)
    small, hidden = cv2.resize(picture, size, interpolation=cv2.INTER_AREA), share == 0
    mean = np.where(hidden[..., None], 0, total / np.maximum(share, 1e-9)[..., None]).astype(np.float32)
    weights = np.ones(hidden.shape, np.float32)
    if hidden.any():
        outer = number_pixels(_grown(hidden, config.ring + REACH))
        misfit = np.float32(config.misfit**2)
        for _ in range(config.reweighted):
            found = _solve_once(small, mean, hidden, weights, config)
            misfits = window_misfits(small, outer, config.epsilon, found)
            weights = np.maximum(1 / (1 + misfits / misfit), _LEAST)
    return cv2.resize(weights, (width, height), interpolation=cv2.INTER_NEAREST)


def _solve_once(
    picture: NDArray[np.float32],
    values: NDArray[np.float32],
    unknown: NDArray[np.bool_],
    weights: NDArray[np.float32],
    config: FillConfig,
) -> NDArray[np.float64]:
    """Values of the unknown pixels, the ring, and as far beyond it as the ring's windows reach."""
    region, around = _grown(unknown, config.ring), _grown(unknown, config.ring + REACH)
    known, inside = ~unknown[region], region[around]
    outer = number_pixels(around)
    stencils = matting_stencils(picture, outer, config.epsilon, weights)
    # beyond the ring the flow stays as it is, which moves its share of the equations to the right
    found = np.where(inside[:, None], 0, values[around].astype(np.float64))
    right = -product(stencils, outer, found)[inside]
    right[known] += config.weight_known * values[region][known]
    stencils = stencils[inside]
    stencils[known, _CENTRE] += config.weight_known
    # a pixel in no window (pictures below 3x3, corners of a region) would have an empty row
    stencils[:, _CENTRE] += 1e-12
    found[inside] = solve(stencils, number_pixels(region), right, config.direct_limit)
    return found


def complete_by_diffusion(
    values: NDArray[np.float32], unknown: NDArray[np.bool_], config: FillConfig
) -> NDArray[np.float32]:
    """Solve Laplace's equation on the unknown pixels, whatever the picture shows: the baseline.

    The arrays are those of `complete_by_colour`; every unknown pixel becomes the mean of its four neighbours.
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
    completed = values.copy()
    completed[unknown] = solve(stencils, numbers, right, config.direct_limit)
    return completed


def _grown(mask: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    kernel = np.ones((2 * by + 1, 2 * by + 1), np.uint8)
    return np.asarray(cv2.dilate(mask.astype(np.uint8), kernel), np.bool_)
