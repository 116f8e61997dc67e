"""Fields of vectors, (H, W, 2): NumPy takes ten times as long over a last axis that short."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]
Mask = NDArray[np.bool_]


def vectors_where(mask: Mask, one: Field, other: Field) -> Field:
    """(H, W, 2): the vectors of ``one`` where the mask (H, W) is set, elsewhere those of ``other``."""
    whole = [whole_vectors(np.ascontiguousarray(each, np.float32)) for each in (one, other)]
    return np.where(mask, *whole)[..., None].view(np.float32)


def whole_vectors(field: Field) -> NDArray[np.int64]:
    """Of vectors (..., 2) each as one number, to be chosen or copied: a view (...,) of the same memory."""
    return field.view(np.int64)[..., 0]


def lengths(field: Field) -> Field:
    """(H, W) of the vectors."""
    x, y = field[..., 0], field[..., 1]
    return np.sqrt(x * x + y * y)


def stretched(field: Field, x: float, y: float) -> Field:
    """Every vector (x, y) times these, at the precision of the field."""
    height, width = field.shape[:2]
    factors = np.tile(np.array([x, y], field.dtype), width)
    return (field.reshape(height, -1) * factors).reshape(field.shape)


def outside(places: Field, width: int, height: int) -> Mask:
    """(H, W): places (x, y) that do not lie in a picture of this size."""
    x, y = places[..., 0], places[..., 1]
    return (x < 0) | (y < 0) | (x > width - 1) | (y > height - 1)
