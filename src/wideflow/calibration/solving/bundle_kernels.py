"""The sums of bundle adjustment: projections with their derivatives, and the reduced normal equations."""

from __future__ import annotations

import numpy as np

from wideflow.compiled import njit, over_rows
from wideflow.types import Array

LENS = 4  # parameters of a lens: log focal length, principal point, k1
POSE = 6  # of a pose: a small turn and a small shift in the camera's frame
_BLOCKS = 16  # of points that are summed apart
_NEAREST = 1e-3  # depth below which a point is not seen


@njit()
def _projected(lens, pose, X, J_lens, J_pose, J_point, xy):
    """Pixel of a point and its derivatives; False behind the camera."""
    x = pose[0, 0] * X[0] + pose[0, 1] * X[1] + pose[0, 2] * X[2] + pose[0, 3]
    y = pose[1, 0] * X[0] + pose[1, 1] * X[1] + pose[1, 2] * X[2] + pose[1, 3]
    z = pose[2, 0] * X[0] + pose[2, 1] * X[1] + pose[2, 2] * X[2] + pose[2, 3]
    if z < _NEAREST:
        return False
    f, k1 = np.exp(lens[0]), lens[3]
    a, b = x / z, y / z
    r2 = a * a + b * b
    d = 1 + k1 * r2
    xy[0], xy[1] = f * a * d + lens[1], f * b * d + lens[2]
    J_lens[0, 0], J_lens[0, 1], J_lens[0, 2], J_lens[0, 3] = f * a * d, 1.0, 0.0, f * a * r2
    J_lens[1, 0], J_lens[1, 1], J_lens[1, 2], J_lens[1, 3] = f * b * d, 0.0, 1.0, f * b * r2
    # pixel by normalised point, then by the point in the camera's frame
    uu, uv, vv = f * (d + 2 * k1 * a * a), f * 2 * k1 * a * b, f * (d + 2 * k1 * b * b)
    for i in range(2):
        p, q = (uu, uv) if i == 0 else (uv, vv)
        gx, gy = p / z, q / z
        gz = -(p * a + q * b) / z
        J_pose[i, 0] = gz * y - gy * z
        J_pose[i, 1] = gx * z - gz * x
        J_pose[i, 2] = gy * x - gx * y
        J_pose[i, 3], J_pose[i, 4], J_pose[i, 5] = gx, gy, gz
        for j in range(3):
            J_point[i, j] = gx * pose[0, j] + gy * pose[1, j] + gz * pose[2, j]
    return True


def distances(
    lenses: Array, poses: Array, camera: Array, points: Array, pose: Array, point: Array, xy: Array
) -> Array:
    out = np.empty(len(pose))
    _distances(len(pose), lenses, poses, camera, points, pose, point, xy, out)
    return out


@over_rows()
def _distances(first, end, lenses, poses, camera, points, pose, point, xy, out):
    for o in range(first, end):
        J, J_point, place = np.empty((2, LENS + POSE)), np.empty((2, 3)), np.empty(2)
        n = pose[o]
        if _projected(
            lenses[camera[n]], poses[n], points[point[o]], J[:, :LENS], J[:, LENS:], J_point, place
        ):
            out[o] = np.hypot(place[0] - xy[o, 0], place[1] - xy[o, 1])
        else:
            out[o] = np.inf


def normal_equations(
    lenses: Array,
    poses: Array,
    camera: Array,
    points: Array,
    start: Array,
    pose: Array,
    xy: Array,
    weight: Array,
    scale: float,
) -> tuple[Array, Array, Array, Array, Array]:
    """Upper triangles of the reduced matrices of blocks of points, and what the points need to follow.

    Returns
    -------
    parts : (blocks, m, m), right : (blocks, m)
        The reduced system, to be summed.
    inverse : (P, 3, 3), pull : (P, 3)
        Inverse information of each point, and its right side.
    cross : (O, 10, 3)
        Information that each sighting ties its lens (4) and pose (6) to its point with.
    """
    count = len(lenses)
    size = LENS * count + POSE * len(poses)
    parts, right = np.zeros((_BLOCKS, size, size)), np.zeros((_BLOCKS, size))
    inverse, pull = np.zeros((len(points), 3, 3)), np.zeros((len(points), 3))
    cross = np.zeros((len(pose), LENS + POSE, 3))
    found = parts, right, inverse, pull, cross
    _add_points(_BLOCKS, lenses, poses, camera, points, start, pose, xy, weight, scale, *found)
    return found


