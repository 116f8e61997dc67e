"""The slope that the stereo flow may have for free: a second order of the smoothness term.

Total variation charges a slanted surface for being slanted, and a wide baseline makes every surface slanted.
Here the stereo flow pays for leaving its slope s, and the slope pays for changing:
beta_2 lambda Psi(|grad s|^2), as in total generalised variation (Bredies, Kunisch, Pock 2010). Flows and
slopes are minimised in turn.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, over_rows
from wideflow.refine.bands import in_bands
from wideflow.refine.lanes import LANES, Laned, aligned, fill_row_margins, room
from wideflow.refine.smoothness import BELOW, STEREO

SLOPES = 4  # differences of the two components to the right, then downwards
_PULLS = 10  # numbers of a pixel while slopes relax
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
    slopes: Laned, conductance: Laned, weight: float, epsilon: float, width: int, bonds: Laned
) -> float:
    """Energy of the slopes' changes, and the weights of its quadratic majoriser.

    All fields in the layout of `lanes`, with their margins.

    Parameters
    ----------
    slopes : 4 numbers
        px per px.
    conductance : 2 numbers
        As in `smoothness.smoothness`.
    weight : float
        beta_2 lambda.
    epsilon : float
        Of the penaliser.
    width : int
        Of the picture.
    bonds : 2 numbers
        Filled: weights of the edges to the right and downwards.
    """
    energy = np.empty(slopes.shape[0] - 2)
    _slope_energy(
        len(energy), slopes, conductance, np.float32(weight), np.float32(epsilon), width, bonds, energy
    )
    return float(energy.sum())


@over_rows()
def _slope_energy(first, end, slopes, conductance, weight, epsilon, width, bonds, energy):
    for y in range(first + 1, end + 1):
        total = np.zeros(LANES)
        _pay(slopes[y], slopes[y + 1], conductance[y], weight, epsilon, width, bonds[y], total)
        energy[y - 1] = 0
        for n in range(LANES):
            energy[y - 1] += total[n]


@kernel()
def _pay(slopes, below, g, weight, epsilon, width, bonds, total):
    """A row: its bonds are filled, its energy is added."""
    strip = slopes.shape[0] - 2
    for i in range(1, strip + 1):
        for n in range(LANES):
            inside = np.float32(1) if n * strip + i <= width else np.float32(0)
            across = down = np.float32(0)
            for k in range(0, SLOPES * LANES, LANES):
                dx, dy = slopes[i + 1, k + n] - slopes[i, k + n], below[i, k + n] - slopes[i, k + n]
                across += dx * dx
                down += dy * dy
            size = np.sqrt(epsilon * epsilon + g[i, n] * across + g[i, LANES + n] * down)
            total[n] += inside * weight * size
            half = np.float32(0.5) * weight / size
            bonds[i, n], bonds[i, LANES + n] = half * g[i, n], half * g[i, LANES + n]


def relax_slopes(flows: Laned, edges: Laned, bonds: Laned, slopes: Laned, sweeps: int) -> None:
    """Lower the quadratic model of the smoothness over the slopes (in place), the flow held fixed.

    All fields in the layout of `lanes`, with their margins.

    Parameters
    ----------
    flows, edges : 6 numbers
        u1, u2, u3 in pixels, and the weights of their differences as `smoothness.smoothness` fills them.
    bonds : 2 numbers
        Weights, to the right and downwards, of the slopes' differences.
    slopes : 4 numbers
        Changed in place.
    sweeps : int
        Gauss-Seidel sweeps.
    """
    pulls = aligned((*slopes.shape[:2], _PULLS * LANES))
    _prepare(len(flows) - 2, flows, edges, bonds, pulls)
    for order in in_bands(slopes.shape[0] - 2, 0, 2 * sweeps):
        _relax(len(order[1]) - 1, pulls, slopes, *order)


@over_rows()
def _prepare(first, end, flows, edges, bonds, pulls):
    for y in range(first + 1, end + 1):
        _prepare_row(bonds[y - 1], bonds[y], edges[y], flows[y], flows[y + 1], pulls[y])


@kernel()
def _prepare_row(bonds_above, bonds, edges, u, below, pulls):
    """Of every pixel: weights of its neighbours, the inverses of their sums with the flow's, its pulls."""
    x, y = 2 * STEREO * LANES, (2 * STEREO + 1) * LANES
    for i in range(1, u.shape[0] - 1):
        for n in range(LANES):
            # the weight of the edge to a missing neighbour is zero
            right, left, down, up = (
                bonds[i, n],
                bonds[i - 1, n],
                bonds[i, LANES + n],
                bonds_above[i, LANES + n],
            )
            total = right + left + down + up + np.float32(1e-9)
            across, along = edges[i, STEREO * LANES + n], edges[i, BELOW + STEREO * LANES + n]
            pulls[i, n], pulls[i, LANES + n] = right, left
            pulls[i, 2 * LANES + n], pulls[i, 3 * LANES + n] = down, up
            pulls[i, 4 * LANES + n], pulls[i, 5 * LANES + n] = 1 / (total + across), 1 / (total + along)
            pulls[i, 6 * LANES + n] = across * (u[i + 1, x + n] - u[i, x + n])
            pulls[i, 7 * LANES + n] = across * (u[i + 1, y + n] - u[i, y + n])
            pulls[i, 8 * LANES + n] = along * (below[i, x + n] - u[i, x + n])
            pulls[i, 9 * LANES + n] = along * (below[i, y + n] - u[i, y + n])


@over_rows()
def _relax(first, end, pulls, slopes, order, starts):
    """Turns of the red or the black pixels of rows, in the order of `bands`."""
    target = room(SLOPES)
    for band in range(first, end):
        for turn in range(starts[band], starts[band + 1]):
            y, start = order[turn, 0] + 1, 1 + (order[turn, 0] + order[turn, 1]) % 2
            fill_row_margins(slopes[y])
            _relax_row(pulls[y], slopes[y - 1], slopes[y], slopes[y + 1], start, target)


@kernel()
def _relax_row(pulls, above, slopes, below, first, target):
    """The pixels of one colour in a row; ``target`` (4 numbers) is room to work in."""
    for i in range(first, slopes.shape[0] - 1, 2):
        for n in range(LANES):
            right, left = pulls[i, n], pulls[i, LANES + n]
            down, up = pulls[i, 2 * LANES + n], pulls[i, 3 * LANES + n]
            for k in range(SLOPES):
                s = k * LANES + n
                pull = (
                    right * slopes[i + 1, s] + left * slopes[i - 1, s] + down * below[i, s] + up * above[i, s]
                )
                target[s] = pulls[i, (4 + k // 2) * LANES + n] * (pull + pulls[i, (6 + k) * LANES + n])
        # apart from the loop above, of which compilers could not tell that it reads no pixel that it writes
        for n in range(SLOPES * LANES):
            slopes[i, n] = target[n]
