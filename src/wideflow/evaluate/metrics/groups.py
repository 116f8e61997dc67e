"""What all scores share: the groups of pixels, the summary of an error, the checks of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import InputError
from wideflow.types import Array

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
S = TypeVar("S")


@dataclass(frozen=True)
class ByGroup(Generic[S]):
    """The same scores over the visible, the occluded and all pixels."""

    visible: S
    occluded: S
    all: S

    def as_table(self) -> str:
        """Markdown table: one row per group, one column per score and per threshold."""
        rows = []
        for group, scores in asdict(self).items():
            bad = {f"bad {limit:g}": share for limit, share in scores.pop("bad", {}).items()}
            rows.append({"group": group, **scores, **bad})
        lines = [list(rows[0]), ["---"] * len(rows[0])]
        lines += [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)


@dataclass(frozen=True)
class ErrorScores:
    """Summary of one error over one group of pixels.

    Attributes
    ----------
    pixels : int
        Pixels with known truth.
    density : float
        Per cent of these that have an estimate.
    mean, median : float
        Of the error, over the pixels with an estimate.
    bad : dict of float to float
        Per cent of ``pixels`` whose error exceeds each threshold or that have no estimate.
    """

    pixels: int
    density: float
    mean: float
    median: float
    bad: dict[float, float]


def error_scores(
    error: Floats, known: Mask, visible: Array, thresholds: Sequence[float]
) -> ByGroup[ErrorScores]:
    """Summary of any error per pixel.

    Parameters
    ----------
    error : (H, W)
        NaN where truth or estimate is unknown.
    known : (H, W) bool
        True where the truth is known.
    visible : (H, W) bool
        True where the pixel is seen in the other picture.
    thresholds : sequence of float
        In the unit of the error.
    """
    return by_group(
        lambda group: ErrorScores(*error_fields(error[group], error[group], thresholds)), known, visible
    )


def error_fields(
    error: Floats, judged: Floats, thresholds: Sequence[float]
) -> tuple[int, float, float, float, dict[float, float]]:
    """Fields of ErrorScores for the errors (N,) of one group; ``judged`` meets the thresholds."""
    estimated = error[np.isfinite(error)]
    median = float(np.median(estimated)) if estimated.size else float("nan")
    # Not "judged > limit": a comparison with NaN is False, and a missing estimate is bad.
    bad = {limit: percent(~(judged <= limit)) for limit in thresholds}
    return error.size, percent(np.isfinite(error)), mean(error), median, bad


def by_group(score: Callable[[Mask], S], known: Mask, visible: Array) -> ByGroup[S]:
    """Apply ``score`` to the masks of the visible, the occluded and all pixels with known truth."""
    seen = as_mask(visible, known.shape, "the mask of visible pixels")
    return ByGroup(visible=score(known & seen), occluded=score(known & ~seen), all=score(known))


def as_pair(
    estimate: ArrayLike, truth: ArrayLike, what: str, channels: Sequence[int] = ()
) -> tuple[Floats, Floats]:
    """Both as float64, NaN where not finite so that no infinity enters a mean.

    They must agree in shape: (H, W, C) with C one of ``channels``, or (H, W) if that is empty.
    """
    first, second = (np.array(values, dtype=np.float64) for values in (estimate, truth))
    fits = second.ndim == 3 and second.shape[2] in channels if channels else second.ndim == 2
    if first.shape != second.shape or not fits:
        wanted = f"(H, W, {' or '.join(map(str, channels))})" if channels else "(H, W)"
        raise InputError(
            f"the {what} and its truth must have one shape {wanted}, not {first.shape} and {second.shape}"
        )
    for values in (first, second):
        values[~np.isfinite(values)] = np.nan
    return first, second


def as_mask(mask: Array, shape: tuple[int, ...], what: str) -> Mask:
    """Check that ``mask`` is boolean (the inverse of a 0/255 mask would be silently wrong) and fits."""
    mask = np.asarray(mask)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise InputError(f"{what} must be boolean of shape {shape}, not {mask.dtype} of shape {mask.shape}")
    return mask


def is_known(vectors: ArrayLike) -> Mask:
    """(H, W) bool: True where every component of an (H, W, C) field is finite."""
    return np.isfinite(np.asarray(vectors)).all(axis=-1)


def length(vectors: Floats) -> Floats:
    """Euclidean length along the last axis."""
    return np.sqrt(np.einsum("...c,...c->...", vectors, vectors))


def mean(values: Floats) -> float:
    """Mean of the finite values, NaN if there is none."""
    values = values[np.isfinite(values)]
    return float(values.mean()) if values.size else float("nan")


def percent(hits: Mask) -> float:
    """Per cent of True, NaN for an empty mask."""
    return 100 * float(hits.mean()) if hits.size else float("nan")
