"""What pixels tell each other across a picture, as far as its edges let them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import over_rows

Floats = NDArray[np.float32]

_REACH = 0.06  # how far the evidence of a pixel reaches, as a share of the picture's longest side
_EDGE = 0.12  # step of colour, 0..1, that holds evidence back as much as that reach
_ROUNDS = 2  # the second reaches half as far, and takes away the stripes of the first
_BLOCK = 16  # columns at a time, so that what lies side by side is read together


class EdgeAware:
    """A smoothing filter that stops at the edges of a picture (h, w, 3) float32; its cost knows no reach."""

    def __init__(self, picture: Floats) -> None:
        sigma = _REACH * max(picture.shape[:2])
        guide = cv2.GaussianBlur(picture, (0, 0), 0.8)
        steps = cv2.absdiff(guide[:, 1:], guide[:, :-1]), cv2.absdiff(guide[1:], guide[:-1])
        across, down = (1 + sigma / _EDGE * (r + g + b) for r, g, b in (np.moveaxis(s, 2, 0) for s in steps))
        reaches = [sigma / 2**i for i in range(_ROUNDS)]
        self._kept = [(np.exp(-across / s), np.exp(-down / s)) for s in reaches]

    def spread(self, values: Floats) -> None:
        """Let each pixel's values (h, w, n) reach its surroundings; in place."""
        for across, down in self._kept:
            _smooth_rows(len(values), values, across)
            _smooth_columns(-(-values.shape[1] // _BLOCK), values, down)


@over_rows()
def _smooth_rows(first, end, values, keep):
    """Recursive filter along each row, forward and backward; ``keep`` is what passes to the next pixel."""
    _, columns, n = values.shape
    for r in range(first, end):
        for c in range(1, columns):
            for k in range(n):
                values[r, c, k] += keep[r, c - 1] * (values[r, c - 1, k] - values[r, c, k])
        for c in range(columns - 2, -1, -1):
            for k in range(n):
                values[r, c, k] += keep[r, c] * (values[r, c + 1, k] - values[r, c, k])


@over_rows()
def _smooth_columns(first, end, values, keep):
    rows, columns, n = values.shape
    for block in range(first, end):
        left, right = block * _BLOCK, min((block + 1) * _BLOCK, columns)
        for r in range(1, rows):
            for c in range(left, right):
                for k in range(n):
                    values[r, c, k] += keep[r - 1, c] * (values[r - 1, c, k] - values[r, c, k])
        for r in range(rows - 2, -1, -1):
            for c in range(left, right):
                for k in range(n):
                    values[r, c, k] += keep[r, c] * (values[r + 1, c, k] - values[r, c, k])
