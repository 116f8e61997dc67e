"""What the cameras' uncertainty does to depth: the matches triangulated anew with other cameras."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import pixel_grid, project, triangulate, unproject
from wideflow.types import RigFrame, View

_STEP = 8  # px between the places that are triangulated: what cameras do to depth is smooth
_TILT = 95.0  # percentile of the spread that stands for the whole picture
_LOST = 1.0  # change of a depth that other cameras do not have
_MENTIONED = 0.005  # a smaller tilt is not worth a sentence

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CameraDoubt:
    """What calibration does not know of one moment.

    Attributes
    ----------
    filmed : RigFrame
        The cameras as calibrated, with their lenses.
    alternatives : sequence of RigFrame
        Each one standard deviation from ``filmed`` in its own direction, independent of the others.
    late : float
        Seconds by which B's picture was taken later than A's, if depth is found as if it were not.
    """

    filmed: RigFrame
    alternatives: Sequence[RigFrame] = ()
    late: float = 0.0


def camera_spread(
    filmed: RigFrame, ideal: RigFrame, stereo_flow: Floats, alternatives: Sequence[RigFrame]
) -> Floats:
    """Relative standard deviation of depth that uncertain cameras cause.

    A factor common to all depths of the moment is no error, since two videos do not tell the scale: what
    counts is how far each depth departs from the median change.

    Parameters
    ----------
    filmed : RigFrame
        The cameras as calibrated, with their lenses.
    ideal : RigFrame
        Those without distortion, of any size, whose picture A the flow belongs to.
    stereo_flow : (H, W, 2) float32
        From A to B, in pixels of the ideal pictures.
    alternatives : sequence of RigFrame
        Cameras one standard deviation away, each in a direction independent of the others.

    Returns
    -------
    (H, W) float32
        0 without alternatives; infinite where no match around gives a depth.
    """
    height, width = stereo_flow.shape[:2]
    if not alternatives:
        return np.zeros((height, width), np.float32)
    rows, columns = _places(height), _places(width)
    x = pixel_grid(width, height)[np.ix_(rows, columns)]
    y = x + stereo_flow[np.ix_(rows, columns)]
    raw_a, raw_b = (
        project(as_filmed.camera, unproject(view.camera, pixels))
        for as_filmed, view, pixels in zip(filmed.views, ideal.views, (x, y), strict=True)
    )
    before = _log_depth(filmed.views, raw_a, raw_b)
    enlarge = _Enlargement(rows, columns, np.isfinite(before))
    variance = np.zeros((height, width), np.float32)
    for frame in alternatives:
        change = _log_depth(frame.views, raw_a, raw_b) - before
        known = np.isfinite(change)
        scale = np.median(change[known]) if known.any() else 0.0
        variance += enlarge(np.where(known, change - scale, _LOST)) ** 2
    return np.sqrt(variance)


def tilt(spread: Floats, counted: NDArray[np.bool_]) -> float:
    """How far uncertain cameras may bend the depth of the pixels (H, W) that count, as a share of it."""
    values = spread[counted & np.isfinite(spread)]
    return float(np.percentile(values, _TILT)) if values.size else 0.0


def tilt_words(share: float) -> str | None:
    """The sentence about a `tilt`, or None if it is too small to be told."""
    if not share >= _MENTIONED:
        return None
    size = f"{100 * share:.1f}" if share < 0.02 else f"{100 * share:.0f}"
    return f"depth may be tilted by {size} %, since the cameras are known no better"


def _places(count: int) -> NDArray[np.intp]:
    """Rows or columns to triangulate, the first and the last among them."""
    return np.unique(np.append(np.arange(0, count, _STEP), count - 1))


def _log_depth(views: tuple[View, View], x: Doubles, y: Doubles) -> Doubles:
    """Logarithm of z in the first camera; NaN where the rays do not meet in front of both."""
    found = triangulate(*views, x, y)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(found.in_front, np.log(found.depths[0]), np.nan)


class _Enlargement:
    """From some rows and columns to all pixels: linear between what is known, infinite far from it."""

    def __init__(self, rows: NDArray[np.intp], columns: NDArray[np.intp], known: NDArray[np.bool_]) -> None:
        row = np.interp(np.arange(rows[-1] + 1), rows, np.arange(len(rows)))
        column = np.interp(np.arange(columns[-1] + 1), columns, np.arange(len(columns)))
        x, y = np.meshgrid(column.astype(np.float32), row.astype(np.float32))
        self._maps, self._known = (x, y), known
        self._weight = self._between(known.astype(np.float32))

    def __call__(self, values: Doubles) -> Floats:
        total = self._between(np.where(self._known, values, 0).astype(np.float32))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self._weight > 0, total / self._weight, np.float32(np.inf))

    def _between(self, values: Floats) -> Floats:
        return np.asarray(cv2.remap(values, *self._maps, cv2.INTER_LINEAR), np.float32)
