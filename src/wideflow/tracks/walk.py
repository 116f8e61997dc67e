"""From moment to moment, in one direction: where each point is next, and whether it is seen there.

What stands still is predicted by its world point and the camera's pose, what moves by the optical flow, and
what is hidden by its last motion. Each prediction is then compared with patches from where the point was
well seen: the one that was asked for, and the last one that agreed with it. So errors of flow do not add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.tracks.moments import Floats, Moment
from wideflow.tracks.patches import BEFORE, LEAST, align, likeness, open_share, patches, search, take_patch
from wideflow.types import View

STILL = 0.5  # chance of motion below which a pixel is taken to stand
_SAME = 0.06  # share of depth within which the map shows the point's own surface
_ALIKE = 0.8  # likeness from which a patch counts as found
_FOUND = 0.85  # and from which it brings back a hidden point
_ALSO = 0.5  # and from which it does so for a point that stands
_SURE = 0.9  # and from which a shift of what stands still is believed
_UNLIKE = 0.0  # below it, the map's depth alone does not show the point
_PATTERN = 30.0  # square grey levels from which a patch has a pattern
_SHIFT, _TREMBLE = 3.0, 0.7  # px by which a patch may correct a prediction; below which the world point stays
_KEEP = 0.75  # share of the old velocity in the new one
_TRUST = 0.5  # share of a moment's depth in the new one of what moves
_OPEN = 0.8  # share of a patch that must be seen for it to correct a prediction
_SLOWER = 0.99  # of its velocity, what a hidden point keeps to the next moment
_APART, _RECALL = 1.0, 0.8  # px by which flow and pose may differ in sum, older moments counting less
_WIDEST = 6  # px around its prediction within which a hidden point is looked for


@dataclass(eq=False)
class Trails:
    """What is found of N points at T moments; rows of moments that were not reached stay unknown.

    Attributes
    ----------
    pixels : (T, N, 2) float64
        Where the point is in A's picture.
    depth : (T, N) float64
        In camera A, as predicted and corrected on the way.
    claim, trust : (T, N) float32
        What the moment's depth map says of a point that is seen, NaN if it says nothing, and its confidence.
    seen : (T, N) bool
    likeness : (T, N) float32
        Of the best patch, -1 to 1.
    moving : (T, N) float32
        Chance of motion at the point; NaN where it is not seen.
    """

    pixels: NDArray[np.float64]
    depth: NDArray[np.float64]
    claim: Floats
    trust: Floats
    seen: NDArray[np.bool_]
    likeness: Floats
    moving: Floats

    @classmethod
    def empty(cls, moments: int, count: int) -> Trails:
        unknown = [np.full((moments, count), np.nan, np.float32) for _ in range(4)]
        return cls(
            np.full((moments, count, 2), np.nan),
            np.full((moments, count), np.nan),
            unknown[0],
            unknown[1],
            np.zeros((moments, count), np.bool_),
            unknown[2],
            unknown[3],
        )


@dataclass(eq=False)
class State:
    """Where N points are now: world points and velocities, pixels, patches, how long each is hidden."""

    world: NDArray[np.float64]  # (N, 3)
    velocity: NDArray[np.float64]  # (N, 3), a moment
    pixel: NDArray[np.float64]  # (N, 2)
    depth: NDArray[np.float64]  # (N,), where it was last seen
    apart: NDArray[np.float64]  # (N, 2), px: what the flow has told beside the pose of late
    hidden: NDArray[np.int64]  # (N,), moments; 0 is seen
    still: NDArray[np.bool_]  # (N,)
    patch: NDArray[np.float32]  # (2, N, SIDE, SIDE): of the query, and the last that agreed
    weight: NDArray[np.float32]
    taken: NDArray[np.float64]  # (2, N): depth where the patch was taken; 0 for a point that has not begun
    variance: NDArray[np.float64]  # (2, N)

    @classmethod
    def empty(cls, count: int) -> State:
        world, velocity = np.zeros((2, count, 3))
        own = np.stack([patches(count)] * 2), np.stack([patches(count)] * 2)
        hidden, still = np.zeros(count, np.int64), np.ones(count, np.bool_)
        taken, variance = np.zeros((2, count)), np.zeros((2, count))
        return cls(
            world,
            velocity,
            np.zeros((count, 2)),
            np.zeros(count),
            np.zeros((count, 2)),
            hidden,
            still,
            *own,
            taken,
            variance,
        )


def begin(
    state: State, trails: Trails, moment: Moment, t: int, own: NDArray[np.intp], motion: Floats | None
) -> None:
    """Let the points ``own`` start at moment t, at the pixels that `state` has for them."""
    _begin(
        own, state.pixel, moment.picture, moment.depth, moment.confidence, moment.moving,
        np.full((*moment.depth.shape, 3), np.nan, np.float32) if motion is None else motion,
        *lens(moment.view), state.world, state.velocity, state.depth, state.still, state.patch, state.weight,
        state.taken, state.variance, trails.pixels[t], trails.depth[t], trails.claim[t], trails.trust[t],
        trails.seen[t], trails.likeness[t], trails.moving[t],
    )  # fmt: skip


def step(state: State, trails: Trails, before: Moment, moment: Moment, flow: Floats, t: int) -> None:
    """Take all points that have begun to moment t, along ``flow`` from the one before."""
    _step(
        state.world, state.velocity, state.pixel, state.depth, state.apart, state.hidden, state.still,
        state.patch, state.weight, state.taken, state.variance, before.depth, flow, moment.picture,
        moment.depth, moment.nearest, moment.confidence, moment.moving, *lens(moment.view), trails.pixels[t],
        trails.depth[t], trails.claim[t], trails.trust[t], trails.seen[t], trails.likeness[t],
        trails.moving[t],
    )  # fmt: skip


def lens(view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(3, 4) from world to pixels times depth, and (3, 4) from pixels times depth to world."""
    forth = view.camera.K @ view.cam_from_world
    back = view.R.T @ np.linalg.inv(view.camera.K)
    return forth, np.column_stack([back, view.centre])


