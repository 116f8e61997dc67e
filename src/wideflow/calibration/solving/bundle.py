"""Bundle adjustment: lenses, poses and points that explain all sightings, robustly and with priors.

Levenberg-Marquardt on the reduced system of the cameras (the points are eliminated by Schur's complement),
under a Cauchy loss. Sums run over a fixed number of blocks of points, so the same bits come out for any
number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.solving.bundle_kernels import (
    LENS,
    POSE,
    distances,
    normal_equations,
    point_steps,
    pose_step,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# px of a picture 640 wide: of a sighting, if all of them were independent. They scatter by 0.15, but windows
# overlap and pictures are compared again and again: the lenses err as if a sighting were that much worse
NOISE = 1.0
_TRIES = 16  # dampings of a step, each eight times the one before


@dataclass(frozen=True, eq=False)
class Bundle:
    """Lenses, poses, points, and where these were seen.

    Attributes
    ----------
    lenses : (L, 4) float64
        log of the focal length, cx, cy in px, k1.
    prior, spread : (L, 4) float64
        What is known of the lenses beforehand, and its standard deviation; 0: not to be changed.
    poses : (n, 3, 4) float64
        cam_from_world.
    camera : (n,) int64
        Lens of every pose.
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
    cost = cost_of(now, scale, noise)
    for _ in range(steps):
        system = _linearised(now, start, scale, noise)
        for _ in range(_TRIES):
            moved = _moved(now, start, system, damping)
            lower = cost_of(moved, scale, noise) if moved is not None else np.inf
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
        distances(
            bundle.lenses, bundle.poses, bundle.camera, bundle.points, bundle.pose, bundle.point, bundle.xy
        )
    )


def deviations(bundle: Bundle, scale: float, noise: float) -> tuple[Floats, Floats]:
    """What the sightings leave open of the lenses: independent steps of one standard deviation each.

    Parameters
    ----------
    bundle : Bundle
        Adjusted.
    scale : float
        Pixels from which a sighting counts less and less.
    noise : float
        Standard deviation of a sighting, px, if all of them were independent.

    Returns
    -------
    lenses : (m, L, 4) float64
        One for every parameter of a lens that is not known.
    poses : (m, n, 6) float64
        How the poses follow: small turns and shifts in the cameras' frames.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    start = np.searchsorted(bundle.point, np.arange(len(bundle.points) + 1))
    matrix = _linearised(bundle, start, scale, noise)[0]
    free = _free(bundle)
    count = int(np.count_nonzero(bundle.spread))
    steps = np.zeros((count, len(matrix)))
    first = np.eye(len(free), count)
    try:
        columns = cho_solve(cho_factor(matrix[np.ix_(free, free)]), first) if count else first
        # the covariance of all with the lenses, then a square root of that of the lenses themselves
        root = np.linalg.cholesky(columns[:count])
        steps[:, free] = noise * np.linalg.solve(root, columns.T)
    except (LinAlgError, np.linalg.LinAlgError):
        steps = steps[:0]  # nothing holds them: other witnesses say so
    size = bundle.lenses.size
    return steps[:, :size].reshape(-1, *bundle.lenses.shape), steps[:, size:].reshape(
        len(steps), len(bundle.poses), POSE
    )


def _free(bundle: Bundle) -> Ints:
    lens = np.flatnonzero(bundle.spread.ravel() > 0)
    pose = np.flatnonzero(np.repeat(~bundle.fixed, POSE)) + bundle.lenses.size
    return np.concatenate([lens, pose])


def cost_of(bundle: Bundle, scale: float, noise: float) -> float:
    """What `adjust` makes least: the Cauchy loss of all sightings, and that of the priors."""
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
    parts, right, inverse, pull, cross = normal_equations(
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
    rows = np.arange(len(weight))
    matrix[rows, rows] += weight
    vector[rows] += weight * (bundle.prior - bundle.lenses).ravel()
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
    count = len(bundle.lenses)
    lens_step = step[: LENS * count].reshape(count, LENS)
    if np.abs(lens_step[:, 0]).max() > 0.5:
        return None
    poses = _turned(bundle.poses, step[LENS * count :].reshape(-1, POSE))
    points = bundle.points + point_steps(inverse, pull, cross, start, bundle.pose, bundle.camera, step, count)
    return replace(bundle, lenses=bundle.lenses + lens_step, poses=poses, points=points)


def _turned(poses: Floats, step: Floats) -> Floats:
    """Poses after a small turn and shift in their own frames."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_rotvec(step[:, :3]).as_matrix()
    out = np.einsum("nij,njk->nik", turn, poses)
    out[:, :, 3] += step[:, 3:]
    return out


def resect(
    lens: Floats, pose: Floats, points: Floats, xy: Floats, weight: Floats, scale: float, steps: int = 12
) -> tuple[Floats, Floats]:
    """The pose from which points are best seen at their pixels, and how far off each one is, px."""
    now = np.array(pose)
    off, _ = pose_step(lens, now, points, xy, weight, scale)
    for _ in range(steps):
        _, step = pose_step(lens, now, points, xy, weight, scale)
        now = _turned(now[None], step[None])[0]
        if np.abs(step).max() < 1e-8:
            break
    off, _ = pose_step(lens, now, points, xy, weight, scale)
    return now, off
