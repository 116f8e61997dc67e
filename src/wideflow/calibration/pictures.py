"""Brightness pictures of chosen frames, and the way from their pixels to those of the full picture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.video.read import Video

Grey = NDArray[np.uint8]


def grey_frames(video: Video, indices: ArrayLike, width: int) -> Iterator[tuple[int, Grey]]:
    """Frames of a video in rising order, their longer side scaled down to ``width``, without damaged ones."""
    wanted = {int(index) for index in np.asarray(indices).ravel()}
    for index, grey in video.grey(width, min(wanted), max(wanted) + 1):
        if index in wanted:
            yield index, grey


def to_full(xy: NDArray[np.floating], grey: Grey, size: tuple[int, int]) -> NDArray[np.float64]:
    """Pixels (N, 2) of the full picture of (width, height) for those of a smaller one."""
    scale = np.array(size) / (grey.shape[1], grey.shape[0])
    return (np.asarray(xy, np.float64) + 0.5) * scale - 0.5


def from_full(xy: NDArray[np.floating], grey: Grey, size: tuple[int, int]) -> NDArray[np.float64]:
    """The inverse of `to_full`."""
    scale = np.array(size) / (grey.shape[1], grey.shape[0])
    return (np.asarray(xy, np.float64) + 0.5) / scale - 0.5