@njit()
def _begin(
    own, pixel, picture, depth, confidence, moving, motion, forth, back, world, velocity, at_depth, still,
    patch, weight, taken, variance, out_pixel, out_depth, out_claim, out_trust, out_seen, out_alike,
    out_moving,
):  # fmt: skip
    height, width = depth.shape
    for n in own:
        x, y = pixel[n]
        u, v = min(int(x + 0.5), width - 1), min(int(y + 0.5), height - 1)
        z, _ = _depth_near(depth, x, y, depth[v, u])
        if not z > 0:
            continue  # of a point without depth nothing is known
        for k in range(3):
            world[n, k] = z * (back[k, 0] * x + back[k, 1] * y + back[k, 2]) + back[k, 3]
        still[n] = moving[v, u] < STILL
        if not still[n] and np.isfinite(motion[v, u, 0]):
            velocity[n] = motion[v, u]
        variance[0, n] = take_patch(picture, depth, x, y, z, patch[0, n], weight[0, n])
        taken[0, n], at_depth[n] = z, z
        patch[1, n], weight[1, n] = patch[0, n], weight[0, n]
        taken[1, n], variance[1, n] = z, variance[0, n]
        out_pixel[n] = pixel[n]
        out_depth[n], out_claim[n], out_trust[n] = z, z, confidence[v, u]
        out_seen[n], out_alike[n], out_moving[n] = True, 1.0, moving[v, u]


