"""The stage that looks at other moments: depth of what stands still, from the camera's own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import EvidenceConfig
from wideflow.evidence import FEWEST, Glimpse, choose_views, depth_over_time
from wideflow.geometry import fundamental_matrix, sampson_distance, triangulate
from wideflow.geometry.features import Features, detect_features, match_features
from wideflow.pipeline.step.values import Pictures
from wideflow.types import DepthOverTime, RigFrame, View

_FEATURES = 3000  # of a picture, that tell the range of depth
_OFF_LINE = 1.5  # px that a match may lie off its epipolar line
_FEW = 50  # matches of them, below which the range is not known
_ENDS = 1.0, 99.0  # percentiles of inverse depth
_NEARER, _FURTHER = 1.8, 0.5  # how far beyond them, as a factor: what B does not see may be nearer


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Pictures of a camera around a moment, read when they are asked for.

    Attributes
    ----------
    views : tuple of View
        The ideal cameras that took them.
    glimpse : callable
        Given the number of a view, its picture.
    """

    views: tuple[View, ...] = ()
    glimpse: Callable[[int], Glimpse] | None = None


def look_over_time(
    config: EvidenceConfig, pictures: Pictures, cameras: RigFrame, around: Surroundings
) -> DepthOverTime:
    """Depth of A's picture from other moments of A, between the depths of what both cameras show."""
    shape = (pictures.picture_a.shape[0], pictures.picture_a.shape[1])
    if config.views < FEWEST or len(around.views) < FEWEST or around.glimpse is None:
        return DepthOverTime.nothing(shape)
    ends = depth_range(cameras, pictures, config.size)
    if ends is None:
        return DepthOverTime.nothing(shape)
    here = Glimpse(grey(pictures.picture_a), cameras.views[0])
    chosen = choose_views(here.view, around.views, *ends, config.views)
    if len(chosen) < FEWEST:
        return DepthOverTime.nothing(shape)
    found = depth_over_time(here, [around.glimpse(i) for i in sorted(chosen)], *ends, config)
    # half the bits say enough of how sure it is, and make small files
    relative = np.minimum(found.deviation / found.inverse, 1).astype(np.float16).astype(np.float32)
    return DepthOverTime(
        found.inverse, relative * found.inverse, found.unlike.astype(np.float16).astype(np.float32)
    )


def depth_range(cameras: RigFrame, pictures: Pictures, size: int) -> tuple[float, float] | None:
    """Depths between which everything lies, by sparse features of a pair; None if there are too few.

    Features are sought in pictures of at most ``size`` px.
    """
    a, b = (
        detect_features(_small(grey(picture), size), _FEATURES, view.camera.size)
        for picture, view in zip((pictures.picture_a, pictures.picture_b), cameras.views, strict=True)
    )
    F = fundamental_matrix(*cameras.views)
    for guide in (None, F):  # along the lines there are more matches, and more wrong ones
        depth = _depths(cameras, (a, b), match_features(a, b, guide), F)
        if len(depth) >= _FEW:
            low, high = np.percentile(1 / depth, _ENDS)
            return float(1 / (high * _NEARER)), float(1 / (low * _FURTHER))
    return None


def _depths(
    cameras: RigFrame, features: tuple[Features, Features], pairs: NDArray[np.int32], F: NDArray[np.float64]
) -> NDArray[np.float64]:
    """In A, of the matches that lie on their lines and in front of both cameras."""
    x, y = (each.xy[pairs[:, i]].astype(np.float64) for i, each in enumerate(features))
    near = np.abs(sampson_distance(F, x, y)) < _OFF_LINE
    found = triangulate(*cameras.views, x[near], y[near])
    return found.depths[0][found.in_front & np.isfinite(found.depths[0])]


def _small(picture: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    height, width = picture.shape
    scale = size / max(height, width)
    if scale >= 1:
        return picture
    small = cv2.resize(picture, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8)


def grey(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Brightness of an RGB picture."""
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)
