"""Bundle adjustment: lenses, poses and points that explain all sightings, robustly and with priors.

Levenberg-Marquardt on the reduced system of the cameras (the points are eliminated by Schur's complement),
under a Cauchy loss. Sums run over a fixed number of blocks of points, so the same bits come out for any
number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LENS = 4  # parameters of a lens: log focal length, principal point, k1
POSE = 6  # of a pose: a small turn and a small shift in the camera's frame
NOISE = 0.2  # px of a picture 640 wide: of a sighting, more than it scatters since neighbours err alike
_BLOCKS = 16  # of points that are summed apart
_TRIES = 16  # dampings of a step, each eight times the one before
_NEAREST = 1e-3  # depth below which a point is not seen


@dataclass(frozen=True, eq=False)
class Bundle:
    """Two cameras, their poses, the points, and where these were seen.

    Attributes
    ----------
    lenses : (2, 4) float64
        log of the focal length, cx, cy in px, k1.
    prior, spread : (2, 4) float64
        What is known of the lenses beforehand, and its standard deviation; 0: not to be changed.
    poses : (n, 3, 4) float64
        cam_from_world.
    camera : (n,) int64
        Camera of every pose.
    fixed : (n,) bool
        Poses that stay.
    points : (P, 3) float64
    pose, point : (O,) int64
        Of every sighting; sorted by point.
    xy : (O, 2) float64
        Pixels.
    weight : (O,) float64
        Of every sighting, 0 for one that does not count.
    """

    lenses: Floats
    prior: Floats
    spread: Floats
    poses: Floats
    camera: Ints
    fixed: Bools
    points: Floats
    pose: Ints
    point: Ints
    xy: Floats
    weight: Floats


def joined(one: Bundle, two: Bundle) -> Bundle:
    """Two bundles that share nothing but the lenses, those of ``one``."""
    return replace(
        one,
        poses=np.concatenate([one.poses, two.poses]),
        camera=np.concatenate([one.camera, two.camera]),
        fixed=np.concatenate([one.fixed, two.fixed]),
        points=np.concatenate([one.points, two.points]),
        pose=np.concatenate([one.pose, two.pose + len(one.poses)]),
        point=np.concatenate([one.point, two.point + len(one.points)]),
        xy=np.concatenate([one.xy, two.xy]),
        weight=np.concatenate([one.weight, two.weight]),
    )


def parted(bundle: Bundle, one: Bundle, two: Bundle) -> tuple[Bundle, Bundle]:
    """What became of the bundles ``one`` and ``two`` that were `joined`."""
    n, p = len(one.poses), len(one.points)
    return (
        replace(one, lenses=bundle.lenses, poses=bundle.poses[:n], points=bundle.points[:p]),
        replace(two, lenses=bundle.lenses, poses=bundle.poses[n:], points=bundle.points[p:]),
    )


def adjust(
    bundle: Bundle, scale: float, steps: int, noise: float | None = None, damping: float = 1e-5
) -> Bundle:
    """The lenses, poses and points with the least Cauchy loss.

    Parameters
    ----------
    bundle : Bundle
        Where to start.
    scale : float
        Pixels from which a sighting counts less and less.
    steps : int
        Most steps of Levenberg-Marquardt.
    noise : float, optional
        Standard deviation of a sighting, px, which weighs the priors; ``scale`` unless given.
    damping : float
        To begin with: the smaller, the bolder.
    """
    noise = scale if noise is None else noise
    start = np.searchsorted(bundle.point, np.arange(len(bundle.points) + 1))
    now = bundle
    cost = _cost(now, scale, noise)
    for _ in range(steps):
        system = _linearised(now, start, scale, noise)
        for _ in range(_TRIES):
            moved = _moved(now, start, system, damping)
            lower = _cost(moved, scale, noise) if moved is not None else np.inf
            if lower < cost:
                break
            damping *= 8
        else:
            return now
        assert moved is not None
        gain, cost, now = (cost - lower) / max(cost, 1e-12), lower, moved
        damping = max(damping / 8, 1e-12)
        if gain < 1e-6:
            break
    return now


def residuals(bundle: Bundle) -> Floats:
    """Pixels (O,) between sightings and points; infinite for a point that is not in front of the camera."""
    return np.asarray(
        _distances(
            bundle.lenses, bundle.poses, bundle.camera, bundle.points, bundle.pose, bundle.point, bundle.xy
        )
    )


def covariance(bundle: Bundle, scale: float) -> Floats:
    """Covariance (8 + 6 n, 8 + 6 n) of lenses and poses for independent sightings of 1 px.

    What cannot be told at all (scale and place of the world) is held at where it is.
    """
    start = np.searchsorted(bundle.point, np.arange(len(bundle.points) + 1))
    matrix = _linearised(bundle, start, scale, 1.0)[0]
    free = _free(bundle)
    out = np.zeros_like(matrix)
    values, vectors = np.linalg.eigh(matrix[np.ix_(free, free)])
    good = values > 1e-9 * values[-1]
    out[np.ix_(free, free)] = (vectors[:, good] / values[good]) @ vectors[:, good].T
    return out


def _free(bundle: Bundle) -> Ints:
    lens = np.flatnonzero(bundle.spread.ravel() > 0)
    pose = np.flatnonzero(np.repeat(~bundle.fixed, POSE)) + 2 * LENS
    return np.concatenate([lens, pose])


def _cost(bundle: Bundle, scale: float, noise: float) -> float:
    off = residuals(bundle)
    seen = np.isfinite(off)
    cost = scale**2 * np.sum(bundle.weight[seen] * np.log1p((off[seen] / scale) ** 2))
    cost += scale**2 * np.sum(bundle.weight[~seen]) * np.log1p(100.0)
    free = bundle.spread > 0
    return float(cost + noise**2 * np.sum(((bundle.lenses - bundle.prior)[free] / bundle.spread[free]) ** 2))


def _linearised(
    bundle: Bundle, start: Ints, scale: float, noise: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Reduced matrix and right side, and what the points need to follow."""
    parts, right, inverse, pull, cross = _normal_equations(
        bundle.lenses,
        bundle.poses,
        bundle.camera,
        bundle.points,
        start,
        bundle.pose,
        bundle.xy,
        bundle.weight,
        scale,
    )
    matrix, vector = parts.sum(axis=0), right.sum(axis=0)
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    free = bundle.spread.ravel() > 0
    weight = np.where(free, (noise / np.where(free, bundle.spread.ravel(), 1.0)) ** 2, 0.0)
    matrix[np.arange(2 * LENS), np.arange(2 * LENS)] += weight
    vector[: 2 * LENS] += weight * (bundle.prior - bundle.lenses).ravel()
    return matrix, vector, inverse, pull, cross


