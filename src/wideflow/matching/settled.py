"""Pixels that the last level leaves as the one before found them.

Where both directions agree and the flow around is smooth, a search at twice the size finds nothing that the
polish after it does not. What is left to search are edges, what is hidden, and what was mismatched.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import forward_backward_error
from wideflow.geometry.vectors import whole_vectors
from wideflow.matching.particles import Direction, Flows

Floats = NDArray[np.float32]

_SPAN = 5 / 3  # times the limit: most that each component of the flow may vary among neighbours
_NEIGHBOURS = np.ones((3, 3), np.uint8)


def settle(directions: Sequence[Direction], flows: Flows, limit: float) -> None:
    """Give both directions of a level the flow that needs no search there, and mark it.

    Parameters
    ----------
    directions : one or two of Direction
        Of the level, which is twice as large; changed in place.
    flows : pair of (h, w, 2) float32
        Of the level before, in its pixels, there and back.
    limit : float
        Most that the way back may miss, in pixels of the level before; 0: everything is searched.
    """
    if limit == 0:
        return
    for i, direction in enumerate(directions):
        flow = flows[i]
        height, width = direction.settled.shape
        size = 2 * flow.shape[1], 2 * flow.shape[0]
        calm = cv2.resize(
            _calm(flow, flows[1 - i], limit).view(np.uint8), size, interpolation=cv2.INTER_NEAREST
        )
        larger = cv2.resize(flow, size, interpolation=cv2.INTER_LINEAR)[:height, :width]
        direction.settled = calm[:height, :width].astype(np.bool_)
        best = whole_vectors(direction.flow)[..., 0]
        np.copyto(best, whole_vectors(larger * np.float32(2)), where=direction.settled)


def _calm(flow: Floats, back: Floats, limit: float) -> NDArray[np.bool_]:
    """Where all neighbours agree with the way back, and with each other."""
    error = cv2.dilate(forward_backward_error(flow, back), _NEIGHBOURS)
    span = cv2.dilate(flow, _NEIGHBOURS) - cv2.erode(flow, _NEIGHBOURS)
    most = _SPAN * limit
    return np.asarray((error <= limit) & (span[..., 0] <= most) & (span[..., 1] <= most))
