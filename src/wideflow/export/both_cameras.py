"""What data sets want of both cameras' pictures: depth, and what moves, also where only A's are computed."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.export.moments import trusted
from wideflow.export.moving import moving_mask
from wideflow.export.options import ExportOptions
from wideflow.geometry import inside_picture, project, world_to_camera
from wideflow.storage.result import Result


def other_result(result: Result) -> Result | None:
    """The result of the other camera's pictures, if the run had both views."""
    if "depth_b" not in result.store.names:
        return None
    return Result(str(result.place), "b" if result.view == "a" else "a")


def moving_masks(
    result: Result, other: Result | None, t: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """What moves in the pictures of A and B, (H, W) each; None if the result does not tell.

    Without a result of B's pictures, what A shows there decides, and where A shows nothing, the nearest pixel
    that it does show.
    """
    if not result.has("moving"):
        return None
    moving = moving_mask(result, t)
    if other is not None and other.has("moving"):
        return moving, moving_mask(other, t)
    width, height = result.size_b
    carried = np.zeros((height, width), np.bool_)
    unseen = np.ones((height, width), np.uint8)
    (v, u), (y, x), _ = a_in_b(result, t, ExportOptions())
    if len(v) == 0:
        return moving, carried
    carried[v, u] = moving[y, x]
    unseen[v, u] = 0
    _, nearest = cv2.distanceTransformWithLabels(
        unseen, cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL
    )
    found = np.zeros(int(nearest.max()) + 1, np.bool_)
    found[nearest[v, u]] = carried[v, u]
    return moving, found[nearest]


def depths(
    result: Result, other: Result | None, t: int, options: ExportOptions
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Depth of the pictures of A and B, (H, W) each, world units, NaN where unknown.

    Without a result of B's pictures, B has the depth of the points of A that it sees, each on one pixel.
    """
    known = known_depth(result, t, options)
    if other is not None:
        return known, known_depth(other, t, options)
    width, height = result.size_b
    carried = np.full((height, width), np.nan, np.float32)
    (v, u), _, depth = a_in_b(result, t, options)
    carried[v, u] = depth
    return known, carried


def known_depth(result: Result, t: int, options: ExportOptions) -> NDArray[np.float32]:
    """(H, W) depth of A's pictures, NaN where it is unknown or not confident enough."""
    return np.where(trusted(result, t, options), result.depth(t), np.float32(np.nan))


Pixels = tuple[NDArray[np.intp], NDArray[np.intp]]


def a_in_b(result: Result, t: int, options: ExportOptions) -> tuple[Pixels, Pixels, NDArray[np.float32]]:
    """Rows and columns in B, those in A, and the depth in B of all points that both see; the nearest last."""
    keep = np.isfinite(result.depth(t)) & trusted(result, t, options) & ~result.occluded(t)
    y, x = np.nonzero(keep)
    view = result.frame(t).views[1]
    local = world_to_camera(view, result.points(t)[y, x].astype(np.float64))
    ahead = local[:, 2] > 0
    y, x, local = y[ahead], x[ahead], local[ahead]
    pixels = project(view.camera, local)
    order = np.flatnonzero(inside_picture(view.camera, pixels))
    order = order[np.argsort(-local[order, 2], kind="stable")]
    # the last half pixel could be rounded out of the picture
    u, v = np.minimum(np.rint(pixels[order]), np.array(view.camera.size) - 1).astype(np.intp).T
    return (v, u), (y[order], x[order]), local[order, 2].astype(np.float32)