def _moved(
    bundle: Bundle, start: Ints, system: tuple[Floats, Floats, Floats, Floats, Floats], damping: float
) -> Bundle | None:
    matrix, vector, inverse, pull, cross = system
    free = _free(bundle)
    inner = matrix[np.ix_(free, free)]
    diagonal = np.diag(inner).copy()
    inner[np.arange(len(free)), np.arange(len(free))] += damping * np.maximum(diagonal, 1e-6)
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        solution = cho_solve(cho_factor(inner, overwrite_a=True, check_finite=False), vector[free])
    except LinAlgError:
        return None
    step = np.zeros(len(vector))
    step[free] = solution
    if not np.isfinite(step).all():
        return None
    lenses = bundle.lenses + step[: 2 * LENS].reshape(2, LENS)
    if np.abs(step[[0, LENS]]).max() > 0.5:
        return None
    poses = _turned(bundle.poses, step[2 * LENS :].reshape(-1, POSE))
    points = bundle.points + _point_steps(inverse, pull, cross, start, bundle.pose, bundle.camera, step)
    return replace(bundle, lenses=lenses, poses=poses, points=points)


def _turned(poses: Floats, step: Floats) -> Floats:
    """Poses after a small turn and shift in their own frames."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_rotvec(step[:, :3]).as_matrix()
    out = np.einsum("nij,njk->nik", turn, poses)
    out[:, :, 3] += step[:, 3:]
    return out


@njit(cache=True)
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


@njit(cache=True, parallel=True)
def _distances(lenses, poses, camera, points, pose, point, xy):
    out = np.empty(len(pose))
    for o in prange(len(pose)):
        J_lens, J_pose, J_point = np.empty((2, 4)), np.empty((2, 6)), np.empty((2, 3))
        place = np.empty(2)
        n = pose[o]
        if _projected(lenses[camera[n]], poses[n], points[point[o]], J_lens, J_pose, J_point, place):
            out[o] = np.hypot(place[0] - xy[o, 0], place[1] - xy[o, 1])
        else:
            out[o] = np.inf
    return out


@njit(cache=True, parallel=True)
def _normal_equations(lenses, poses, camera, points, start, pose, xy, weight, scale):
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
    size = 2 * LENS + POSE * len(poses)
    parts, right = np.zeros((_BLOCKS, size, size)), np.zeros((_BLOCKS, size))
    inverse, pull = np.zeros((len(points), 3, 3)), np.zeros((len(points), 3))
    cross = np.zeros((len(pose), LENS + POSE, 3))
    for block in prange(_BLOCKS):
        S, g = parts[block], right[block]
        J, J_point, place = np.empty((2, LENS + POSE)), np.empty((2, 3)), np.empty(2)
        index = np.empty(LENS + POSE, np.int64)
        first, last = block * len(points) // _BLOCKS, (block + 1) * len(points) // _BLOCKS
        for p in range(first, last):
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
                _indices(index, c, n)
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
            _eliminate(S, g, W, v, cross, start[p], start[p + 1], pose, camera)
    return parts, right, inverse, pull, cross


@njit(cache=True)
def _indices(index, c, n):
    for i in range(LENS):
        index[i] = c * LENS + i
    for i in range(POSE):
        index[LENS + i] = 2 * LENS + POSE * n + i


@njit(cache=True)
def _eliminate(S, g, W, v, cross, first, last, pose, camera):
    """Subtract what a point takes up: E V^-1 E^T and E V^-1 v, with the lens rows of each camera joined."""
    joined = np.zeros((2, LENS, 3))
    for o in range(first, last):
        c = camera[pose[o]]
        for i in range(LENS):
            for j in range(3):
                joined[c, i, j] += cross[o, i, j]
    for c in range(2):
        for i in range(LENS):
            e = joined[c, i, 0] * W[0] + joined[c, i, 1] * W[1] + joined[c, i, 2] * W[2]
            g[c * LENS + i] -= e[0] * v[0] + e[1] * v[1] + e[2] * v[2]
            for d in range(c, 2):
                for j in range(LENS):
                    if d * LENS + j >= c * LENS + i:
                        q = joined[d, j]
                        S[c * LENS + i, d * LENS + j] -= e[0] * q[0] + e[1] * q[1] + e[2] * q[2]
            for o in range(first, last):
                at = 2 * LENS + POSE * pose[o]
                for j in range(POSE):
                    q = cross[o, LENS + j]
                    S[c * LENS + i, at + j] -= e[0] * q[0] + e[1] * q[1] + e[2] * q[2]
    for o in range(first, last):
        at = 2 * LENS + POSE * pose[o]
        for i in range(POSE):
            r = cross[o, LENS + i]
            e0 = r[0] * W[0, 0] + r[1] * W[1, 0] + r[2] * W[2, 0]
            e1 = r[0] * W[0, 1] + r[1] * W[1, 1] + r[2] * W[2, 1]
            e2 = r[0] * W[0, 2] + r[1] * W[1, 2] + r[2] * W[2, 2]
            g[at + i] -= e0 * v[0] + e1 * v[1] + e2 * v[2]
            for other in range(first, last):
                to = 2 * LENS + POSE * pose[other]
                if to < at:
                    continue
                for j in range(POSE):
                    if to + j >= at + i:
                        q = cross[other, LENS + j]
                        S[at + i, to + j] -= e0 * q[0] + e1 * q[1] + e2 * q[2]


@njit(cache=True, parallel=True)
def _point_steps(inverse, pull, cross, start, pose, camera, step):
    out = np.zeros((len(pull), 3))
    for p in prange(len(pull)):
        rest = pull[p].copy()
        for o in range(start[p], start[p + 1]):
            n = pose[o]
            for i in range(LENS):
                s = step[camera[n] * LENS + i]
                for j in range(3):
                    rest[j] -= cross[o, i, j] * s
            for i in range(POSE):
                s = step[2 * LENS + POSE * n + i]
                for j in range(3):
                    rest[j] -= cross[o, LENS + i, j] * s
        for i in range(3):
            out[p, i] = inverse[p, i, 0] * rest[0] + inverse[p, i, 1] * rest[1] + inverse[p, i, 2] * rest[2]
    return out


def resect(
    lens: Floats, pose: Floats, points: Floats, xy: Floats, weight: Floats, scale: float, steps: int = 12
) -> tuple[Floats, Floats]:
    """The pose from which points are best seen at their pixels, and how far off each one is, px."""
    now = np.array(pose)
    off, _ = _pose_step(lens, now, points, xy, weight, scale)
    for _ in range(steps):
        _, step = _pose_step(lens, now, points, xy, weight, scale)
        now = _turned(now[None], step[None])[0]
        if np.abs(step).max() < 1e-8:
            break
    off, _ = _pose_step(lens, now, points, xy, weight, scale)
    return now, off


@njit(cache=True)
def _pose_step(lens, pose, points, xy, weight, scale):
    """Distances (N,) of points from their pixels and the step of Gauss and Newton for the pose."""
    H, g, off = 1e-9 * np.eye(POSE), np.zeros(POSE), np.empty(len(points))
    J_lens, J_pose, J_point, place = np.empty((2, 4)), np.empty((2, 6)), np.empty((2, 3)), np.empty(2)
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
