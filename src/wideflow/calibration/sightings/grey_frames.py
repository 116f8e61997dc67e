"""Brightness pictures of chosen frames."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from wideflow.geometry.pyramid import Grey
from wideflow.video.read import Video


def grey_frames(video: Video, indices: ArrayLike, width: int) -> Iterator[tuple[int, Grey]]:
    """Frames of a video in rising order, their longer side scaled down to ``width``, without damaged ones."""
    wanted = {int(index) for index in np.asarray(indices).ravel()}
    for index, grey in video.grey(width, min(wanted), max(wanted) + 1):
        if index in wanted:
            yield index, grey
