"""Pictures, flows, masks and pixels at other sizes, borders kept to borders."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import pixel_grid

Grey = NDArray[np.uint8]
Scale = NDArray[np.float64]


def shrunk(picture: NDArray[np.float32], halvings: int) -> NDArray[np.float32]:
    """The picture at 1 / 2^halvings of its size."""
    if halvings == 0:
        return picture
    height, width = (-(-side // 2**halvings) for side in picture.shape[:2])
    return cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)


def scale_between(large: tuple[int, ...], small: tuple[int, ...]) -> Scale:
    """(3, 3) map of pixels between pictures of shapes (h, w, ...), borders to borders."""
    y, x = small[0] / large[0], small[1] / large[1]
    return np.array([[x, 0, (x - 1) / 2], [0, y, (y - 1) / 2], [0, 0, 1]])


def resized_flow(
    flow: NDArray[np.float32], source: Scale, target: Scale, shape: tuple[int, int]
) -> NDArray[np.float32]:
    """A flow between two pictures after each is resized by its own map.

    Parameters
    ----------
    flow : (H, W, 2) float32
        In pixels before.
    source, target : (3, 3)
        Of `scale_between`, for the picture of the flow and for the one it leads to.
    shape : (h, w)
        Size of the source picture afterwards.
    """
    height, width = shape
    if flow.shape[:2] == shape and np.array_equal(target, np.eye(3)):
        return flow.copy()
    shrinks = height < flow.shape[0]
    resized = cv2.resize(flow, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    after = pixel_grid(width, height)
    before = (after - source[:2, 2]) / np.diagonal(source)[:2]
    return ((before + resized) * np.diagonal(target)[:2] + target[:2, 2] - after).astype(np.float32)


def sampled_flow(
    flow: NDArray[np.float32], source: Scale, target: Scale, shape: tuple[int, int]
) -> NDArray[np.float32]:
    """`resized_flow` that takes the nearest pixel's flow: near an edge, a mix of two surfaces is neither."""
    row, column = nearest_pixels(source, flow.shape, shape)
    nearest, sampled = flow[row[:, None], column], np.empty((*shape, 2), np.float32)
    # one component after the other: NumPy is slow along an axis of two
    for i, after in enumerate((np.arange(shape[1]), np.arange(shape[0])[:, None])):
        there = (after - source[i, 2]) / source[i, i] + nearest[..., i]
        sampled[..., i] = there * target[i, i] + target[i, 2] - after
    return sampled


def nearest_pixels(
    scale: Scale, large: tuple[int, ...], small: tuple[int, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The nearest row (h,) and column (w,) of a picture (H, W) for those of the one it is scaled to."""
    row, column = (
        np.clip(np.rint((np.arange(small[k]) - scale[i, 2]) / scale[i, i]), 0, large[k] - 1).astype(np.intp)
        for k, i in ((0, 1), (1, 0))
    )
    return row, column


def resized_mask(mask: NDArray[np.bool_], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """The mask at another size, by majority."""
    if mask.shape == shape:
        return mask
    share = cv2.resize(mask.astype(np.float32), shape[::-1], interpolation=cv2.INTER_AREA)
    return np.asarray(share > 0.5)


def to_full(xy: NDArray[np.floating], grey: Grey, size: tuple[int, int]) -> NDArray[np.float64]:
    """Pixels (N, 2) of the full picture of (width, height) for those of a smaller one, ``grey``."""
    scale = np.array(size) / (grey.shape[1], grey.shape[0])
    return (np.asarray(xy, np.float64) + 0.5) * scale - 0.5


def from_full(xy: NDArray[np.floating], grey: Grey, size: tuple[int, int]) -> NDArray[np.float64]:
    """The inverse of `to_full`."""
    scale = np.array(size) / (grey.shape[1], grey.shape[0])
    return (np.asarray(xy, np.float64) + 0.5) / scale - 0.5
