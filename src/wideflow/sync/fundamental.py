"""Fundamental matrices of many frames at once, from points that are mostly still."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import sampson_distance

Points = NDArray[np.float64]
_ROUNDS = 3
_FINEST = 0.2  # px: no residual spread is believed to be below this


def fit_fundamental(x: Points, y: Points) -> NDArray[np.float64]:
    """Normalised eight-point fit, reweighted a few times so that points that stray count less.

    Parameters
    ----------
    x : (N, 2) float64
        Points of the first picture.
    y : (T, N, 2) float64
        The same points in T other pictures; NaN where not seen.

    Returns
    -------
    (T, 3, 3) float64
        yᵀ F x = 0 for each picture; of arbitrary sign, NaN where fewer than 8 points are seen.
    """
    seen = np.isfinite(y[..., 0])
    filled = np.where(seen[..., None], y, 0.0)
    Tx, Ty = _normaliser(x[None], np.ones((1, len(x)), np.bool_))[0], _normaliser(filled, seen)
    hx = _homogeneous(x) @ Tx.T
    hy = _homogeneous(filled) @ Ty.transpose(0, 2, 1)
    rows = (hy[..., :, None] * hx[:, None, :]).reshape(*seen.shape, 9)
    weight = seen.astype(float)
    F = np.zeros((len(y), 3, 3))
    for _ in range(_ROUNDS):
        scatter = (rows * weight[..., None]).transpose(0, 2, 1) @ rows
        raw = np.linalg.eigh(scatter)[1][:, :, 0].reshape(-1, 3, 3)
        U, s, Vt = np.linalg.svd(raw)
        s[:, 2] = 0
        F = Ty.transpose(0, 2, 1) @ ((U * s[:, None, :]) @ Vt) @ Tx
        distance = np.abs(sampson_distance(F, x, filled))
        spread = _median_where(distance, seen)
        weight = seen / (1 + (distance / (2 * spread[:, None])) ** 2) ** 2
    F[seen.sum(axis=1) < 8] = np.nan
    return F


def _homogeneous(points: Points) -> NDArray[np.float64]:
    return np.concatenate([points, np.ones((*points.shape[:-1], 1))], axis=-1)


def _normaliser(points: Points, seen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(T, 3, 3): centre at the origin, mean distance from it the root of 2."""
    count = np.maximum(seen.sum(axis=1), 1)[:, None]
    centre = (points * seen[..., None]).sum(axis=1) / count
    radius = (np.linalg.norm(points - centre[:, None], axis=2) * seen).sum(axis=1) / count[:, 0]
    scale = np.sqrt(2) / np.maximum(radius, 1e-9)
    out = np.zeros((len(points), 3, 3))
    out[:, 0, 0] = out[:, 1, 1] = scale
    out[:, :2, 2] = -scale[:, None] * centre
    out[:, 2, 2] = 1
    return out


def _median_where(values: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Spread of each row from the median of its known values."""
    out = np.full(len(values), _FINEST)
    for row, (value, mask) in enumerate(zip(values, known, strict=True)):
        if mask.any():
            out[row] = max(1.4826 * float(np.median(value[mask])), _FINEST)
    return out
