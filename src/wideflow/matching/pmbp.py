"""PatchMatch belief propagation over K particles per pixel (paper, equations 5 and 6; Besse et al.).

The picture is a checkerboard: all pixels of one parity of x + y are updated in parallel and read only pixels
of the other, and chance comes from a counter of the pixel. So the result is the same, bit for bit, for any
number of threads.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from wideflow.compiled import njit
from wideflow.matching.cost import IMPOSSIBLE, unary

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
    return state, np.float32(np.int64(mixed >> np.uint64(40)) * (2.0 / 16777216.0) - 1.0)


@njit(inline="always")
def _message(base, theirs, j, u, v, w_p, tau):
    """What neighbour j says of the label (u, v): from 0, it agrees, to tau (equation 6)."""
    best = tau
    for k in range(base.shape[1]):
        du, dv = u - theirs[j, k, 0], v - theirs[j, k, 1]
        m = base[j, k] + w_p * (du * du + dv * dv)
        if m < best:
            best = m
    return best


@njit(inline="always")
def _listen(flow, belief, messages, x, y, base, theirs):
    """Collect the neighbours' particles and their beliefs without what this pixel told them."""
    rows, columns, K = belief.shape
    for j in range(4):
        sx, sy = x + _NEAR[j, 0], y + _NEAR[j, 1]
        inside = sx >= 0 and sy >= 0 and sx < columns and sy < rows
        low = IMPOSSIBLE
        for k in range(K):
            if inside:
                base[j, k] = belief[sy, sx, k] - messages[sy, sx, k, j ^ 1]
                theirs[j, k, 0], theirs[j, k, 1] = flow[sy, sx, k, 0], flow[sy, sx, k, 1]
            else:
                base[j, k] = 0
                theirs[j, k, 0], theirs[j, k, 1] = np.nan, np.nan
            low = min(low, base[j, k])
        for k in range(K):
            base[j, k] -= low


@njit(inline="always")
def _step(F, x, y, u, v, r1, r2, radius, on_line):
    """A random step from (u, v): along the epipolar line where there is one, else anywhere."""
    if not on_line:
        return u + r1 * radius, v + r2 * radius
    a = F[0, 0] * x + F[0, 1] * y + F[0, 2]
    b = F[1, 0] * x + F[1, 1] * y + F[1, 2]
    c = F[2, 0] * x + F[2, 1] * y + F[2, 2]
    s = 1 / math.sqrt(a * a + b * b + 1e-30)
    a, b, c = a * s, b * s, c * s
    # onto the line, and up to a pixel beside it: calibration is never exact
    across = r2 - (a * (x + u) + b * (y + v) + c)
    return np.float32(u - b * r1 * radius + a * across), np.float32(v + a * r1 * radius + b * across)


@njit(inline="always")
def _candidate(i, flow, theirs, x, y):
    """Label i of those this pixel considers: its own, its neighbours' best, those of pixels farther away.

    Besse et al. pass all K labels of a neighbour on; the best alone is as accurate and much faster.
    """
    rows, columns, K = flow.shape[:3]
    if i < K:
        return flow[y, x, i, 0], flow[y, x, i, 1]
    i -= K
    if i < 4:
        return theirs[i, 0, 0], theirs[i, 0, 1]
    i -= 4
    sx, sy = x + _FAR[i, 0], y + _FAR[i, 1]
    if sx < 0 or sy < 0 or sx >= columns or sy >= rows:
        return np.float32(np.nan), np.float32(np.nan)
    return flow[sy, sx, 0, 0], flow[sy, sx, 0, 1]


@njit(inline="always")
def _is_new(new_flow, kept, u, v):
    for k in range(kept):
        du, dv = u - new_flow[k, 0], v - new_flow[k, 1]
        if du * du + dv * dv < _SAME:
            return False
    return True


@njit(inline="always")
def _insert(new_flow, new_unary, new_belief, kept, u, v, cost, belief):
    """Keep the K labels of lowest disbelief, best first."""
    K = new_belief.shape[0]
    p = min(kept, K - 1)
    while p > 0 and new_belief[p - 1] > belief:
        new_belief[p], new_unary[p] = new_belief[p - 1], new_unary[p - 1]
        new_flow[p, 0], new_flow[p, 1] = new_flow[p - 1, 0], new_flow[p - 1, 1]
        p -= 1
    new_belief[p], new_unary[p] = belief, cost
    new_flow[p, 0], new_flow[p, 1] = u, v
    return min(kept + 1, K)


