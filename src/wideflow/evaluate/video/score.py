"""Figures of a clip: a row for every class of its pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.evaluate.table import Row
from wideflow.evaluate.video.pixels import Mask, Pixels

SURE = 0.8  # confidence above which a depth is claimed to be right
_OFF = (1, 5, 10)  # per cent
_TENTHS = 10


def score_pixels(pixels: Pixels) -> list[Row]:
    """The rows of a clip: its classes of pixels, then what a method says of itself.

    Classes are shares of the whole picture. A pixel with truth but without a depth is off by more than any
    limit. The sky belongs to no class of the truth; a confidence that a method claims for a depth in the sky
    is wrong.
    """
    rows = [_row(pixels, name, mask) for name, mask in _true_classes(pixels).items()]
    rows += [_row(pixels, name, mask) for name, mask in _claimed_classes(pixels).items()]
    return rows


def _true_classes(pixels: Pixels) -> dict[str, Mask]:
    known, seen, moving = pixels.known, pixels.seen, pixels.moving
    hidden, static = known & ~seen, known & ~moving
    return {
        "all": known,
        "seen": seen,
        "hidden": hidden,
        "static": static,
        "moving": moving,
        "seen static": seen & static,
        "seen moving": seen & moving,
        "hidden static": hidden & static,
        "hidden moving": hidden & moving,
    }


def _claimed_classes(pixels: Pixels) -> dict[str, Mask]:
    """By confidence and by source, as far as a method tells them."""
    classes: dict[str, Mask] = {}
    for name in ("confidence", "confidence_5"):
        value = getattr(pixels, name)
        if np.isfinite(value).any():
            classes |= {f"{name} > {limit:g}": pixels.found & (value > limit) for limit in (0.5, SURE)}
    if np.isfinite(pixels.confidence).any():
        tenth = np.minimum(np.nan_to_num(_TENTHS * pixels.confidence, nan=-1), _TENTHS - 1).astype(int)
        classes |= {
            f"confidence {i / _TENTHS:.1f} to {(i + 1) / _TENTHS:.1f}": pixels.found & (tenth == i)
            for i in range(_TENTHS)
        }
    told = np.isfinite(pixels.source)
    for code in np.unique(pixels.source[told]):
        classes[f"source {code:g}"] = pixels.known & (pixels.source == code)
    return classes


def _row(pixels: Pixels, name: str, mask: Mask) -> Row:
    row: Row = {"class": name, "share": 100 * float(mask.mean())}
    if not mask.any():
        return row
    error = pixels.error[mask]
    row |= {f"off{percent}": _percent(error > percent / 100) for percent in _OFF}
    row["missing"] = _percent(~pixels.found[mask])
    confidence = pixels.confidence[mask]
    if np.isfinite(confidence).any():
        sure = confidence > SURE
        row |= {"claimed": 100 * float(np.nanmean(confidence)), "sure": _percent(sure)}
        if sure.any():
            row["sure_right"] = _percent(error[sure] <= 0.01)
    row |= _motion(pixels, mask) | _flicker(pixels.change[mask])
    if name == "moving" and np.isfinite(pixels.found_moving).any():
        row["moving_iou"] = _overlap(pixels.found_moving[pixels.known] > 0.5, pixels.moving[pixels.known])
    return row


def _motion(pixels: Pixels, mask: Mask) -> Row:
    """Median errors of 3D motion, also as a share: of the motion if it moves, of the depth if it stands."""
    asked = mask & ~np.isnan(pixels.motion_error)
    row: Row = {}
    for kind, part in (("moving", pixels.moving), ("static", ~pixels.moving)):
        chosen = asked & part
        if chosen.any():
            error = pixels.motion_error[chosen]
            whole = (pixels.motion_true if kind == "moving" else pixels.depth_true)[chosen]
            row[f"motion_{kind}_mm"] = _finite(1000 * float(np.median(error)))
            row[f"motion_{kind}_relative"] = _finite(100 * float(np.median(error / whole)))
    return row


def _flicker(change: NDArray[np.float32]) -> Row:
    followed = change[np.isfinite(change)]
    if not len(followed):
        return {}
    median, high = np.quantile(followed, [0.5, 0.95])
    return {"flicker": 100 * float(median), "flicker_95": 100 * float(high)}


def _overlap(found: Mask, true: Mask) -> float:
    """Intersection over union, per cent."""
    either = np.count_nonzero(found | true)
    return 100 * np.count_nonzero(found & true) / either if either else 100.0


def _percent(mask: Mask) -> float:
    return 100 * float(mask.mean())


def _finite(value: float) -> float:
    """Half of the pixels without an answer have no median."""
    return value if np.isfinite(value) else float("nan")
