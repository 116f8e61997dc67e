"""How far an estimate is from the truth: flow, depth, 3D motion and occlusion masks.

One set of rules holds for every score here and in ``scene``:

- Pixels without truth (not finite; for depth also <= 0) are left out.
- Pixels with truth but without an estimate (not finite) count as bad. Means and medians cannot
  contain them, so ``density`` says how many estimates those cover: read the two together.
- Every score comes for the pixels that are ``visible`` in the other picture, those that are
  ``occluded`` there, and ``all``. A group without pixels scores NaN.
- Every share (density, bad pixels, precision ...) is in per cent. Sums run in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from wideflow.evaluate.metrics.groups import (
    ByGroup,
    ErrorScores,
    Floats,
    Mask,
    as_mask,
    as_pair,
    by_group,
    error_fields,
    error_scores,
    is_known,
    length,
    mean,
)
from wideflow.types import Array


@dataclass(frozen=True)
class FlowScores(ErrorScores):
    """Endpoint error in pixels, and ``angular``, the mean angular error in degrees."""

    angular: float


@dataclass(frozen=True)
class DepthScores(ErrorScores):
    """Absolute error in the depth's unit; ``relative`` is the mean error in per cent of the true depth.

    The thresholds of ``bad`` are per cent of the true depth as well.
    """

    relative: float


@dataclass(frozen=True)
class MaskScores:
    """Precision, recall and F1 of a mask, in per cent; NaN where there is nothing to divide by."""

    precision: float
    recall: float
    f1: float


def endpoint_error(flow: ArrayLike, truth: ArrayLike) -> Floats:
    """Length of the difference between two vector fields.

    Parameters
    ----------
    flow, truth : (H, W, C)
        Flow in pixels (C = 2) or 3D motion in world units (C = 3).

    Returns
    -------
    (H, W) float64
        ||flow - truth||, NaN where either is unknown.
    """
    estimate, true = as_pair(flow, truth, "flow", channels=(2, 3))
    return length(estimate - true)


def angular_error(flow: ArrayLike, truth: ArrayLike) -> Floats:
    """Barron's angular error: the angle between the space-time vectors (u, v, 1).

    Parameters
    ----------
    flow, truth : (H, W, 2)
        Flow in pixels.

    Returns
    -------
    (H, W) float64
        Degrees in 0 .. 180, NaN where either is unknown.
    """
    estimate, true = as_pair(flow, truth, "flow", channels=(2,))
    return space_time_angle(estimate, true)


def space_time_angle(first: Floats, second: Floats) -> Floats:
    """Degrees between (first, 1) and (second, 1), for (..., C) vectors of any C."""
    one = np.ones((*first.shape[:-1], 1))
    a, b = (np.concatenate([vectors, one], axis=-1) for vectors in (first, second))
    a /= length(a)[..., None]
    b /= length(b)[..., None]
    # Kahan's form keeps its digits at small angles, where the arc cosine loses half of them.
    return np.degrees(2 * np.arctan2(length(a - b), length(a + b)))


def flow_scores(
    flow: ArrayLike, truth: ArrayLike, visible: Array, thresholds: Sequence[float] = (1, 3, 5)
) -> ByGroup[FlowScores]:
    """Endpoint and angular error of a flow field, and its bad pixels.

    Parameters
    ----------
    flow, truth : (H, W, 2)
        Pixels; NaN where unknown.
    visible : (H, W) bool
        True where the target of the pixel is seen in the other picture.
    thresholds : sequence of float
        Endpoint errors in pixels above which a pixel is bad.
    """
    angle = angular_error(flow, truth)
    error = endpoint_error(flow, truth)

    def score(group: Mask) -> FlowScores:
        return FlowScores(*error_fields(error[group], error[group], thresholds), angular=mean(angle[group]))

    return by_group(score, is_known(truth), visible)


def motion_scores(
    motion: ArrayLike, truth: ArrayLike, visible: Array, thresholds: Sequence[float]
) -> ByGroup[ErrorScores]:
    """3D endpoint error of the scene flow.

    Parameters
    ----------
    motion, truth : (H, W, 3)
        3D displacement in world units; NaN where unknown.
    visible : (H, W) bool
        True where the pixel is seen in the other picture.
    thresholds : sequence of float
        Errors in world units above which a pixel is bad; they have no default because the scale of
        a reconstruction is arbitrary.
    """
    estimate, true = as_pair(motion, truth, "motion", channels=(3,))
    return error_scores(length(estimate - true), is_known(true), visible, thresholds)


def depth_scores(
    depth: ArrayLike, truth: ArrayLike, visible: Array, thresholds: Sequence[float] = (1,)
) -> ByGroup[DepthScores]:
    """Absolute and relative error of the depth.

    Parameters
    ----------
    depth, truth : (H, W)
        z in the camera; truth is unknown where it is NaN or <= 0.
    visible : (H, W) bool
        True where the pixel is seen in the other picture.
    thresholds : sequence of float
        Errors in per cent of the true depth above which a pixel is bad.
    """
    estimate, true = as_pair(depth, truth, "depth")
    true = np.where(true > 0, true, np.nan)
    error = np.abs(estimate - true)
    relative = 100 * error / true

    def score(group: Mask) -> DepthScores:
        summary = error_fields(error[group], relative[group], thresholds)
        return DepthScores(*summary, relative=mean(relative[group]))

    return by_group(score, np.isfinite(true), visible)


def occlusion_scores(occluded: Array, truth: Array, known: Array | None = None) -> MaskScores:
    """How well an occlusion mask finds the occluded pixels.

    Parameters
    ----------
    occluded, truth : (H, W) bool
        True where a pixel is occluded.
    known : (H, W) bool, optional
        The pixels that count; all by default.
    """
    shape = np.shape(truth)
    found, true = as_mask(occluded, shape, "the occlusion mask"), as_mask(truth, shape, "the true mask")
    if known is not None:
        counts = as_mask(known, shape, "the mask of known pixels")
        found, true = found[counts], true[counts]
    hits, found_pixels, true_pixels = (int(np.count_nonzero(m)) for m in (found & true, found, true))

    def share(part: int, whole: int) -> float:
        return 100 * part / whole if whole else float("nan")

    # 2 hits / (found + true) is the harmonic mean of the other two, and defined without hits.
    return MaskScores(
        precision=share(hits, found_pixels),
        recall=share(hits, true_pixels),
        f1=share(2 * hits, found_pixels + true_pixels),
    )
