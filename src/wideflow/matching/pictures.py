"""Pictures as users have them, made ready for matching."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import InputError

_SMALLEST = 8  # px of a side below which there is nothing to describe


def checked_picture(array: ArrayLike, which: str) -> NDArray[np.float32]:
    """(H, W, 3) float32 in 0..1 of any picture that NumPy users have."""
    try:
        picture = np.asarray(array)
    except ValueError as error:
        raise InputError(f"the {which} picture is not an array; its rows differ in length") from error
    if picture.dtype.kind not in "buif":
        raise InputError(
            f"the {which} picture holds {picture.dtype} instead of numbers; read it with read_image"
        )
    if picture.ndim == 3 and picture.shape[2] in (1, 2):  # grey, with or without alpha
        picture = picture[..., 0]
    if picture.ndim == 2:
        picture = np.repeat(picture[..., None], 3, axis=2)
    if picture.ndim != 3 or picture.shape[2] not in (3, 4):
        raise InputError(f"the {which} picture has shape {np.shape(array)}; it must be (H, W) or (H, W, 3)")
    if min(picture.shape[:2]) < _SMALLEST:
        size = f"{picture.shape[1]}x{picture.shape[0]}"
        raise InputError(
            f"the {which} picture is {size}; matching needs at least {_SMALLEST} pixels each way"
        )
    if picture.dtype in (np.uint8, np.uint16):
        picture = picture / np.float32(np.iinfo(picture.dtype).max)
    picture = np.ascontiguousarray(picture[..., :3], np.float32)
    if not np.isfinite(picture).all():
        raise InputError(f"the {which} picture holds values that are not finite")
    if picture.min() < -0.01 or picture.max() > 1.01:
        raise InputError(
            f"the {which} picture has values outside 0..1; scale it, or give it as uint8 or uint16"
        )
    return picture
