"""Pictures that two cameras took at different moments, brought to one moment.

Between two pictures of a camera, a point is taken to cross the picture evenly and the camera to move evenly.
Both are then known shortly before and after the pictures too. What stands still agrees with such a camera
whatever the hand did in between, and what moves is seen by both cameras at one moment.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry.camera import pixel_grid
from wideflow.geometry.pose import interpolate_pose
from wideflow.geometry.vectors import lengths, vectors_where, whole_vectors
from wideflow.types import RigFrame, View

Floats = NDArray[np.float32]

_ROUNDS = 4  # of the search for where a pixel of the moved picture came from
_EDGE = 1.0  # px between the values around a place from which they belong to different things


def moved_in_time(now: RigFrame, after: RigFrame, camera: int, which: int) -> tuple[float, View]:
    """How far a camera's picture must be moved to the time of the other's, and the camera there.

    Parameters
    ----------
    now, after : RigFrame
        Two frames of a rig, the second later than the first.
    camera : {0, 1}
        Whose picture is moved.
    which : {0, 1}
        That of ``now`` or that of ``after``.

    Returns
    -------
    share : float
        Of the way that a point goes from the camera's one picture to its other one, to be added to its place;
        0 if both are the same picture.
    view : View
    """
    frame, step = (now, after)[which], after.times[camera] - now.times[camera]
    if not (frame.late and step > 0):
        return 0.0, frame.views[camera]
    share = (-frame.late if camera else frame.late) / step
    one, two = (each.views[camera].cam_from_world for each in (now, after))
    return share, View(frame.views[camera].camera, interpolate_pose(one, two, which + share))


def way_back(way: Floats) -> Floats:
    """Of pixels that go their ways (H, W, 2): px from each pixel to where what arrives there came from."""
    grid = pixel_grid(way.shape[1], way.shape[0]).astype(np.float32)
    back = -way
    for _ in range(_ROUNDS):
        back = -_linear(way, grid + back)
    return back


def moved_picture(picture: Floats, back: Floats) -> Floats:
    """A picture (H, W, 3) in 0..1 whose pixels have moved, by the way back (H, W, 2) of what arrives."""
    places = (pixel_grid(back.shape[1], back.shape[0]) + back).astype(np.float32)
    moved = cv2.remap(picture, places, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(np.clip(moved, 0, 1))


def value_at(field: Floats, places: NDArray[np.floating]) -> Floats:
    """A field (H, W) or (H, W, 2) at places (h, w, 2): between pixels, but not across the edge of a thing."""
    height, width = field.shape[:2]
    at = np.empty(places.shape, np.float32)
    nearest_pixel = np.zeros(places.shape[:2], np.intp)
    for i, (last, step) in enumerate(((width - 1, 1), (height - 1, width))):
        inside = np.clip(np.nan_to_num(places[..., i]), 0, last)
        at[..., i] = inside
        nearest_pixel += np.rint(inside).astype(np.intp) * step
    if field.ndim == 2:
        return field.take(nearest_pixel)
    field = np.ascontiguousarray(field, np.float32)
    nearest = whole_vectors(field).take(nearest_pixel)[..., None].view(np.float32)
    between = _linear(field, at)
    return vectors_where(lengths(between - nearest) < _EDGE, between, nearest)


def _linear(field: Floats, places: Floats) -> Floats:
    return np.asarray(cv2.remap(field, places, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))
