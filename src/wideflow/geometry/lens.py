"""The lens: OpenCV's distortion model k1, k2, p1, p2 on normalised image coordinates, and its inverse.

A polynomial lens folds over beyond some radius: points farther out are thrown back into the picture. No
real lens does that, so both directions give NaN there instead of a wrong answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NEWTON_STEPS = 30
_TOLERANCE = 1e-13  # normalised units relative to 1 + |coordinate|: below 1e-9 px for any real picture
_TABLE_SIZE = 1025


def distort(distortion: Floats, ideal: Floats) -> Floats:
    """Where the lens puts ideal image points.

    Parameters
    ----------
    distortion : (4,) float64
        k1, k2, p1, p2.
    ideal : (..., 2) float64
        Normalised coordinates x / z, y / z.

    Returns
    -------
    (..., 2) float64
        Distorted normalised coordinates; NaN beyond the radius where the model folds over.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        distorted = _polynomial(distortion, ideal)
        return np.where(_before_fold(distortion, ideal)[..., None], distorted, np.nan)


def undistort(distortion: Floats, distorted: Floats) -> Floats:
    """Inverse of :func:`distort`, by Newton's method with the analytic Jacobian.

    Parameters
    ----------
    distortion : (4,) float64
        k1, k2, p1, p2.
    distorted : (..., 2) float64
        Distorted normalised coordinates.

    Returns
    -------
    (..., 2) float64
        Ideal normalised coordinates; NaN where no ideal point before the fold maps to the given one.
    """
    target = distorted.reshape(-1, 2)
    solution = np.full_like(target, np.nan)
    active = np.flatnonzero(np.isfinite(target).all(axis=-1))
    if active.size == 0:
        return solution.reshape(distorted.shape)
    limit = np.sqrt(_squared_fold_radius(distortion))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        point = _radial_guess(distortion, target[active])
        for _ in range(_NEWTON_STEPS):
            goal = target[active]
            residual = _polynomial(distortion, point) - goal
            error = np.hypot(residual[:, 0], residual[:, 1])
            done = error <= _TOLERANCE * (1 + np.hypot(goal[:, 0], goal[:, 1]))
            xx, xy, yy = _jacobian(distortion, point)
            dx = yy * residual[:, 0] - xy * residual[:, 1]
            dy = xx * residual[:, 1] - xy * residual[:, 0]
            point = point - np.stack([dx, dy], axis=-1) / (xx * yy - xy * xy)[:, None]
            # A step across the fold would find the wrong branch.
            point *= np.minimum(1.0, limit / np.hypot(point[:, 0], point[:, 1]))[:, None]
            solution[active[done]] = point[done]  # with the last step: it squares what was left of the error
            active, point = active[~done], point[~done]
            if active.size == 0:
                break
    return solution.reshape(distorted.shape)


def _polynomial(distortion: Floats, ideal: Floats) -> Floats:
    k1, k2, p1, p2 = distortion
    x, y = ideal[..., 0], ideal[..., 1]
    r2 = x * x + y * y
    radial = 1 + r2 * (k1 + r2 * k2)
    return np.stack(
        [
            x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
            y * radial + 2 * p2 * x * y + p1 * (r2 + 2 * y * y),
        ],
        axis=-1,
    )


def _jacobian(distortion: Floats, ideal: Floats) -> tuple[Floats, Floats, Floats]:
    """Entries xx, xy, yy of the (symmetric) Jacobian of :func:`_polynomial`."""
    k1, k2, p1, p2 = distortion
    x, y = ideal[..., 0], ideal[..., 1]
    r2 = x * x + y * y
    radial = 1 + r2 * (k1 + r2 * k2)
    slope = 2 * (k1 + 2 * k2 * r2)
    xx = radial + slope * x * x + 2 * p1 * y + 6 * p2 * x
    xy = slope * x * y + 2 * p1 * x + 2 * p2 * y
    yy = radial + slope * y * y + 6 * p1 * y + 2 * p2 * x
    return xx, xy, yy


def _squared_fold_radius(distortion: Floats) -> float:
    """r^2 where d/dr of r (1 + k1 r^2 + k2 r^4) first vanishes; infinity if it never does."""
    k1, k2 = distortion[:2]
    discriminant = 9 * k1 * k1 - 20 * k2
    # The root as 2 / (-b + sqrt(b^2 - 4 a)), which needs no special case for k2 = 0.
    reciprocal = np.sqrt(discriminant) - 3 * k1 if discriminant >= 0 else 0.0
    return float(2 / reciprocal) if reciprocal > 0 else np.inf


def _before_fold(distortion: Floats, ideal: Floats) -> NDArray[np.bool_]:
    r2 = ideal[..., 0] ** 2 + ideal[..., 1] ** 2
    xx, xy, yy = _jacobian(distortion, ideal)
    # Positive definite: twice turned over, the determinant is positive again.
    return (r2 < _squared_fold_radius(distortion)) & (xx > 0) & (xx * yy - xy * xy > 0)


def _radial_guess(distortion: Floats, distorted: Floats) -> Floats:
    """Ideal points from a table of the radial part alone, (N, 2): close enough for Newton's method."""
    k1, k2 = distortion[:2]
    radius = np.hypot(distorted[:, 0], distorted[:, 1])
    # Before the fold the radial factor never falls below 4/9, so no ideal radius exceeds 9/4 of these.
    limit = min(np.sqrt(_squared_fold_radius(distortion)), 2.25 * radius.max())
    # Denser towards the fold, where the inverse has a square-root singularity.
    ideal = limit * (1 - np.sqrt(1 - np.linspace(0.0, 0.9999, _TABLE_SIZE)))
    table = ideal * (1 + ideal**2 * (k1 + ideal**2 * k2))
    scale = np.interp(radius, table, ideal) / np.where(radius > 0, radius, 1.0)
    return distorted * scale[:, None]
