"""Pictures as users have them, checked and in one form, and as OpenCV wants them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import InputError


def checked_picture(
    array: ArrayLike, name: str = "the picture", smallest: int = 1, alpha: bool = True
) -> NDArray[np.float32]:
    """(H, W, 3) float32 in 0..1 of any picture that NumPy users have.

    Parameters
    ----------
    array : (H, W), (H, W, 1 to 4), uint8, uint16 or float in 0..1
        Grey or RGB.
    name : str
        What messages call it.
    smallest : int
        Pixels that each side must have.
    alpha : bool
        Whether a channel of transparency may be there, to be left out.
    """
    try:
        picture = np.asarray(array)
    except ValueError as error:
        raise InputError(f"{name} is not an array; its rows differ in length") from error
    if picture.dtype.kind not in "buif":
        raise InputError(f"{name} holds {picture.dtype} instead of numbers; read it with read_image")
    if picture.ndim == 3 and picture.shape[2] in (1, 1 + alpha):  # grey
        picture = picture[..., 0]
    if picture.ndim == 2:
        picture = np.repeat(picture[..., None], 3, axis=2)
    if picture.ndim != 3 or picture.shape[2] not in (3, 3 + alpha):
        raise InputError(f"{name} has shape {np.shape(array)}; it must be (H, W) or (H, W, 3)")
    if min(picture.shape[:2]) < smallest:
        size = f"{picture.shape[1]}x{picture.shape[0]}"
        raise InputError(f"{name} is {size}; matching needs at least {smallest} pixels each way")
    if picture.dtype in (np.uint8, np.uint16):
        picture = picture / np.float32(np.iinfo(picture.dtype).max)
    picture = np.ascontiguousarray(picture[..., :3], np.float32)
    least, most = picture.min(), picture.max()  # NaN if there is any
    if not (np.isfinite(least) and np.isfinite(most)):
        raise InputError(f"{name} holds values that are not finite")
    if least < -0.01 or most > 1.01:
        raise InputError(f"{name} has values outside 0..1; scale it, or give it as uint8 or uint16")
    return picture


def grey_bytes(picture: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Brightness (h, w) uint8 of colours in 0..1, as OpenCV's algorithms take it."""
    return (cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) * 255 + 0.5).astype(np.uint8)
