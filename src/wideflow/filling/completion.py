"""Complete a flow field: from the picture's colours (equations 7 to 10), or by diffusion."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import FillConfig
from wideflow.filling.laplacian import REACH, SIDE, matting_stencils, number_pixels
from wideflow.filling.system import product, solve

_CENTRE = SIDE * SIDE // 2


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
    region, around = _grown(unknown, config.ring), _grown(unknown, config.ring + REACH)
    known, inside = ~unknown[region], region[around]
    outer = number_pixels(around)
    stencils = matting_stencils(picture, outer, config.epsilon)
    # beyond the ring the flow stays as it is, which moves its share of the equations to the right
    fixed = np.where(inside[:, None], 0, values[around].astype(np.float64))
    right = -product(stencils, outer, fixed)[inside]
    right[known] += config.weight_known * values[region][known]
    stencils, numbers = stencils[inside], number_pixels(region)
    stencils[known, _CENTRE] += config.weight_known
    start = np.zeros_like(right)
    if right.shape[0] > config.direct_limit:
        start = _from_half_size(picture, values, unknown, config)[region].astype(np.float64)
    # a pixel in no window (pictures below 3x3, corners of a region) would have an empty row
    stencils[:, _CENTRE] += 1e-12
    completed = values.copy()
    completed[unknown] = solve(stencils, numbers, right, start, config.direct_limit)[~known]
    return completed


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
    start = np.zeros_like(right)
    completed = values.copy()
    completed[unknown] = solve(stencils, numbers, right, start, config.direct_limit)
    return completed


def _grown(mask: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    kernel = np.ones((2 * by + 1, 2 * by + 1), np.uint8)
    return np.asarray(cv2.dilate(mask.astype(np.uint8), kernel), np.bool_)


def _from_half_size(
    picture: NDArray[np.float32], values: NDArray[np.float32], unknown: NDArray[np.bool_], config: FillConfig
) -> NDArray[np.float32]:
    """The completion of the picture at half its size, to start from; known values as they are."""
    height, width = unknown.shape
    half = (max(width // 2, 3), max(height // 2, 3))
    weight = cv2.resize((~unknown).astype(np.float32), half, interpolation=cv2.INTER_AREA)
    sums = cv2.resize(np.where(unknown[..., None], 0, values), half, interpolation=cv2.INTER_AREA)
    sums = sums.reshape(half[1], half[0], -1)
    small = sums / np.maximum(weight, 1e-6)[..., None]
    small_picture = cv2.resize(picture, half, interpolation=cv2.INTER_AREA)
    filled = complete_by_colour(small_picture, small, weight < 0.25, config)
    large = cv2.resize(filled, (width, height), interpolation=cv2.INTER_LINEAR).reshape(values.shape)
    return np.where(unknown[..., None], large, values)
