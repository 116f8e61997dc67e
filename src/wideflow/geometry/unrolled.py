"""Pictures of a rolling shutter as a shutter that opens at once would have taken them.

Rows are exposed one after the other. Frames before and after tell how each pixel crosses the picture, and so
where it was when the middle row was exposed: the time of the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry.camera import pixel_grid
from wideflow.geometry.one_time import way_back

Floats = NDArray[np.float32]
Grey = NDArray[np.uint8]
Number = TypeVar("Number", NDArray[np.float32], NDArray[np.float64])
Near = Sequence[tuple[float, Grey]]

# share of the picture's width by which a pixel may go on otherwise than it came; else it was hidden
_STEADY = 0.005
_WINDOW = 9  # px around a pixel that tell which of two ways it went


def find_crossing(picture: Grey, near: Near, readout: float) -> tuple[Floats, Floats]:
    """How pixels cross a picture: px a second, and the change of that, (H, W, 2) each.

    Parameters
    ----------
    picture : (H, W) uint8
        Brightness.
    near : sequence of (float, (H, W) uint8)
        Pictures before and after, one each at most, and the seconds from this one to them.
    readout : float
        Seconds from the first row to the last: what rises is exposed at shorter intervals.
    """
    speeds, unlike, when = [], [], []
    for seconds, other in near:
        flow = _flow(picture, other)
        passed = seconds + readout * flow[..., 1] / picture.shape[0]
        speeds.append(flow / passed[..., None])
        unlike.append(_unlike(picture, other, flow))
        when.append(seconds)
    still = np.zeros((*picture.shape, 2), np.float32)
    if not speeds:
        return still, still
    if len(speeds) == 1:
        return speeds[0].astype(np.float32), still
    apart = np.float32(0.5 * (when[1] - when[0]))  # between the middles of both ways
    change = (speeds[1] - speeds[0]) / apart
    at_once = speeds[0] - change * np.float32(0.5 * when[0])
    steady = np.linalg.norm(speeds[1] - speeds[0], axis=2) * abs(apart) < _STEADY * picture.shape[1]
    shown = np.where((unlike[0] < unlike[1])[..., None], *speeds)
    return (
        np.where(steady[..., None], at_once, shown).astype(np.float32),
        np.where(steady[..., None], change, 0).astype(np.float32),
    )


def unrolling(picture: Grey, near: Near, readout: float, delay: Floats) -> Floats:
    """Of every pixel of the picture that opens at once: px to where the rolling shutter has it, (H, W, 2).

    Parameters
    ----------
    picture, near, readout
        As for `find_crossing`.
    delay : (H, W) float32
        Seconds after the time of the picture at which each pixel was exposed.
    """
    return way_back(back_in_time(*find_crossing(picture, near, readout), delay))


def back_in_time(speed: Number, change: Number, late: Number) -> Number:
    """Px (..., 2) to where points were when the middle row was, ``late`` (...) seconds before their own."""
    late = late[..., None]
    return late * (0.5 * late * change - speed)


def _flow(one: Grey, two: Grey) -> Floats:
    return np.asarray(cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(one, two, None))


def _unlike(picture: Grey, other: Grey, flow: Floats) -> Floats:
    """Mean difference (H, W) of brightness around each pixel along a flow."""
    places = (pixel_grid(picture.shape[1], picture.shape[0]) + flow).astype(np.float32)
    shown = cv2.remap(other, places, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=0)
    return np.asarray(cv2.blur(cv2.absdiff(picture, shown).astype(np.float32), (_WINDOW, _WINDOW)))
