"""The slope that the stereo flow may have for free: a second order of the smoothness term.

Total variation charges a slanted surface for being slanted, and a wide baseline makes every surface slanted.
Here the stereo flow pays for leaving its slope s, and the slope pays for changing:
beta_2 lambda Psi(|grad s|^2), as in total generalised variation (Bredies, Kunisch, Pock 2010). Flows and
slopes are minimised in turn.
"""

from __future__ import annotations

import cv2
import numpy as np
from numba import prange
from numpy.typing import NDArray

from wideflow.compiled import njit

SLOPES = 4  # differences of the two components to the right, then downwards
_STEEPEST = 1.0  # px per px; more is an edge, not a slope
_REACH = 3.0  # px over which the first slopes are averaged


def first_slopes(stereo: NDArray[np.float32]) -> NDArray[np.float32]:
    """Averaged differences (H, W, 4) of a flow (H, W, 2), its jumps left out."""
    out = np.zeros((*stereo.shape[:2], SLOPES), np.float32)
    out[:, :-1, :2] = np.diff(stereo, axis=1)
    out[:-1, :, 2:] = np.diff(stereo, axis=0)
    smooth = (np.abs(out) < _STEEPEST).astype(np.float32)
    share = cv2.GaussianBlur(smooth, (0, 0), _REACH)
    return cv2.GaussianBlur(out * smooth, (0, 0), _REACH) / np.maximum(share, np.float32(1e-3))


def slope_energy(
    slopes: NDArray[np.float32],
    conductance: NDArray[np.float32],
    weight: float,
    epsilon: float,
    bonds: NDArray[np.float32],
) -> float:
    """Energy of the slopes' changes, and the weights of its quadratic majoriser.

    Parameters
    ----------
    slopes : (H, W, 4) float32
        px per px.
    conductance : (H, W, 2) float32
        As in `smoothness.smoothness`.
    weight : float
        beta_2 lambda.
    epsilon : float
        Of the penaliser.
    bonds : (H, W, 2) float32
        Filled: weights of the edges to the right and downwards.
    """
    energy = np.empty(slopes.shape[0])
    _slope_energy(slopes, conductance, np.float32(weight), np.float32(epsilon), bonds, energy)
    return float(energy.sum())


@njit(parallel=True, error_model="numpy")
def _slope_energy(slopes, conductance, weight, epsilon, bonds, energy):
    rows, columns = slopes.shape[:2]
    for y in prange(rows):
        total = 0.0
        for x in range(columns):
            right = conductance[y, x, 0] if x + 1 < columns else np.float32(0)
            below = conductance[y, x, 1] if y + 1 < rows else np.float32(0)
            xn, yn = min(x + 1, columns - 1), min(y + 1, rows - 1)
            squared = epsilon * epsilon
            for k in range(SLOPES):
                here = slopes[y, x, k]
                dx, dy = slopes[y, xn, k] - here, slopes[yn, x, k] - here
                squared += right * dx * dx + below * dy * dy
            size = np.sqrt(squared)
            total += weight * size
            bonds[y, x, 0] = np.float32(0.5) * weight * right / size
            bonds[y, x, 1] = np.float32(0.5) * weight * below / size
        energy[y] = total


def relax_slopes(
    stereo: NDArray[np.float32],
    edges: NDArray[np.float32],
    bonds: NDArray[np.float32],
    slopes: NDArray[np.float32],
    sweeps: int,
) -> None:
    """Lower the quadratic model of the smoothness over the slopes (in place), the flow held fixed.

    Parameters
    ----------
    stereo : (H, W, 2) float32
        The flow in pixels.
    edges, bonds : (H, W, 2) float32
        Weights, to the right and downwards, of the flow's differences and of the slopes' differences.
    slopes : (H, W, 4) float32
        Changed in place.
    sweeps : int
        Gauss-Seidel sweeps.
    """
    for _ in range(sweeps):
        for parity in range(2):
            _relax_slopes(stereo, edges, bonds, slopes, parity)


@njit(parallel=True, error_model="numpy")
def _relax_slopes(stereo, edges, bonds, slopes, parity):
    rows, columns = stereo.shape[:2]
    for row in prange(rows):
        y = np.int64(row)
        up, down = max(y - 1, 0), min(y + 1, rows - 1)
        for x in range((y + parity) % 2, columns, 2):
            before, after = max(x - 1, 0), min(x + 1, columns - 1)
            # the weight of the edge to a missing neighbour is zero
            right, below = bonds[y, x, 0], bonds[y, x, 1]
            left = bonds[y, before, 0] if x > 0 else np.float32(0)
            above = bonds[up, x, 1] if y > 0 else np.float32(0)
            total = right + left + below + above + np.float32(1e-9)
            for k in range(SLOPES):
                component, axis = k % 2, k // 2
                neighbour = stereo[y, after, component] if axis == 0 else stereo[down, x, component]
                edge = edges[y, x, axis]
                pull = right * slopes[y, after, k] + left * slopes[y, before, k]
                pull += below * slopes[down, x, k] + above * slopes[up, x, k]
                pull += edge * (neighbour - stereo[y, x, component])
                slopes[y, x, k] = pull / (total + edge)
