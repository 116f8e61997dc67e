"""Smoothness of the three flows (paper, appendix): total variation, weighted by edges, about a slope.

Differences are to the right and lower neighbour. At every pixel each flow u pays
beta Psi(g_x |dx u - s_x|^2 + g_y |dy u - s_y|^2), where g falls at edges of the picture and s, for the stereo
flow alone, is the slope that it may have for free; with g = 1 and s = 0 this is the paper's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, over_rows
from wideflow.refine.lanes import LANES, Laned

FLOWS = 3
STEREO = 1  # index of u2 among u1, u2, u3, the one that may have a slope for free
BELOW = FLOWS * LANES  # from the weight of an edge to the right to that of the one downwards
_NEXT = 2 * LANES  # from the differences to the right to those downwards


def smoothness(
    flows: Laned,
    slopes: Laned,
    conductance: Laned,
    betas: NDArray[np.float32],
    epsilon: float,
    width: int,
    edges: Laned,
) -> float:
    """Energy of the smoothness term, and the weight of every edge between pixels in its quadratic majoriser.

    All fields in the layout of `lanes`, with their margins.

    Parameters
    ----------
    flows : 6 numbers
        u1, u2, u3 in pixels.
    slopes : 4 numbers
        Free differences of u2, (x, y) to the right, then (x, y) downwards.
    conductance : 2 numbers
        g of the edges to the right and downwards, 0..1; 0 at the border.
    betas : (3,) float32
        Weights of the three flows.
    epsilon : float
        Of the penaliser, px.
    width : int
        Of the picture.
    edges : 6 numbers
        Filled: weights of u1, u2, u3 on the edge to the right, then downwards.
    """
    energy = np.empty(flows.shape[0] - 2)
    _smoothness(len(energy), flows, slopes, conductance, betas, np.float32(epsilon), width, edges, energy)
    return float(energy.sum())


@over_rows()
def _smoothness(first, end, flows, slopes, conductance, betas, epsilon, width, edges, energy):
    weights = betas[0], betas[1], betas[2]
    for y in range(first + 1, end + 1):
        total = np.zeros(LANES)
        _pay(flows[y], flows[y + 1], slopes[y], conductance[y], weights, epsilon, width, edges[y], total)
        energy[y - 1] = 0
        for n in range(LANES):
            energy[y - 1] += total[n]


@kernel()
def _pay(u, below, slopes, g, betas, epsilon, width, edges, total):
    """A row: its edges are filled, its energy is added."""
    strip = u.shape[0] - 2
    for i in range(1, strip + 1):
        for n in range(LANES):
            inside = np.float32(1) if n * strip + i <= width else np.float32(0)
            for f in range(FLOWS):
                x, y = 2 * f * LANES + n, (2 * f + 1) * LANES + n
                right_x, right_y = u[i + 1, x] - u[i, x], u[i + 1, y] - u[i, y]
                below_x, below_y = below[i, x] - u[i, x], below[i, y] - u[i, y]
                if f == STEREO:
                    right_x, right_y = right_x - slopes[i, n], right_y - slopes[i, LANES + n]
                    below_x, below_y = below_x - slopes[i, _NEXT + n], below_y - slopes[i, _NEXT + LANES + n]
                across = g[i, n] * (right_x * right_x + right_y * right_y)
                down = g[i, LANES + n] * (below_x * below_x + below_y * below_y)
                size = np.sqrt(epsilon * epsilon + across + down)
                total[n] += inside * betas[f] * size
                weight = np.float32(0.5) * betas[f] / size
                edges[i, f * LANES + n] = weight * g[i, n]
                edges[i, BELOW + f * LANES + n] = weight * g[i, LANES + n]


def conductance(picture: NDArray[np.float32], contrast: float) -> NDArray[np.float32]:
    """How freely flow spreads to the right and lower neighbour, (H, W, 2): low where the picture has an edge.

    exp(-|difference of colour| / contrast), the colours 0..1; a contrast of 0 means everywhere 1. 0 at the
    border, where there is no neighbour.
    """
    out = np.zeros((*picture.shape[:2], 2), np.float32)
    out[:, :-1, 0] = out[:-1, :, 1] = 1
    if contrast > 0:
        across, down = np.diff(picture, axis=1), np.diff(picture, axis=0)
        out[:, :-1, 0] = np.exp(np.sqrt(np.einsum("yxc,yxc->yx", across, across)) / np.float32(-contrast))
        out[:-1, :, 1] = np.exp(np.sqrt(np.einsum("yxc,yxc->yx", down, down)) / np.float32(-contrast))
    return out