@njit(parallel=True)
def evaluate(source, target, colours, F, flow, costs, weights):
    """Unary cost of every particle, after the weights or the pictures changed."""
    rows, columns, K = costs.shape
    for y in prange(rows):
        for x in range(columns):
            for k in range(K):
                u, v = flow[y, x, k, 0], flow[y, x, k, 1]
                costs[y, x, k] = unary(source, target, colours[0], colours[1], F, x, y, u, v, weights)


@njit(parallel=True)
def sweep(source, target, colours, F, flow, costs, belief, messages, parity, chance, far, weights, smooth):
    """Update every pixel of one ``parity`` (x + y even or odd) of the checkerboard.

    Parameters
    ----------
    source, target, colours, F, weights
        As `cost.unary` takes them; ``colours`` is the pair.
    flow, costs, belief : (H, W, K, 2), (H, W, K), (H, W, K) float32
        Particles, best first, their unary cost and their disbelief (unary + messages). Changed in place.
    messages : (H, W, K, 4) float32
        Last message of each neighbour about each particle. Changed in place.
    parity : int
        0 or 1: which half of the checkerboard.
    chance : (uint64, float32, int)
        Seed of this sweep, how far random steps go in pixels, how many a pixel tries; after one for each
        particle they go half as far, and so on.
    far : bool
        Also take labels from a few pixels away, which spreads a good one faster.
    smooth : (float32, float32)
        w_p and tau_p (equation 6); w_p = 0 makes this plain PatchMatch.
    """
    seed, radius, tries = chance
    w_p, tau = smooth
    rows, columns, K = costs.shape
    on_line = weights[3] > 0
    given = K + 4 + (8 if far else 0)
    for y in prange(rows):
        base = np.zeros((4, K), np.float32)
        theirs = np.zeros((4, K, 2), np.float32)
        new_flow = np.empty((K, 2), np.float32)
        new_unary = np.empty(K, np.float32)
        new_belief = np.empty(K, np.float32)
        for x in range((y + parity) & 1, columns, 2):
            _listen(flow, belief, messages, x, y, base, theirs)
            state = np.uint64(seed) ^ (np.uint64(y * columns + x) * np.uint64(0x9E3779B97F4A7C15))
            kept = 0
            # random steps start here as long as every label leads out of the picture
            new_flow[0, 0], new_flow[0, 1] = flow[y, x, 0, 0], flow[y, x, 0, 1]
            for i in range(given + tries):
                if i < given:
                    u, v = _candidate(i, flow, theirs, x, y)
                    if math.isnan(u):
                        continue
                else:
                    # each particle in turn, then each again at half the distance
                    k = (i - given) % max(kept, 1)
                    reach = radius * np.float32(0.5) ** ((i - given) // K)
                    state, r1 = _uniform(state)
                    state, r2 = _uniform(state)
                    u, v = _step(F, x, y, new_flow[k, 0], new_flow[k, 1], r1, r2, reach, on_line)
                if not _is_new(new_flow, kept, u, v):
                    continue
                worst = new_belief[K - 1] if kept == K else IMPOSSIBLE
                told = np.float32(0)
                if w_p > 0:
                    for j in range(4):
                        told += _message(base, theirs, j, u, v, w_p, tau)
                    # most candidates stop here, before the expensive part
                    if told >= worst:
                        continue
                if i < K:
                    cost = costs[y, x, i]
                else:
                    cost = unary(source, target, colours[0], colours[1], F, x, y, u, v, weights)
                if cost + told < worst:
                    kept = _insert(new_flow, new_unary, new_belief, kept, u, v, cost, cost + told)
            for k in range(K):
                if k < kept:
                    flow[y, x, k, 0], flow[y, x, k, 1] = new_flow[k, 0], new_flow[k, 1]
                    costs[y, x, k], belief[y, x, k] = new_unary[k], new_belief[k]
                else:
                    costs[y, x, k], belief[y, x, k] = IMPOSSIBLE, IMPOSSIBLE
                for j in range(4):
                    u, v = flow[y, x, k, 0], flow[y, x, k, 1]
                    messages[y, x, k, j] = _message(base, theirs, j, u, v, w_p, tau) if w_p > 0 else 0
