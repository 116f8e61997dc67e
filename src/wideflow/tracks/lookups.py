"""Looking things up in the maps of a moment: pixels of world points, depth and flow at an edge."""

from __future__ import annotations

import math

import numpy as np

from wideflow.compiled import njit
from wideflow.tracks.patches import BEFORE

SAME = 0.06  # share of depth within which the map shows the point's own surface


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
def covered(depth, x, y, z):
    """Whether most of the pixels around a place show something before depth z: at an edge, half of them."""
    height, width = depth.shape
    u, v = int(x + 0.5), int(y + 0.5)
    count = 0
    for j in range(max(v - 1, 0), min(v + 2, height)):
        for i in range(max(u - 1, 0), min(u + 2, width)):
            count += depth[j, i] < (1 - BEFORE) * z
    return count >= 5


@njit()
def along(flow, depth, x, y, z):
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
            if not np.isfinite(flow[top + j, left + i, 0]) or abs(there - z) > SAME * z:
                continue
            total += w
            u += w * flow[top + j, left + i, 0]
            v += w * flow[top + j, left + i, 1]
    if total < 1e-3:
        return np.nan, np.nan
    return x + u / total, y + v / total


@njit()
def depth_near(depth, x, y, wanted):
    """Depth at a place, and the logarithm of it over the wanted one.

    Interpolated if the pixels around are of one surface; else that of the neighbour which is nearest to what
    is wanted: at an edge, half a pixel decides which surface a pixel shows.
    """
    height, width = depth.shape
    left, top = min(max(int(x), 0), width - 2), min(max(int(y), 0), height - 2)
    s, t = x - left, y - top
    a, b, c, d = depth[top, left], depth[top, left + 1], depth[top + 1, left], depth[top + 1, left + 1]
    least, most = min(min(a, b), min(c, d)), max(max(a, b), max(c, d))
    if least > 0 and most - least < SAME * least:
        z = (1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * c + s * d)
        off = math.log(z / wanted) if wanted > 0 else np.inf
        if abs(off) <= SAME:
            return z, off
    best, off = np.nan, np.inf
    u, v = int(x + 0.5), int(y + 0.5)
    for j in range(max(v - 1, 0), min(v + 2, height)):
        for i in range(max(u - 1, 0), min(u + 2, width)):
            z = depth[j, i]
            if z > 0 and wanted > 0 and abs(math.log(z / wanted)) < abs(off):
                best, off = z, math.log(z / wanted)
    return best, off
