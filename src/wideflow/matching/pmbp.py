"""PatchMatch belief propagation over K particles per pixel (paper, equations 5 and 6; Besse et al.).

The picture is a checkerboard: all pixels of one parity of x + y are updated in parallel and read only pixels
of the other, and chance comes from a counter of the pixel. So the result is the same, bit for bit, for any
number of threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wideflow.compiled import kernel, njit, over_rows
from wideflow.matching.cost import IMPOSSIBLE, unary
from wideflow.types import Array

# all offsets have odd length: they lead to pixels of the other parity; j ^ 1 is the opposite one
_NEAR = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]], np.int64)
_FAR = np.array([[-5, 0], [5, 0], [0, -5], [0, 5], [-2, -1], [2, 1], [1, -2], [-1, 2]], np.int64)
_SAME = np.float32(0.0625)  # particles nearer than a quarter pixel are one (square pixels)


@njit(inline="always")
def _uniform(state):
    """Next state of the pixel's generator and a number in -1..1."""
    state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    mixed = (state ^ (state >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    return state, np.float32(np.int32(mixed >> np.uint64(40))) * np.float32(2.0 / 16777216.0) - np.float32(1)


@njit(inline="always")
def _message(heard, j, u, v, w_p, tau):
    """What neighbour j says of the label (u, v): from 0, it agrees, to tau (equation 6)."""
    best = tau
    for k in range(heard.shape[1]):
        du, dv = u - heard[j, k, 0], v - heard[j, k, 1]
        m = heard[j, k, 2] + w_p * (du * du + dv * dv)
        if m < best:
            best = m
    return best


@njit(inline="always")
def _listen(flow, belief, messages, x, y, heard):
    """Collect the neighbours' particles (u, v) and their beliefs without what this pixel told them."""
    rows, columns, K = belief.shape
    for j in range(4):
        sx, sy = x + _NEAR[j, 0], y + _NEAR[j, 1]
        inside = sx >= 0 and sy >= 0 and sx < columns and sy < rows
        low = IMPOSSIBLE
        for k in range(K):
            if inside:
                heard[j, k, 0], heard[j, k, 1] = flow[sy, sx, k, 0], flow[sy, sx, k, 1]
                heard[j, k, 2] = belief[sy, sx, k] - messages[sy, sx, k, j ^ 1]
            else:
                heard[j, k, 0], heard[j, k, 1], heard[j, k, 2] = np.nan, np.nan, 0
            low = min(low, heard[j, k, 2])
        for k in range(K):
            heard[j, k, 2] -= low


@njit(inline="always")
def _line(F, x, y):
    """The epipolar line of a pixel, its normal of unit length."""
    x, y = np.float32(x), np.float32(y)
    a = F[0, 0] * x + F[0, 1] * y + F[0, 2]
    b = F[1, 0] * x + F[1, 1] * y + F[1, 2]
    c = F[2, 0] * x + F[2, 1] * y + F[2, 2]
    s = np.float32(1) / math.sqrt(a * a + b * b + np.float32(1e-30))
    return a * s, b * s, c * s


@njit(inline="always")
def _step(line, x, y, u, v, r1, r2, radius, on_line):
    """A random step from (u, v): along the epipolar line where there is one, else anywhere."""
    if not on_line:
        return u + r1 * radius, v + r2 * radius
    a, b, c = line
    # onto the line, and up to a pixel beside it: calibration is never exact
    across = r2 - (a * (np.float32(x) + u) + b * (np.float32(y) + v) + c)
    return u - b * r1 * radius + a * across, v + a * r1 * radius + b * across


@njit(inline="always")
def _candidate(i, flow, heard, x, y, far):
    """Label i of those this pixel considers: its own, its neighbours' best, those of pixels farther away.

    Besse et al. pass all K labels of a neighbour on; the best alone is as accurate and much faster.
    """
    rows, columns, K = flow.shape[:3]
    if i < K:
        return flow[y, x, i, 0], flow[y, x, i, 1]
    i -= K
    if i < 4:
        return heard[i, 0, 0], heard[i, 0, 1]
    i -= 4
    if far < 8:  # half of them, the other half at the pixels beside
        i = 2 * i + (((x >> 1) + (y >> 1)) & 1)
    sx, sy = x + _FAR[i, 0], y + _FAR[i, 1]
    if sx < 0 or sy < 0 or sx >= columns or sy >= rows:
        return np.float32(np.nan), np.float32(np.nan)
    return flow[sy, sx, 0, 0], flow[sy, sx, 0, 1]


@njit(inline="always")
def _is_new(new, kept, u, v):
    for k in range(kept):
        du, dv = u - new[k, 0], v - new[k, 1]
        if du * du + dv * dv < _SAME:
            return False
    return True


@njit(inline="always")
def _insert(new, kept, candidate):
    """Keep the K labels of lowest disbelief, best first: u, v, cost, disbelief and four messages of each."""
    p = min(kept, new.shape[0] - 2)
    while p > 0 and new[p - 1, 3] > new[candidate, 3]:
        for i in range(8):
            new[p, i] = new[p - 1, i]
        p -= 1
    for i in range(8):
        new[p, i] = new[candidate, i]
    return min(kept + 1, new.shape[0] - 1)


def evaluate(
    source: Array,
    target: Array,
    colours: tuple[Array, Array],
    F: Array,
    flow: Array,
    costs: Array,
    weights: tuple[Any, ...],
) -> None:
    """Unary cost of every particle, after the weights or the pictures changed."""
    _evaluate(len(costs), source, target, colours, F, flow, costs, weights)


@over_rows()
def _evaluate(first, end, source, target, colours, F, flow, costs, weights):
    for y in range(first, end):
        _evaluate_row(source, target, colours[0], colours[1], F, flow, costs, weights, np.int64(y))


@kernel()
def _evaluate_row(source, target, colour, colours, F, flow, costs, weights, y):
    for x in range(costs.shape[1]):
        for k in range(costs.shape[2]):
            u, v = flow[y, x, k, 0], flow[y, x, k, 1]
            costs[y, x, k] = unary(source, target, colour, colours, F, x, y, u, v, weights, IMPOSSIBLE)


def sweep(
    source: Array,
    target: Array,
    colours: tuple[Array, Array],
    F: Array,
    flow: Array,
    costs: Array,
    belief: Array,
    messages: Array,
    settled: Array,
    parity: int,
    chance: tuple[np.uint64, np.float32, int],
    far: int,
    weights: tuple[Any, ...],
    smooth: tuple[np.float32, np.float32],
) -> None:
    """Update every pixel of one ``parity`` (x + y even or odd) of the checkerboard.

    Parameters
    ----------
    source, target, colours, F, weights
        As `cost.unary` takes them; ``colours`` is the pair.
    flow, costs, belief : (H, W, K, 2), (H, W, K), (H, W, K) float32
        Particles, best first, their unary cost and their disbelief (unary + messages). Changed in place.
    messages : (H, W, K, 4) float32
        Last message of each neighbour about each particle. Changed in place.
    settled : (H, W) bool
        Pixels that keep what they have.
    parity : int
        0 or 1: which half of the checkerboard.
    chance : (uint64, float32, int)
        Seed of this sweep, how far random steps go in pixels, how many a pixel tries; after one for each
        particle they go half as far, and so on.
    far : 0, 4 or 8
        Labels taken from a few pixels away too, which spreads a good one faster; 4: other ones at neighbours.
    smooth : (float32, float32)
        w_p and tau_p (equation 6); w_p = 0 makes this plain PatchMatch.
    """
    _sweep(
        len(costs), source, target, colours, F, flow, costs, belief, messages, settled, parity, chance, far,
        weights, smooth,
    )  # fmt: skip


@over_rows()
def _sweep(
    first, end, source, target, colours, F, flow, costs, belief, messages, settled, parity, chance, far,
    weights, smooth,
):  # fmt: skip
    K = costs.shape[2]
    for y in range(first, end):
        heard = np.zeros((4, K, 3), np.float32)
        labels = np.zeros((K + 1, 8), np.float32)
        _sweep_row(
            source, target, colours[0], colours[1], F, flow, costs, belief, messages, settled,
            np.int64(y), parity, chance, far, weights, smooth, heard, labels,
        )  # fmt: skip


@kernel()
def _sweep_row(
    source, target, colour, colours, F, flow, costs, belief, messages, settled,
    y, parity, chance, far, weights, smooth, heard, new,
):  # fmt: skip
    """The pixels of one parity in a row; ``heard`` (4, K, 3) and ``new`` (K + 1, 8) are room to work in."""
    seed, radius, tries = chance
    w_p, tau = smooth
    columns, K = costs.shape[1], costs.shape[2]
    on_line = weights[3] > 0
    given = K + 4 + far
    for x in range((y + parity) & 1, columns, 2):
        if settled[y, x]:
            continue
        _listen(flow, belief, messages, x, y, heard)
        state = np.uint64(seed) ^ (np.uint64(y * columns + x) * np.uint64(0x9E3779B97F4A7C15))
        kept, turn, reach = 0, 0, radius
        line = _line(F, x, y)
        # random steps start here as long as every label leads out of the picture
        new[0, 0], new[0, 1] = flow[y, x, 0, 0], flow[y, x, 0, 1]
        for i in range(given + tries):
            if i < given:
                u, v = _candidate(i, flow, heard, x, y, far)
                if math.isnan(u):
                    continue
            else:
                # each particle in turn, then each again at half the distance
                state, r1 = _uniform(state)
                state, r2 = _uniform(state)
                u, v = _step(line, x, y, new[turn, 0], new[turn, 1], r1, r2, reach, on_line)
                turn += 1
                if turn >= kept:
                    turn, reach = 0, np.float32(0.5) * reach
            if not _is_new(new, kept, u, v):
                continue
            worst = new[K - 1, 3] if kept == K else IMPOSSIBLE
            told = np.float32(0)
            if w_p > 0:
                for j in range(4):
                    new[K, 4 + j] = _message(heard, j, u, v, w_p, tau)
                    told += new[K, 4 + j]
                # most candidates stop here, before the expensive part
                if told >= worst:
                    continue
            if i < K:
                cost = costs[y, x, i]
            else:
                cost = unary(source, target, colour, colours, F, x, y, u, v, weights, worst - told)
            if cost + told < worst:
                new[K, 0], new[K, 1], new[K, 2], new[K, 3] = u, v, cost, cost + told
                kept = _insert(new, kept, K)
        for k in range(K):
            if k < kept:
                flow[y, x, k, 0], flow[y, x, k, 1] = new[k, 0], new[k, 1]
                costs[y, x, k], belief[y, x, k] = new[k, 2], new[k, 3]
                for j in range(4):
                    messages[y, x, k, j] = new[k, 4 + j]
            else:
                costs[y, x, k], belief[y, x, k] = IMPOSSIBLE, IMPOSSIBLE
                for j in range(4):
                    messages[y, x, k, j] = 0
