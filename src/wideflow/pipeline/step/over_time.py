"""The stage that looks at other moments: depth of what stands still, from the camera's own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import EvidenceConfig
from wideflow.evidence import FEWEST, Glimpse, choose_views, depth_over_time
from wideflow.geometry import forward_backward_error, pixel_grid, triangulate
from wideflow.pipeline.step.values import MatchedFlow, Pictures
from wideflow.types import DepthOverTime, RigFrame, View

_CELL = 4  # px between the matches that tell the range of depth
_SURE = 0.5  # confidence of such a match
_AGREEING = 1.5  # px between a match and the way back
_FEW = 50  # of them, below which the range is not known
_ENDS = 1.0, 99.0  # percentiles of inverse depth
_NEARER, _FURTHER = 1.5, 0.5  # how far beyond them, as a factor: what B does not see may be nearer


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
    config: EvidenceConfig, pictures: Pictures, cameras: RigFrame, matched: MatchedFlow, around: Surroundings
) -> DepthOverTime:
    """Depth of A's picture from other moments of A, between the depths that the pair has matched."""
    shape = (pictures.picture_a.shape[0], pictures.picture_a.shape[1])
    if config.views < FEWEST or len(around.views) < FEWEST or around.glimpse is None:
        return DepthOverTime.nothing(shape)
    ends = matched_range(cameras, matched)
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


def matched_range(cameras: RigFrame, matched: MatchedFlow) -> tuple[float, float] | None:
    """Depths between which everything lies, by the sure matches of a pair; None if there are too few."""
    height, width = matched.confidence.shape
    sure = (matched.confidence > _SURE) & (forward_backward_error(matched.uv, matched.back) < _AGREEING)
    chosen = np.zeros_like(sure)
    chosen[::_CELL, ::_CELL] = sure[::_CELL, ::_CELL]
    pixels = pixel_grid(width, height)[chosen]
    found = triangulate(*cameras.views, pixels, pixels + matched.uv[chosen])
    depth = found.depths[0][found.in_front & np.isfinite(found.depths[0])]
    if len(depth) < _FEW:
        return None
    low, high = np.percentile(1 / depth, _ENDS)
    return float(1 / (high * _NEARER)), float(1 / (low * _FURTHER))


def grey(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Brightness of an RGB picture."""
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)
