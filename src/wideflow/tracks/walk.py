"""From moment to moment, in one direction: where each point is next, and whether it is seen there.

What stands still is predicted by its world point and the camera's pose, what moves by the optical flow, and
what is hidden by its last motion. Each prediction is then compared with patches from where the point was
well seen: the one that was asked for, and the last one that agreed with it. So errors of flow do not add up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wideflow.compiled import njit, over_rows
from wideflow.tracks.lookups import SAME, along, covered, depth_near, pixel_of
from wideflow.tracks.patches import LEAST, align, likeness, open_share, search, take_patch
from wideflow.tracks.state import State, Trails
from wideflow.types import Array

STILL = 0.5  # chance of motion below which a pixel is taken to stand
_ALIKE = 0.8  # likeness from which a patch counts as found
_FOUND = 0.85  # and from which it brings back a hidden point
_ALSO = 0.5  # and from which it does so for a point that stands
_SURE = 0.9  # and from which a shift of what stands still is believed
_UNLIKE = 0.0  # below it, the map's depth alone does not show the point
_BEYOND = -0.2  # logarithm of depth: the map may be so much nearer if the patch is found
_PATTERN = 30.0  # square grey levels from which a patch has a pattern
_SHIFT, _TREMBLE = 3.0, 0.7  # px by which a patch may correct a prediction; below which the world point stays
_BETTER = 0.1  # by which the flow's place must be more like the patch than the pose's
_KEEP = 0.75  # share of the old velocity in the new one
_TRUST = 0.5  # share of a moment's depth in the new one of what moves
_OPEN = 0.8  # share of a patch that must be seen for it to correct a prediction
_SLOWER = 0.99  # of its velocity, what a hidden point keeps to the next moment
_APART, _RECALL = 1.0, 0.8  # px by which flow and pose may differ in sum, older moments counting less
_WIDEST = 6  # px around its prediction within which a hidden point is looked for


@njit()
def begin(own, state, trails, moment, motion, t):
    """Let the points ``own`` start at moment t, at the pixels that ``state`` has for them.

    ``motion`` (H, W, 3) is that of the pixels in the direction of the walk, NaN where unknown.
    """
    height, width = moment.depth.shape
    for n in own:
        x, y = state.pixel[n]
        u, v = min(int(x + 0.5), width - 1), min(int(y + 0.5), height - 1)
        z, _ = depth_near(moment.depth, x, y, moment.depth[v, u])
        if not z > 0:
            continue  # of a point without depth nothing is known
        for k in range(3):
            state.world[n, k] = _world(moment.back, k, x, y, z)
        state.still[n] = moment.moving[v, u] < STILL
        if not state.still[n] and np.isfinite(motion[v, u, 0]):
            state.velocity[n] = motion[v, u]
        state.depth[n] = z
        for k in range(2):
            _keep_patch(state, moment, n, k, x, y, z)
        trails.pixels[t, n] = state.pixel[n]
        trails.depth[t, n], trails.claim[t, n], trails.trust[t, n] = z, z, moment.confidence[v, u]
        trails.seen[t, n], trails.likeness[t, n], trails.moving[t, n] = True, 1.0, moment.moving[v, u]


def step(state: State, trails: Trails, moment: Any, depth_before: Array, flow: Array, t: int) -> None:
    """Take all points that have begun to moment t, along ``flow`` from the one before."""
    _step(len(state.world), state, trails, moment, depth_before, flow, t)


@over_rows()
def _step(first, end, state, trails, moment, depth_before, flow, t):
    for n in range(first, end):
        if state.depth[n] > 0:
            _step_one(state, trails, moment, depth_before, flow, t, n)


@njit()
def _step_one(state, trails, moment, depth_before, flow, t, n):
    depth = moment.depth
    height, width = depth.shape
    seen = state.hidden[n] == 0
    sx, sy, sz = pixel_of(moment.forth, state.world[n])
    cx, cy, cz = pixel_of(moment.forth, state.world[n] + state.velocity[n])
    if not (sz > 0 and cz > 0):  # behind the camera
        _go_on(state, n)
        return
    x, y = _predicted(state, moment, depth_before, flow, n, seen, sx, sy, cx, cy, cz)
    still = state.still[n]
    z = sz if still else cz
    hides = seen and 0 <= x <= width - 1 and 0 <= y <= height - 1 and covered(depth, x, y, z)
    found_x, found_y, best, kind, told = _compared(state, moment, n, seen, x, y, z)
    accepted = kind >= 0 and best >= _ALIKE
    stays = still and not (seen and best >= _SURE and math.hypot(found_x - sx, found_y - sy) > _TREMBLE)
    if accepted and not stays:
        x, y = found_x, found_y
    inside = 0 <= x <= width - 1 and 0 <= y <= height - 1
    claim, off = depth_near(depth, x, y, z) if inside else (np.nan, np.inf)
    same = abs(off) <= SAME and not hides and not covered(depth, x, y, z)
    if seen:
        shown = (same and (best >= _UNLIKE or not told)) or (accepted and not hides and off > _BEYOND)
    elif still:  # of what stands, pose and depth say much by themselves
        shown = same and (best >= _ALSO or not told)
    else:
        shown = same and best >= _FOUND
    trails.likeness[t, n] = best
    if not (shown and inside):
        trails.pixels[t, n, 0], trails.pixels[t, n, 1] = (sx, sy) if still else (cx, cy)
        trails.depth[t, n] = z
        _go_on(state, n)
        return
    if stays:
        x, y = sx, sy
    else:
        if same:
            z *= math.exp(_TRUST * off)
        for k in range(3):
            there = _world(moment.back, k, x, y, z)
            if seen:
                way = there - state.world[n, k]
                state.velocity[n, k] = _KEEP * state.velocity[n, k] + (1 - _KEEP) * way
            state.world[n, k] = there
    u, v = int(x + 0.5), int(y + 0.5)
    if abs(depth[v, u] - z) <= SAME * z:  # else an edge: the pixel shows something else
        trails.moving[t, n] = moment.moving[v, u]
        strays = math.hypot(state.apart[n, 0], state.apart[n, 1]) > _APART
        state.still[n] = moment.moving[v, u] < STILL and not strays
    state.hidden[n], state.depth[n] = 0, z
    state.pixel[n, 0], state.pixel[n, 1] = x, y
    trails.pixels[t, n, 0], trails.pixels[t, n, 1] = x, y
    trails.depth[t, n], trails.seen[t, n] = z, True
    trails.claim[t, n], trails.trust[t, n] = claim, moment.confidence[v, u]
    if same and (kind == 0 or not accepted):
        # the last that agreed with the query, or, if none does any more, a new beginning
        _keep_patch(state, moment, n, np.int64(1), x, y, z)


@njit()
def _predicted(state, moment, depth_before, flow, n, seen, sx, sy, cx, cy, cz):
    """Where a point should be: by pose (sx, sy), by its own motion (cx, cy), or by the flow."""
    if seen:
        fx, fy = along(flow, depth_before, state.pixel[n, 0], state.pixel[n, 1], state.depth[n])
        if np.isfinite(fx):
            if state.variance[0, n] >= _PATTERN:
                state.apart[n, 0] = _RECALL * state.apart[n, 0] + fx - sx
                state.apart[n, 1] = _RECALL * state.apart[n, 1] + fy - sy
                if math.hypot(state.apart[n, 0], state.apart[n, 1]) > _APART:
                    state.still[n] = False
            if not state.still[n]:
                return fx, fy
            if math.hypot(fx - sx, fy - sy) >= _SHIFT:  # they contradict each other: the picture decides
                patch, weight, scale = state.patch[1, n], state.weight[1, n], state.taken[1, n] / cz
                by_flow = likeness(moment.picture, moment.nearest, fx, fy, cz, scale, patch, weight)
                by_pose = likeness(moment.picture, moment.nearest, sx, sy, cz, scale, patch, weight)
                if by_flow > by_pose + _BETTER:
                    return fx, fy
    if state.still[n]:
        return sx, sy
    return cx, cy


@njit()
def _compared(state, moment, n, seen, x, y, z):
    """The place near a prediction that is most like a patch, how much, which patch, and if any could tell."""
    found_x, found_y, best, kind, told = x, y, -1.0, -1, False
    for k in range(2):
        if state.variance[k, n] < _PATTERN or best >= _ALIKE:
            continue
        patch, weight = state.patch[k, n], state.weight[k, n]
        scale = min(max(state.taken[k, n] / z, 0.5), 2.0)
        u, v = x, y
        if not seen and not state.still[n]:
            reach = min(2 + state.hidden[n] // 2, _WIDEST)
            u, v, _ = search(moment.picture, moment.nearest, x, y, z, scale, patch, weight, reach)
        limit = _SHIFT + math.hypot(u - x, v - y)
        share = open_share(moment.nearest, u, v, z, scale, weight)
        told = told or share >= LEAST
        if share >= _OPEN:
            u, v = align(moment.picture, moment.nearest, u, v, z, scale, patch, weight)
        alike = likeness(moment.picture, moment.nearest, u, v, z, scale, patch, weight)
        if math.hypot(u - x, v - y) <= limit and alike > best:
            best, kind, found_x, found_y = alike, k, u, v
    return found_x, found_y, best, kind, told


@njit()
def _keep_patch(state, moment, n, k, x, y, z):
    patch, weight = state.patch[k, n], state.weight[k, n]
    state.variance[k, n] = take_patch(moment.picture, moment.nearest, moment.farthest, x, y, z, patch, weight)
    state.taken[k, n] = z


@njit()
def _go_on(state, n):
    """Move a hidden point as it moved, ever more slowly: nobody knows for how long."""
    state.hidden[n] += 1
    if not state.still[n]:
        for k in range(3):
            state.world[n, k] += state.velocity[n, k]
            state.velocity[n, k] *= _SLOWER


@njit()
def _world(back, k, x, y, z):
    """Coordinate k of what a pixel shows at a depth."""
    return z * (back[k, 0] * x + back[k, 1] * y + back[k, 2]) + back[k, 3]
