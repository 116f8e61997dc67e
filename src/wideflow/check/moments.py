"""Moments of the common time that are looked at: pictures of both cameras and the points in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.geometry.features import Features, detect_features
from wideflow.sync import FramePairs
from wideflow.video.read import Video

WIDTH = 960  # px of the longer side: what a run matches unless told otherwise
_MOMENTS = 6
_FEATURES = 2000
_APART = 1.0  # seconds between moments above which a camera may have moved too far to compare them
_SOON = 0.5  # seconds after each of such moments that its camera is looked at again


@dataclass(frozen=True, eq=False)
class Still:
    """One picture of a clip.

    Attributes
    ----------
    index : int
        Its frame.
    rgb : (h, w, 3) uint8
        Scaled down to `WIDTH` where it is larger.
    grey : (h, w) uint8
    points : Features
        In pixels of the scaled picture.
    """

    index: int
    rgb: NDArray[np.uint8]
    grey: NDArray[np.uint8]
    points: Features


@dataclass(frozen=True, eq=False)
class Moments:
    """What was looked at.

    Attributes
    ----------
    both : list of (Still, Still)
        A and B at the same moments, in the order of time.
    each : (list of Still, list of Still)
        All pictures of A, and all of B, in the order of time: those above, and some shortly after them.
    """

    both: list[tuple[Still, Still]]
    each: tuple[list[Still], list[Still]]


def look_at(a: Video, b: Video, pairs: FramePairs, step: Callable[[], None]) -> Moments:
    """Read some moments that are spread over the common time; damaged frames are left out."""
    places = np.unique(np.linspace(0, len(pairs.a) - 1, _MOMENTS).round().astype(int))
    spacing = (a.times[pairs.a[-1]] - a.times[pairs.a[0]]) / max(len(places) - 1, 1)
    wanted = [
        _with_later_ones(video, frames[places], int(frames[-1]), spacing > _APART)
        for video, frames in ((a, pairs.a), (b, pairs.b))
    ]
    found = [
        {index: still for index in indices if (still := _still(video, index, step)) is not None}
        for video, indices in zip((a, b), wanted, strict=True)
    ]
    both = [
        (found[0][int(pairs.a[place])], found[1][int(pairs.b[place])])
        for place in places
        if int(pairs.a[place]) in found[0] and int(pairs.b[place]) in found[1]
    ]
    if not both:
        raise FileError(f"'{a.path}' and '{b.path}' have no moment of which both pictures can be decoded")
    return Moments(both, (list(found[0].values()), list(found[1].values())))


def steps_of(pairs: FramePairs) -> int:
    """About how often `look_at` calls ``step``."""
    return 2 * min(_MOMENTS, len(pairs.a))


def _with_later_ones(video: Video, frames: NDArray[np.int64], last: int, wide: bool) -> list[int]:
    if not wide:
        return sorted({int(frame) for frame in frames})
    later = np.searchsorted(video.times, video.times[frames] + _SOON)
    return sorted({int(frame) for frame in (*frames, *np.minimum(later, last))})


def _still(video: Video, index: int, step: Callable[[], None]) -> Still | None:
    try:
        picture = video.frame(index)
    except FileError:
        return None
    finally:
        step()
    scale = WIDTH / max(video.size)
    if scale < 1:
        size = round(video.size[0] * scale), round(video.size[1] * scale)
        picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    return Still(index, picture, grey, detect_features(grey, _FEATURES))