@njit(parallel=True)
def _step(
    world, velocity, pixel, at_depth, apart, hidden, still, patch, weight, taken, variance, depth_before,
    flow, picture, depth, nearest, confidence, moving, forth, back, out_pixel, out_depth, out_claim,
    out_trust, out_seen, out_alike, out_moving,
):  # fmt: skip
    height, width = depth.shape
    for n in numba.prange(len(world)):
        if taken[0, n] <= 0:
            continue
        seen = hidden[n] == 0
        sx, sy, sz = pixel_of(forth, world[n])
        cx, cy, cz = pixel_of(forth, world[n] + velocity[n])
        x, y, z = (sx, sy, sz) if still[n] else (cx, cy, cz)
        if not z > 0:  # behind the camera
            hidden[n] += 1
            _go_on(world, velocity, still, n)
            continue
        if seen:
            fx, fy = _along(flow, depth_before, pixel[n, 0], pixel[n, 1], at_depth[n])
            if np.isfinite(fx) and variance[0, n] >= _PATTERN:
                apart[n, 0] = _RECALL * apart[n, 0] + fx - sx
                apart[n, 1] = _RECALL * apart[n, 1] + fy - sy
                if still[n] and math.hypot(apart[n, 0], apart[n, 1]) > _APART:
                    still[n] = False
            if np.isfinite(fx) and not (still[n] and math.hypot(fx - sx, fy - sy) < _SHIFT):
                here = patch[1, n], weight[1, n]
                by_flow = likeness(picture, nearest, fx, fy, z, taken[1, n] / z, here[0], here[1])
                by_pose = likeness(picture, nearest, x, y, z, taken[1, n] / z, here[0], here[1])
                if not still[n] or by_flow > by_pose + 0.1:
                    x, y = fx, fy
        best, kind, told = -1.0, -1, False
        found_x, found_y = x, y
        covered = seen and 0 <= x <= width - 1 and 0 <= y <= height - 1 and _covered(depth, x, y, z)
        for k in range(2):
            if variance[k, n] < _PATTERN or best >= _ALIKE:
                continue
            scale = min(max(taken[k, n] / z, 0.5), 2.0)
            u, v = x, y
            if not seen and not still[n]:
                reach = min(2 + hidden[n] // 2, _WIDEST)
                u, v, _ = search(picture, nearest, x, y, z, scale, patch[k, n], weight[k, n], reach)
            limit = _SHIFT + math.hypot(u - x, v - y)
            share = open_share(nearest, u, v, z, scale, weight[k, n])
            told = told or share >= LEAST
            if share >= _OPEN:
                u, v = align(picture, nearest, u, v, z, scale, patch[k, n], weight[k, n])
            alike = likeness(picture, nearest, u, v, z, scale, patch[k, n], weight[k, n])
            if math.hypot(u - x, v - y) <= limit and alike > best:
                best, kind, found_x, found_y = alike, k, u, v
        accepted = kind >= 0 and best >= _ALIKE
        stays = still[n] and not (
            seen and best >= _SURE and math.hypot(found_x - sx, found_y - sy) > _TREMBLE
        )
        if accepted and not stays:
            x, y = found_x, found_y
        inside = 0 <= x <= width - 1 and 0 <= y <= height - 1
        claim, off = _depth_near(depth, x, y, z) if inside else (np.nan, np.inf)
        same = abs(off) <= _SAME and not covered and not _covered(depth, x, y, z)
        if seen:
            shown = inside and (
                (same and (best >= _UNLIKE or not told)) or (accepted and not covered and off > -0.2)
            )
        else:  # of what stands, pose and depth say much by themselves
            shown = inside and same and (best >= (_ALSO if still[n] else _FOUND) or (still[n] and not told))
        if not shown:
            if not still[n] or not seen:
                x, y = (sx, sy) if still[n] else (cx, cy)
            hidden[n] += 1
            out_pixel[n, 0], out_pixel[n, 1] = x, y
            out_depth[n], out_alike[n] = z, best
            _go_on(world, velocity, still, n)
            continue
        u, v = int(x + 0.5), int(y + 0.5)
        out_claim[n], out_trust[n] = claim, confidence[v, u]
        if abs(depth[v, u] - z) <= _SAME * z:
            out_moving[n] = moving[v, u]
        if not stays:
            if same:
                z = z * math.exp(_TRUST * off)
            for k in range(3):
                there = z * (back[k, 0] * x + back[k, 1] * y + back[k, 2]) + back[k, 3]
                if seen:
                    velocity[n, k] = _KEEP * velocity[n, k] + (1 - _KEEP) * (there - world[n, k])
                world[n, k] = there
        else:
            x, y = sx, sy
        if abs(depth[v, u] - z) <= _SAME * z:  # else an edge: the pixel shows something else
            still[n] = moving[v, u] < STILL and math.hypot(apart[n, 0], apart[n, 1]) <= _APART
        hidden[n], at_depth[n] = 0, z
        pixel[n, 0], pixel[n, 1] = x, y
        out_pixel[n, 0], out_pixel[n, 1] = x, y
        out_depth[n], out_seen[n], out_alike[n] = z, True, best
        if same and (kind == 0 or not accepted):
            # the last that agreed with the query, or, if none does any more, a new beginning
            variance[1, n] = take_patch(picture, depth, x, y, z, patch[1, n], weight[1, n])
            taken[1, n] = z


@njit()
def _go_on(world, velocity, still, n):
    """Move a hidden point as it moved, ever more slowly: nobody knows for how long."""
    if not still[n]:
        for k in range(3):
            world[n, k] += velocity[n, k]
            velocity[n, k] *= _SLOWER


@njit()
def pixel_of(forth, point):
    """Pixel and depth of a world point; NaN behind the camera."""
    x = forth[0, 0] * point[0] + forth[0, 1] * point[1] + forth[0, 2] * point[2] + forth[0, 3]
    y = forth[1, 0] * point[0] + forth[1, 1] * point[1] + forth[1, 2] * point[2] + forth[1, 3]
    z = forth[2, 0] * point[0] + forth[2, 1] * point[1] + forth[2, 2] * point[2] + forth[2, 3]
    if not z > 0:
        return np.nan, np.nan, np.nan
    return x / z, y / z, z


@njit()
def _covered(depth, x, y, z):
    """Whether most of the pixels around a place show something before depth z: at an edge, half of them."""
    height, width = depth.shape
    u, v = int(x + 0.5), int(y + 0.5)
    count = 0
    for j in range(max(v - 1, 0), min(v + 2, height)):
        for i in range(max(u - 1, 0), min(u + 2, width)):
            count += depth[j, i] < (1 - BEFORE) * z
    return count >= 5


@njit()
def _along(flow, depth, x, y, z):
    """Where the flow takes a place at depth z, interpolated among the pixels of its own surface."""
    height, width = depth.shape
    if not (0 <= x <= width - 1 and 0 <= y <= height - 1):
        return np.nan, np.nan
    left, top = min(int(x), width - 2), min(int(y), height - 2)
    total, u, v = 0.0, 0.0, 0.0
    for j in range(2):
        for i in range(2):
            w = abs(1 - i - (x - left)) * abs(1 - j - (y - top))
            there = depth[top + j, left + i]
            if not np.isfinite(flow[top + j, left + i, 0]) or abs(there - z) > _SAME * z:
                continue
            total += w
            u += w * flow[top + j, left + i, 0]
            v += w * flow[top + j, left + i, 1]
    if total < 1e-3:
        return np.nan, np.nan
    return x + u / total, y + v / total


@njit()
def _depth_near(depth, x, y, wanted):
    """Depth at a place, and the logarithm of it over the wanted one.

    Interpolated if the pixels around are of one surface; else that of the neighbour which is nearest to what
    is wanted: at an edge, half a pixel decides which surface a pixel shows.
    """
    height, width = depth.shape
    left, top = min(max(int(x), 0), width - 2), min(max(int(y), 0), height - 2)
    s, t = x - left, y - top
    a, b, c, d = depth[top, left], depth[top, left + 1], depth[top + 1, left], depth[top + 1, left + 1]
    least, most = min(min(a, b), min(c, d)), max(max(a, b), max(c, d))
    if least > 0 and most - least < _SAME * least:
        z = (1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * c + s * d)
        off = math.log(z / wanted) if wanted > 0 else np.inf
        if abs(off) <= _SAME:
            return z, off
    best, off = np.nan, np.inf
    u, v = int(x + 0.5), int(y + 0.5)
    for j in range(max(v - 1, 0), min(v + 2, height)):
        for i in range(max(u - 1, 0), min(u + 2, width)):
            z = depth[j, i]
            if z > 0 and wanted > 0 and abs(math.log(z / wanted)) < abs(off):
                best, off = z, math.log(z / wanted)
    return best, off
