"""A moment of a result as tracking needs it, and the flow backwards, which results do not have."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.storage.result import Result
from wideflow.tracks.state import Doubles, Floats
from wideflow.types import View

_SURFACE = 0.1  # share of depth by which what is seen at two moments in a row may differ
_BLUR = 0.8  # px: noise and the raster of pixels shift no patch then


class Moment(NamedTuple):
    """What is known of camera A's picture at a moment; maps are of (H, W).

    Attributes
    ----------
    forth, back : (3, 4) float64
        From world to pixels times depth, and from pixels times depth to world.
    picture : float32
        Grey levels, 0 to 255.
    depth : float32
        World units, NaN where unknown.
    nearest, farthest : float32
        The least and the largest depth of the pixels around each.
    confidence : float32
        Chance that depth is within five percent; within one, for results that do not tell.
    moving : float32
        Chance that the world moved there.
    """

    forth: Doubles
    back: Doubles
    picture: Floats
    depth: Floats
    nearest: Floats
    farthest: Floats
    confidence: Floats
    moving: Floats


def read_moment(result: Result, t: int) -> Moment:
    """Read it; a result that is too old to tell what moves is taken to move everywhere."""
    grey = cv2.cvtColor(result.picture_a(t), cv2.COLOR_RGB2GRAY).astype(np.float32)
    depth = result.depth(t)
    confidence = result.confidence_5(t) if result.has("confidence_5") else result.confidence(t)
    moving = result.moving(t) if result.has("moving") else np.ones_like(depth)
    picture = cv2.GaussianBlur(grey, (0, 0), _BLUR)
    around = np.ones((3, 3), np.uint8)
    nearest = cv2.erode(np.where(depth > 0, depth, np.inf).astype(np.float32), around)
    farthest = cv2.dilate(np.where(depth > 0, depth, 0).astype(np.float32), around)
    return Moment(*lens(result.frame(t).views[0]), picture, depth, nearest, farthest, confidence, moving)


def flow_to(result: Result, now: Moment, t: int, then: Moment, target: int) -> Floats:
    """(H, W, 2) px from A at t (``now``) to A at the moment before or after (``then``); NaN where unknown.

    Backwards, it is the flow of the moment before, laid down where it leads. A pixel takes that of the place
    which leads nearest to it, of those of about its depth; where none does, A did not see it before.
    """
    if target > t:
        return np.asarray(result.optical_flow_a(t), np.float32)
    forward = np.asarray(result.optical_flow_a(target), np.float32)
    back = np.full_like(forward, np.nan)
    _lay_down(forward, then.depth, now.depth, back)
    return back


@njit()
def _lay_down(
    forward: NDArray[Any], depth_then: NDArray[Any], depth_now: NDArray[Any], back: NDArray[Any]
) -> None:
    height, width = depth_now.shape
    nearest = np.full((height, width), np.inf, np.float32)
    for y in range(height):
        for x in range(width):
            u, v = x + forward[y, x, 0], y + forward[y, x, 1]
            z = depth_then[y, x]
            if not (z > 0 and -1 < u < width and -1 < v < height):
                continue
            left, top = int(np.floor(u)), int(np.floor(v))
            for j in range(max(top, 0), min(top + 2, height)):
                for i in range(max(left, 0), min(left + 2, width)):
                    away = (i - u) ** 2 + (j - v) ** 2
                    if away < nearest[j, i] and abs(depth_now[j, i] - z) < _SURFACE * z:
                        nearest[j, i] = away
                        back[j, i, 0], back[j, i, 1] = -forward[y, x, 0], -forward[y, x, 1]


def lens(view: View) -> tuple[Doubles, Doubles]:
    """(3, 4) from world to pixels times depth, and (3, 4) from pixels times depth to world."""
    forth = view.camera.K @ view.cam_from_world
    back = view.R.T @ np.linalg.inv(view.camera.K)
    return forth, np.column_stack([back, view.centre])
