"""Where depths of several pictures agree: what others confirm, and one cloud of all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.evidence.plane_search import lands
from wideflow.geometry import camera_to_world, pixel_grid, transfer, unproject
from wideflow.types import View

Floats = NDArray[np.float32]

WITHIN = 0.01  # of depth: what agrees
_ONE_SURFACE = 0.02  # of inverse depth, by which four neighbours differ that may be interpolated


def confirmed(here: View, inverse: Floats, others: list[View], theirs: list[Floats]) -> tuple[Floats, Floats]:
    """How many others' own depths agree with each pixel's, within 1 %, and how many could.

    Parameters
    ----------
    here : View
        Pinhole, as are the others.
    inverse : (H, W) float32
        Inverse depth; not above 0 where unknown.
    others : list of View
        Other pictures.
    theirs : list of (h, w) float32
        Their inverse depths.

    Returns
    -------
    agree, shown : (H, W) float32
        Pictures that agree, and pictures in which the point lies.
    """
    agree, shown = np.zeros(inverse.shape, np.float32), np.zeros(inverse.shape, np.float32)
    for view, there in zip(others, theirs, strict=True):
        H, e = transfer(here, view)
        _confirm(H, e, inverse, there, agree, shown)
    return agree, shown


@njit()
def _lookup(there, tx, ty):
    """Inverse depth at a place, between pixels where they are of one surface; 0 if unknown."""
    rows, columns = there.shape
    ix, iy = min(int(tx), columns - 2), min(int(ty), rows - 2)
    fx, fy = tx - ix, ty - iy
    a, b, c, d = there[iy, ix], there[iy, ix + 1], there[iy + 1, ix], there[iy + 1, ix + 1]
    least, most = min(min(a, b), min(c, d)), max(max(a, b), max(c, d))
    if least > 0 and most - least < _ONE_SURFACE * least:
        return (a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy
    return there[int(ty + 0.5), int(tx + 0.5)]


@njit()
def _confirm(H, e, inverse, there, agree, shown):
    rows, columns = there.shape
    for y in range(inverse.shape[0]):
        for x in range(inverse.shape[1]):
            depth = inverse[y, x]
            if not depth > 0:
                continue
            tx, ty, w = lands(H, e, x, y, depth)
            if not (0 <= tx <= columns - 1 and 0 <= ty <= rows - 1):
                continue
            shown[y, x] += 1
            found = _lookup(there, tx, ty)
            if found > 0 and abs(found * w / depth - 1) < WITHIN:
                agree[y, x] += 1


def world_points(view: View, inverse: Floats) -> NDArray[np.float64]:
    """(H, W, 3) world points of a picture's inverse depth; NaN where it is unknown."""
    height, width = inverse.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = np.where(inverse > 0, 1 / inverse.astype(np.float64), np.nan)
    return camera_to_world(view, unproject(view.camera, pixel_grid(width, height)) * depth[..., None])


def world_normals(view: View, planes: Floats) -> Floats:
    """(H, W, 3) unit normals, towards the camera, of planes (inverse depth, slopes to the right and down).

    A plane n . X = 1 in the camera's frame has inverse depth n . ray, linear in the pixel.
    """
    K = view.camera.K
    rows, columns = planes.shape[:2]
    grid = pixel_grid(columns, rows)
    # with the inverse depth at pixel (0, 0): (across, down, origin) . (x, y, 1) = n . K^-1 (x, y, 1)
    origin = planes[..., 0] - planes[..., 1] * grid[..., 0] - planes[..., 2] * grid[..., 1]
    linear = np.stack([planes[..., 1], planes[..., 2], origin], axis=-1)
    normal = -(linear @ K) @ view.R
    return (normal / np.maximum(np.linalg.norm(normal, axis=2, keepdims=True), 1e-30)).astype(np.float32)


class Fusion:
    """Points of many pictures, each surface once.

    A pixel that no point stands for yet becomes one, together with the pixels of other pictures that agree
    with it: their mean place and colour. Those pixels are done, then.
    """

    def __init__(self) -> None:
        self._taken: dict[int, NDArray[np.bool_]] = {}
        self._parts: list[tuple[Floats, NDArray[np.uint8], Floats]] = []

    def add(
        self,
        here: int,
        others: list[int],
        views: dict[int, View],
        planes: dict[int, Floats],
        kept: dict[int, NDArray[np.bool_]],
        colours: dict[int, NDArray[np.uint8]],
    ) -> None:
        """Add the points of one picture; all is given by numbers of pictures, for it and the others."""
        for i in (here, *others):
            self._taken.setdefault(i, ~kept[i])
        free = ~self._taken[here]
        inverse = np.where(free, planes[here][..., 0], 0).astype(np.float32)
        total = np.nan_to_num(world_points(views[here], inverse))
        colour = colours[here].astype(np.float32)
        count = free.astype(np.float32)
        for i in others:
            H, e = transfer(views[here], views[i])
            taken = self._taken[i]
            there = np.where(taken, 0, planes[i][..., 0]).astype(np.float32)
            points = np.nan_to_num(world_points(views[i], there))
            _gather(H, e, inverse, there, points, colours[i], taken, total, colour, count)
        self._taken[here][free] = True
        self._parts.append(
            (
                (total[free] / count[free, None]).astype(np.float32),
                np.rint(colour[free] / count[free, None]).astype(np.uint8),
                world_normals(views[here], planes[here])[free],
            )
        )

    def cloud(self) -> tuple[Floats, NDArray[np.uint8], Floats]:
        """Points, colours and normals, each (N, 3)."""
        points, colours, normals = zip(*self._parts, strict=True)
        return np.concatenate(points), np.concatenate(colours), np.concatenate(normals)


@njit()
def _gather(H, e, inverse, there, points, colours, taken, total, colour, count):
    rows, columns = there.shape
    for y in range(inverse.shape[0]):
        for x in range(inverse.shape[1]):
            depth = inverse[y, x]
            if not depth > 0:
                continue
            u, v, w = lands(H, e, x, y, depth)
            tx, ty = int(np.floor(u + 0.5)), int(np.floor(v + 0.5))
            if not (0 <= tx < columns and 0 <= ty < rows) or taken[ty, tx]:
                continue
            if abs(there[ty, tx] * w / depth - 1) < WITHIN:
                for k in range(3):
                    total[y, x, k] += points[ty, tx, k]
                    colour[y, x, k] += colours[ty, tx, k]
                count[y, x] += 1
                taken[ty, tx] = True