@over_rows()
def _add_points(
    first, end, lenses, poses, camera, points, start, pose, xy, weight, scale,
    parts, right, inverse, pull, cross,
):  # fmt: skip
    """The points of some blocks."""
    count = len(lenses)
    for block in range(first, end):
        S, g = parts[block], right[block]
        J, J_point, place = np.empty((2, LENS + POSE)), np.empty((2, 3)), np.empty(2)
        index = np.empty(LENS + POSE, np.int64)
        for p in range(block * len(points) // _BLOCKS, (block + 1) * len(points) // _BLOCKS):
            V, v = np.zeros((3, 3)), np.zeros(3)
            for o in range(start[p], start[p + 1]):
                n = pose[o]
                c = camera[n]
                if weight[o] == 0 or not _projected(
                    lenses[c], poses[n], points[p], J[:, :LENS], J[:, LENS:], J_point, place
                ):
                    continue
                rx, ry = xy[o, 0] - place[0], xy[o, 1] - place[1]
                w = weight[o] / (1 + (rx * rx + ry * ry) / scale**2)
                _indices(index, c, n, count)
                for i in range(LENS + POSE):
                    g[index[i]] += w * (J[0, i] * rx + J[1, i] * ry)
                    for j in range(i, LENS + POSE):
                        S[index[i], index[j]] += w * (J[0, i] * J[0, j] + J[1, i] * J[1, j])
                    for j in range(3):
                        cross[o, i, j] = w * (J[0, i] * J_point[0, j] + J[1, i] * J_point[1, j])
                for i in range(3):
                    v[i] += w * (J_point[0, i] * rx + J_point[1, i] * ry)
                    for j in range(3):
                        V[i, j] += w * (J_point[0, i] * J_point[0, j] + J_point[1, i] * J_point[1, j])
            trace = V[0, 0] + V[1, 1] + V[2, 2]
            if trace <= 0:
                continue
            for i in range(3):
                V[i, i] += 1e-9 * trace
            W = np.linalg.inv(V)
            inverse[p], pull[p] = W, v
            _eliminate(S, g, W, v, cross, start[p], start[p + 1], pose, camera, count)


@njit()
def _indices(index, c, n, count):
    for i in range(LENS):
        index[i] = c * LENS + i
    for i in range(POSE):
        index[LENS + i] = LENS * count + POSE * n + i


@njit()
def _eliminate(S, g, W, v, cross, first, last, pose, camera, count):
    """Subtract what a point takes up: E V^-1 E^T and E V^-1 v, with the rows of each lens joined."""
    joined = np.zeros((count, LENS, 3))
    for o in range(first, last):
        c = camera[pose[o]]
        for i in range(LENS):
            for j in range(3):
                joined[c, i, j] += cross[o, i, j]
    for c in range(count):
        for i in range(LENS):
            e = joined[c, i, 0] * W[0] + joined[c, i, 1] * W[1] + joined[c, i, 2] * W[2]
            g[c * LENS + i] -= e[0] * v[0] + e[1] * v[1] + e[2] * v[2]
            for d in range(c, count):
                for j in range(LENS):
                    if d * LENS + j >= c * LENS + i:
                        q = joined[d, j]
                        S[c * LENS + i, d * LENS + j] -= e[0] * q[0] + e[1] * q[1] + e[2] * q[2]
            for o in range(first, last):
                at = LENS * count + POSE * pose[o]
                for j in range(POSE):
                    q = cross[o, LENS + j]
                    S[c * LENS + i, at + j] -= e[0] * q[0] + e[1] * q[1] + e[2] * q[2]
    for o in range(first, last):
        at = LENS * count + POSE * pose[o]
        for i in range(POSE):
            r = cross[o, LENS + i]
            e0 = r[0] * W[0, 0] + r[1] * W[1, 0] + r[2] * W[2, 0]
            e1 = r[0] * W[0, 1] + r[1] * W[1, 1] + r[2] * W[2, 1]
            e2 = r[0] * W[0, 2] + r[1] * W[1, 2] + r[2] * W[2, 2]
            g[at + i] -= e0 * v[0] + e1 * v[1] + e2 * v[2]
            for other in range(first, last):
                to = LENS * count + POSE * pose[other]
                if to < at:
                    continue
                for j in range(POSE):
                    if to + j >= at + i:
                        q = cross[other, LENS + j]
                        S[at + i, to + j] -= e0 * q[0] + e1 * q[1] + e2 * q[2]


def point_steps(
    inverse: Array,
    pull: Array,
    cross: Array,
    start: Array,
    pose: Array,
    camera: Array,
    step: Array,
    count: int,
) -> Array:
    out = np.empty((len(pull), 3))
    _point_steps(len(pull), inverse, pull, cross, start, pose, camera, step, count, out)
    return out


@over_rows()
def _point_steps(first, end, inverse, pull, cross, start, pose, camera, step, count, out):
    for p in range(first, end):
        rest = pull[p].copy()
        for o in range(start[p], start[p + 1]):
            n = pose[o]
            for i in range(LENS):
                s = step[camera[n] * LENS + i]
                for j in range(3):
                    rest[j] -= cross[o, i, j] * s
            for i in range(POSE):
                s = step[LENS * count + POSE * n + i]
                for j in range(3):
                    rest[j] -= cross[o, LENS + i, j] * s
        for i in range(3):
            out[p, i] = inverse[p, i, 0] * rest[0] + inverse[p, i, 1] * rest[1] + inverse[p, i, 2] * rest[2]


@njit()
def pose_step(lens, pose, points, xy, weight, scale):
    """Distances (N,) of points from their pixels and the step of Gauss and Newton for the pose."""
    H, g, off = 1e-9 * np.eye(POSE), np.zeros(POSE), np.empty(len(points))
    J, J_point, place = np.empty((2, LENS + POSE)), np.empty((2, 3)), np.empty(2)
    J_lens, J_pose = J[:, :LENS], J[:, LENS:]
    for p in range(len(points)):
        if not _projected(lens, pose, points[p], J_lens, J_pose, J_point, place):
            off[p] = np.inf
            continue
        rx, ry = xy[p, 0] - place[0], xy[p, 1] - place[1]
        off[p] = np.hypot(rx, ry)
        w = weight[p] / (1 + (off[p] / scale) ** 2)
        for i in range(POSE):
            g[i] += w * (J_pose[0, i] * rx + J_pose[1, i] * ry)
            for j in range(POSE):
                H[i, j] += w * (J_pose[0, i] * J_pose[0, j] + J_pose[1, i] * J_pose[1, j])
    return off, np.linalg.solve(H, g)
