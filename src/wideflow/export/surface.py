"""Triangles over the pixels of a depth map, cut where depth jumps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.export.moments import trusted
from wideflow.export.options import ExportOptions
from wideflow.storage.result import Result

_JUMP = 0.02  # of inverse depth from a pixel to the next, beyond what the surface's slope explains
_SLOPE = 2.0  # how often the change beside it a step may be
_STEEPEST = 0.1  # of inverse depth: a surface that changes by more is seen edge on, if it is one


def moment_surface(
    result: Result, t: int, options: ExportOptions
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """What A shows at a moment as triangles between its pixels, of those that are trusted enough.

    Returns
    -------
    pixels : (N,) int
        Those that are corners, numbered row by row.
    faces : (M, 3) int
        Corners of each triangle, as numbers in ``pixels``.
    """
    depth = result.depth(t)
    faces = grid_faces(depth, np.isfinite(depth) & trusted(result, t, options))
    pixels, numbered = np.unique(faces, return_inverse=True)
    return pixels, numbered.reshape(-1, 3)


def grid_faces(depth: NDArray[np.float32], known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Faces over the grid of pixels, counter-clockwise as the camera sees them.

    Neighbours are of one surface unless their inverse depths differ by more than the changes on either side
    let expect: a floor at a slant stays whole, the rim of a thing is cut.

    Parameters
    ----------
    depth : (H, W) float32
        Above 0 where it is known.
    known : (H, W) bool
        Pixels that may be corners.

    Returns
    -------
    (M, 3) int64
        Pixels of each triangle, numbered row by row.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(known, 1 / depth.astype(np.float64), np.nan)
    across, down = _joined(inverse), _joined(inverse.T).T
    number = np.arange(depth.size).reshape(depth.shape)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]
    top, bottom, left, right = across[:-1], across[1:], down[:, :-1], down[:, 1:]
    whole = top & bottom & left & right
    corners = (  # a triangle at each corner of a square, by the two edges that meet there
        (top & left, (a, c, b)),
        (bottom & right, (d, b, c)),
        (top & right, (b, a, d)),
        (bottom & left, (c, d, a)),
    )
    faces, free = [], ~whole
    for _, corner in corners[:2]:
        faces.append(np.stack([each[whole] for each in corner], axis=1))
    for edges, corner in corners:
        chosen = free & edges
        faces.append(np.stack([each[chosen] for each in corner], axis=1))
        free &= ~chosen  # one is all that a broken square has room for
    return np.concatenate(faces)


def _joined(inverse: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(H, W - 1): whether each pixel and the one to its right are of one surface."""
    step = np.diff(inverse, axis=1)
    size = np.abs(step)
    beside = np.full((*size.shape, 2), np.nan)
    beside[:, 1:, 0], beside[:, :-1, 1] = size[:, :-1], size[:, 1:]
    usual = np.fmin(beside[..., 0], beside[..., 1])
    usual = np.where(np.isnan(usual), 0.0, usual)
    least = np.fmin(inverse[:, 1:], inverse[:, :-1])
    return size <= np.fmin(_JUMP * least + _SLOPE * usual, _STEEPEST * least)  # NaN is not
