"""Smoothness of the three flows (paper, appendix): total variation, weighted by edges, about a slope.

Differences are to the right and lower neighbour. At every pixel each flow u pays
beta Psi(g_x |dx u - s_x|^2 + g_y |dy u - s_y|^2), where g falls at edges of the picture and s, for the stereo
flow alone, is the slope that it may have for free; with g = 1 and s = 0 this is the paper's.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from wideflow.compiled import njit

FLOWS = 3
STEREO = 1  # index of u2 among u1, u2, u3, the one that may have a slope for free


def smoothness(
    flows: NDArray[np.float32],
    slopes: NDArray[np.float32],
    conductance: NDArray[np.float32],
    betas: NDArray[np.float32],
    epsilon: float,
    edges: NDArray[np.float32],
) -> float:
    """Energy of the smoothness term, and the weight of every edge between pixels in its quadratic majoriser.

    Parameters
    ----------
    flows : (H, W, 6) float32
        u1, u2, u3 in pixels.
    slopes : (H, W, 4) float32
        Free differences of u2, (x, y) to the right, then (x, y) downwards.
    conductance : (H, W, 2) float32
        g of the edges to the right and downwards, 0..1.
    betas : (3,) float32
        Weights of the three flows.
    epsilon : float
        Of the penaliser, px.
    edges : (H, W, 6) float32
        Filled: weights of u1, u2, u3 on the edge to the right, then downwards; 0 at the border.
    """
    energy = np.empty(flows.shape[0])
    _smoothness(flows, slopes, conductance, betas, np.float32(epsilon), edges, energy)
    return float(energy.sum())


@njit(parallel=True, error_model="numpy")
def _smoothness(flows, slopes, conductance, betas, epsilon, edges, energy):
    rows, columns = flows.shape[:2]
    for y in prange(rows):
        total = 0.0
        for x in range(columns):
            right = conductance[y, x, 0] if x + 1 < columns else np.float32(0)
            below = conductance[y, x, 1] if y + 1 < rows else np.float32(0)
            xn, yn = min(x + 1, columns - 1), min(y + 1, rows - 1)
            for i in range(FLOWS):
                squared = epsilon * epsilon
                for k in range(2 * i, 2 * i + 2):
                    here = flows[y, x, k]
                    dx, dy = flows[y, xn, k] - here, flows[yn, x, k] - here
                    if i == STEREO:
                        dx -= slopes[y, x, k - 2 * STEREO]
                        dy -= slopes[y, x, k - 2 * STEREO + 2]
                    squared += right * dx * dx + below * dy * dy
                size = np.sqrt(squared)
                total += betas[i] * size
                weight = np.float32(0.5) * betas[i] / size
                edges[y, x, i] = weight * right
                edges[y, x, i + 3] = weight * below
        energy[y] = total


def conductance(picture: NDArray[np.float32], contrast: float) -> NDArray[np.float32]:
    """How freely flow spreads between neighbours, (H, W, 2): low where the picture has an edge.

    exp(-|difference of colour| / contrast), the colours 0..1; a contrast of 0 means everywhere 1.
    """
    out = np.ones((*picture.shape[:2], 2), np.float32)
    if contrast > 0:
        across = np.linalg.norm(np.diff(picture, axis=1), axis=2)
        down = np.linalg.norm(np.diff(picture, axis=0), axis=2)
        out[:, :-1, 0] = np.exp(-across / contrast)
        out[:-1, :, 1] = np.exp(-down / contrast)
    return out
