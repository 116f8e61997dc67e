"""A result at the pixels of the truth: both are ideal pictures, but of a found and of the true lens."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import ideal_camera, pixel_grid, project, unproject
from wideflow.types import Camera

Floats = NDArray[np.float64]
_ONE_SURFACE = 1.05  # ratio of the depths of neighbours up to which they are interpolated


def same_pixels(true: Camera, lens: Camera, ideal: Camera) -> Floats:
    """Where the pixels of the truth lie in the pictures of a result, (H, W, 2).

    Parameters
    ----------
    true : Camera
        The camera that filmed; the truth is that of its ideal picture.
    lens : Camera
        The same camera as a method has found it.
    ideal : Camera
        That of the pictures that the method made with ``lens``, without distortion.
    """
    on_film = project(true, unproject(ideal_camera(true), pixel_grid(true.width, true.height)))
    return project(ideal, unproject(lens, on_film))


def nearest(array: NDArray[Any], where: Floats) -> NDArray[Any]:
    """Values (H, W, ...) at the nearest pixels; NaN, or 0 of whole numbers, outside the picture."""
    height, width = array.shape[:2]
    with np.errstate(invalid="ignore"):
        x, y = (np.rint(where[..., i]) for i in range(2))
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    row, column = np.where(inside, y, 0).astype(np.intp), np.where(inside, x, 0).astype(np.intp)
    found = array[row, column].copy()
    found[~inside] = np.nan if array.dtype.kind == "f" else 0
    return found


def depth_at(depth: NDArray[Any], where: Floats) -> Floats:
    """Depth (H, W) between its pixels.

    Inverse depth is linear on a plane, so it is interpolated where the four pixels around lie on one surface;
    elsewhere the nearest pixel counts. On a floor seen at a grazing angle a pixel may be worth more than a
    per cent, which would be an error of the comparison and not of the method.
    """
    height, width = depth.shape
    value = np.where(depth > 0, depth, np.nan).astype(np.float64)
    near = nearest(value, where)
    with np.errstate(invalid="ignore"):
        x0, y0 = (np.floor(where[..., i] + 1e-6) for i in range(2))
        inside = (x0 >= 0) & (y0 >= 0) & (x0 < width - 1) & (y0 < height - 1)
    row, column = np.where(inside, y0, 0).astype(np.intp), np.where(inside, x0, 0).astype(np.intp)
    corners = [value[row + i, column + k] for i in (0, 1) for k in (0, 1)]
    with np.errstate(invalid="ignore"):
        dx, dy = (np.clip(where[..., i] - whole, 0, 1) for i, whole in ((0, x0), (1, y0)))
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
        smooth = inside & (high <= _ONE_SURFACE * low)
        upper = (1 - dx) / corners[0] + dx / corners[1]
        lower = (1 - dx) / corners[2] + dx / corners[3]
        return np.where(smooth, 1 / ((1 - dy) * upper + dy * lower), near)
