"""Points as a picture, on the CPU: each covers the gap to its neighbours, and the nearest are mixed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit, over_rows
from wideflow.geometry import project, world_to_camera
from wideflow.types import Array, View

_SAME_SURFACE = 0.1  # neighbours whose depths differ by more of it lie on different surfaces
_MOST = 5.0  # times its own width that a point may be drawn: beyond, the surface is seen edge on
_FAR = 1e6  # px beyond which a point is not in any picture
_STRIPS = 8
_MIXED = 0.02  # points behind the nearest by less of its depth are mixed with it


def draw_points(
    points: NDArray[np.float32],
    colours: NDArray[np.uint8],
    shown: NDArray[np.bool_],
    spacing: NDArray[np.float32],
    view: View,
    background: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Draw a grid of points as another camera sees them.

    Parameters
    ----------
    points : (H, W, 3) float32
        World coordinates; what is not finite is not drawn.
    colours : (H, W, 3) uint8
        RGB.
    shown : (H, W) bool
        Which points are drawn.
    spacing : (H, W) float32
        World units that a point spans in the picture it comes from.
    view : View
        The camera that looks, without distortion.
    background : (h, w, 3) uint8
        Picture of the view's size that is seen where no point is.

    Returns
    -------
    picture : (h, w, 3) uint8
        RGB.
    depth : (h, w) float32
        Of the nearest point in each pixel, world units; infinite where there is none.
    """
    local = world_to_camera(view, points.astype(np.float64))
    depth = np.where(shown & np.isfinite(local).all(axis=2), local[..., 2], -1.0)
    safe = np.where((depth > 0)[..., None], local, (0.0, 0.0, 1.0))
    places = project(view.camera, safe)
    depth[(np.abs(places) > _FAR).any(axis=2)] = -1
    radii = np.zeros((*depth.shape, 2))
    _radii(places, depth, spacing.astype(np.float64) * view.camera.K[0, 0], radii)
    picture = background.copy()
    nearest = np.full(picture.shape[:2], np.inf, np.float32)
    _draw(_STRIPS, places, depth, radii, colours, picture, nearest)
    return picture, nearest


@njit()
def _radii(places: Array, depth: Array, width: Array, radii: Array) -> None:
    """Half the size of each point, px: its own, or up to the nearer neighbour in a row or column."""
    rows, columns = depth.shape
    for y in range(rows):
        for x in range(columns):
            z = depth[y, x]
            if z <= 0:
                continue
            own = width[y, x] / z
            for axis in range(2):
                reach = own
                for dx, dy in ((1, 0), (0, 1)):
                    gap = np.inf
                    for side in (-1, 1):
                        v, u = y + side * dy, x + side * dx
                        apart = 0.0
                        inside = 0 <= v < rows and 0 <= u < columns
                        if inside and depth[v, u] > 0 and abs(depth[v, u] - z) < _SAME_SURFACE * z:
                            apart = abs(places[v, u, axis] - places[y, x, axis])
                        gap = min(gap, apart)
                    reach = max(reach, gap)
                radii[y, x, axis] = 0.6 * min(reach, _MOST * own) + 0.25


@over_rows()
def _draw(
    first: int,
    end: int,
    places: Array,
    depth: Array,
    radii: Array,
    colours: Array,
    picture: Array,
    all_nearest: Array,
) -> None:
    """Draw strips of the picture side by side; a pixel meets the points in one order, in any strip."""
    height = picture.shape[0]
    for strip in range(first, end):
        top, bottom = strip * height // _STRIPS, (strip + 1) * height // _STRIPS
        nearest = all_nearest[top:bottom]
        mixed = np.zeros((bottom - top, picture.shape[1], 4), np.float32)
        _find_nearest(places, depth, radii, top, nearest)
        _mix(places, depth, radii, colours, top, nearest, mixed)
        for v in range(mixed.shape[0]):
            for u in range(mixed.shape[1]):
                if mixed[v, u, 3] > 0:
                    for channel in range(3):
                        picture[top + v, u, channel] = round(mixed[v, u, channel] / mixed[v, u, 3])


@njit()
def _box(
    x: float, y: float, across: float, down: float, first: int, shape: tuple[int, int]
) -> tuple[int, int, int, int]:
    """First and last column and row of a strip that a point covers; none if it is outside."""
    left, right = max(0, int(np.ceil(x - across))), min(shape[1] - 1, int(np.floor(x + across)))
    top, bottom = max(0, int(np.ceil(y - down)) - first), min(shape[0] - 1, int(np.floor(y + down)) - first)
    return left, right, top, bottom


@njit()
def _find_nearest(places: Array, depth: Array, radii: Array, first: int, nearest: Array) -> None:
    for y in range(depth.shape[0]):
        for x in range(depth.shape[1]):
            z = np.float32(depth[y, x])
            if z <= 0:
                continue
            left, right, top, bottom = _box(
                places[y, x, 0], places[y, x, 1], radii[y, x, 0], radii[y, x, 1], first, nearest.shape
            )
            for v in range(top, bottom + 1):
                for u in range(left, right + 1):
                    nearest[v, u] = min(nearest[v, u], z)


@njit()
def _mix(
    places: Array, depth: Array, radii: Array, colours: Array, first: int, nearest: Array, mixed: Array
) -> None:
    """Add up the colours of all points near the front, more of those whose centre is close."""
    for y in range(depth.shape[0]):
        for x in range(depth.shape[1]):
            z = np.float32(depth[y, x])
            if z <= 0:
                continue
            wide, tall = radii[y, x, 0], radii[y, x, 1]
            left, right, top, bottom = _box(
                places[y, x, 0], places[y, x, 1], wide, tall, first, nearest.shape
            )
            for v in range(top, bottom + 1):
                down = (first + v - places[y, x, 1]) / tall
                for u in range(left, right + 1):
                    if z > nearest[v, u] * (1 + _MIXED):
                        continue
                    across = (u - places[y, x, 0]) / wide
                    near = (1.05 - across * across) * (1.05 - down * down)  # above 0 in all of the box
                    weight = np.float32(near * near / (wide * tall))
                    for channel in range(3):
                        mixed[v, u, channel] += weight * colours[y, x, channel]
                    mixed[v, u, 3] += weight
