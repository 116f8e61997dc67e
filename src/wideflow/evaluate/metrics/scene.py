"""Scores over the flows of four frames together: the paper's, and KITTI's.

The rules of ``fields`` hold: unknown truth is left out, a missing estimate is bad, shares are per cent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wideflow.errors import InputError
from wideflow.evaluate.metrics.fields import space_time_angle
from wideflow.evaluate.metrics.groups import (
    ByGroup,
    ErrorScores,
    Floats,
    Mask,
    as_pair,
    by_group,
    error_scores,
    is_known,
    length,
    mean,
    percent,
)
from wideflow.types import Array


class FourFrameFlows(NamedTuple):
    """The three flows that tie four frames together, all (H, W, 2) pixels in the reference picture.

    Attributes
    ----------
    optical : u1 = (u, v), to the same camera at the next step.
    stereo : u2, to the other camera now; d = ||u2||.
    disparity : u3, the change of the stereo flow along the optical flow,
        stereo at t + 1 (x + u1) minus stereo at t (x); p = ||u3||.
    """

    optical: ArrayLike
    stereo: ArrayLike
    disparity: ArrayLike


class KittiFields(NamedTuple):
    """What KITTI's scene flow benchmark judges, all in the reference picture at time t.

    Attributes
    ----------
    disparity_0, disparity_1 : (H, W) disparity or (H, W, 2) stereo flow in pixels
        At t, and at t + 1 of the same surface point (u2 + u3 for general cameras).
    flow : (H, W, 2)
        Optical flow in pixels.
    """

    disparity_0: ArrayLike
    disparity_1: ArrayLike
    flow: ArrayLike


@dataclass(frozen=True)
class PaperScores:
    """The paper's ground-truth evaluation over one group of pixels.

    Attributes
    ----------
    pixels : int
        Pixels where the truth of all three flows is known.
    density : float
        Per cent of these that have an estimate of all three; the means are over those.
    mae_d : float
        Mean of |d - d~|, pixels. The paper gives it for visible pixels.
    rmse : float
        Root mean square of ||(u, v, d, p) - (u~, v~, d~, p~)||, pixels.
    aae : float
        Mean angle between (u, v, p, 1) and (u~, v~, p~, 1), degrees.
    """

    pixels: int
    density: float
    mae_d: float
    rmse: float
    aae: float


@dataclass(frozen=True)
class KittiScores:
    """Per cent of outliers over one group of pixels.

    Attributes
    ----------
    pixels : int
        Pixels where the truth of all three fields is known: those of ``sf``.
    density : float
        Per cent of these that have an estimate of all three.
    d1, d2, fl : float
        Outliers of either disparity and of the flow, each over the pixels where its own truth is known.
    sf : float
        Pixels that are an outlier in any of the three.
    """

    pixels: int
    density: float
    d1: float
    d2: float
    fl: float
    sf: float


def disparity_scores(
    stereo: ArrayLike, truth: ArrayLike, visible: Array, thresholds: Sequence[float] = (1, 3, 5)
) -> ByGroup[ErrorScores]:
    """|d - d~| of a stereo flow alone, d = ||u2||; ``.visible.mean`` is the paper's MAE_d of one stage.

    Parameters
    ----------
    stereo, truth : (H, W, 2)
        Pixels; NaN where unknown.
    visible : (H, W) bool
        True where the pixel is seen in the other picture.
    thresholds : sequence of float
        Errors in pixels above which a pixel is bad.
    """
    estimate, true = as_pair(stereo, truth, "stereo flow", channels=(2,))
    return error_scores(np.abs(length(estimate) - length(true)), is_known(true), visible, thresholds)


def paper_scores(estimate: FourFrameFlows, truth: FourFrameFlows, visible: Array) -> ByGroup[PaperScores]:
    """MAE_d, RMSE and AAE of the paper's ground-truth evaluation.

    Parameters
    ----------
    estimate, truth : FourFrameFlows
        NaN where unknown.
    visible : (H, W) bool
        True where the pixel is seen in the other picture.
    """
    (u1, u1_true), (u2, u2_true), (u3, u3_true) = _same_picture(
        as_pair(flow, true, f"{name} flow", channels=(2,))
        for flow, true, name in zip(estimate, truth, truth._fields, strict=True)
    )
    d, d_true, p, p_true = (length(flow) for flow in (u2, u2_true, u3, u3_true))
    uvp, uvp_true = np.dstack([u1, p]), np.dstack([u1_true, p_true])

    squared = np.sum((uvp - uvp_true) ** 2, axis=2) + (d - d_true) ** 2
    angle = space_time_angle(uvp, uvp_true)
    known = np.isfinite(d_true) & is_known(uvp_true)
    estimated = np.isfinite(squared)

    def score(group: Mask) -> PaperScores:
        both = group & estimated
        return PaperScores(
            pixels=int(np.count_nonzero(group)),
            density=percent(estimated[group]),
            mae_d=mean(np.abs(d - d_true)[both]),
            rmse=mean(squared[both]) ** 0.5,
            aae=mean(angle[both]),
        )

    return by_group(score, known, visible)


def kitti_scores(estimate: KittiFields, truth: KittiFields, visible: Array) -> ByGroup[KittiScores]:
    """KITTI's D1, D2, Fl and SF: a pixel is an outlier if off by > 3 px and > 5 % of the true length.

    Parameters
    ----------
    estimate, truth : KittiFields
        NaN where unknown.
    visible : (H, W) bool
        True where the pixel is seen in the other picture.
    """
    pairs = _same_picture(
        _disparity_or_flow(field, true, name)
        for field, true, name in zip(estimate, truth, truth._fields, strict=True)
    )
    known = [is_known(true) for _, true in pairs]
    estimated = np.logical_and.reduce([is_known(field) for field, _ in pairs])
    outlier = [_is_outlier(field, true) for field, true in pairs]
    all_known, any_outlier = np.logical_and.reduce(known), np.logical_or.reduce(outlier)

    def score(group: Mask) -> KittiScores:
        d1, d2, fl = (percent(wrong[group & own]) for wrong, own in zip(outlier, known, strict=True))
        judged = group & all_known
        return KittiScores(
            pixels=int(np.count_nonzero(judged)),
            density=percent(estimated[judged]),
            d1=d1,
            d2=d2,
            fl=fl,
            sf=percent(any_outlier[judged]),
        )

    return by_group(score, np.ones_like(all_known), visible)


def _is_outlier(estimate: Floats, truth: Floats) -> Mask:
    """(H, W) bool for (H, W, C) fields; True as well where the estimate or the truth is unknown."""
    error = length(estimate - truth)
    return ~((error <= 3) | (error <= 0.05 * length(truth)))


def _disparity_or_flow(field: ArrayLike, truth: ArrayLike, name: str) -> tuple[Floats, Floats]:
    """The pair as (H, W, 1) or (H, W, 2); only disparities may come as (H, W)."""
    if name != "flow" and np.ndim(truth) == 2:
        estimate, true = as_pair(field, truth, name)
        return estimate[..., None], true[..., None]
    return as_pair(field, truth, name, channels=(2,))


def _same_picture(pairs: Iterable[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    """The pairs as a list, if all belong to pictures of one size."""
    checked = list(pairs)
    sizes = [true.shape[:2] for _, true in checked]
    if len(set(sizes)) > 1:
        raise InputError(f"the fields to score must be of one picture, but their sizes are {sizes}")
    return checked
