"""Black borders: bars that were added to a video, or what a stabiliser leaves where it shifts the picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLACK = 20  # of 255: the brightest pixel of a row of a border, which compression leaves not quite black
_NARROW = 0.01  # of the side below which a border is none


def borders(grey: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Width (4,) of the black borders left, right, above and below, as shares of the picture's side."""
    columns, rows = grey.max(axis=0) > _BLACK, grey.max(axis=1) > _BLACK
    found = []
    for lit in (columns, columns[::-1], rows, rows[::-1]):
        width = float(np.argmax(lit)) / len(lit) if lit.any() else 0.0  # all black is night, not a border
        found.append(width if width >= _NARROW else 0.0)
    return np.array(found)
