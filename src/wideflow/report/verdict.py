"""Did it work? Sentences for people who have not read the paper, with what to do if something is weak."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from wideflow.config import SyncConfig
from wideflow.report.overview import Shares

Grade = Literal["good", "weak", "poor"]
HEADLINES: dict[Grade, str] = {
    "good": "It worked.",
    "weak": "It worked, with weak spots.",
    "poor": "Do not trust this result yet.",
}
# Shares of the picture that must be trusted. Half of it is what cameras 25° apart leave, most of the rest is
# hidden from B.
_GOOD_TRUST, _POOR_TRUST = 0.4, 0.2
_GOOD_REPROJECTION, _POOR_REPROJECTION = 1.5, 4.0  # px
_WIDE = 45.0  # degrees between the cameras beyond which matching gets hard
_LATE = 0.012  # seconds between the frames of a pair: a third of a frame at 30 per second


@dataclass(frozen=True)
class Finding:
    """One part of the verdict.

    Attributes
    ----------
    topic : str
    grade : {"good", "weak", "poor"}
    sentence : str
        What was found.
    remedy : str
        What to do about it; empty if nothing needs doing.
    """

    topic: str
    grade: Grade
    sentence: str
    remedy: str = ""


def verdict(summary: dict[str, Any], shares: Shares, angles: NDArray[np.float64]) -> list[Finding]:
    """What to think of a result.

    Parameters
    ----------
    summary : dict
        ``summary.json`` of the run; every key may be missing.
    shares : Shares
        How much of the picture is trusted.
    angles : (n,) float
        Between the cameras, degrees, for every frame.
    """
    return [
        sync_finding(_dict(summary, "sync")),
        calibration_finding(_dict(summary, "calibration"), angles),
        trust_finding(shares),
    ]


def overall(findings: list[Finding]) -> Grade:
    """The worst of all grades."""
    order: tuple[Grade, ...] = ("good", "weak", "poor")
    return order[max((order.index(finding.grade) for finding in findings), default=0)]


def sync_finding(sync: dict[str, Any]) -> Finding:
    """When the clips were filmed."""
    topic, offset = "Synchronisation", _number(sync, "offset_seconds")
    if offset is None:
        return Finding(topic, "good", "The pictures came in pairs, so there was nothing to synchronise.")
    who = "B started" if offset >= 0 else "A started"
    when = f"{who} {abs(offset):.3f} s after {'A' if offset >= 0 else 'B'}"
    method, confidence = str(sync.get("method", "")), _number(sync, "confidence")
    gap = _number(sync, "pair_error_mean")
    apart = f"; the frames of a pair are {1000 * gap:.0f} ms apart on average" if gap is not None else ""
    if method == "given":
        found, sure = f"Synchronised as you said: {when}{apart}.", True
    else:
        how = f", found by {method}" if method else ""
        percent = "" if confidence is None else f" ({_percent(confidence)} sure)"
        sure = confidence is None or confidence >= SyncConfig().trusted
        opening = "Synchronised" if sure else "Perhaps synchronised"
        found = f"{opening}: {when}{how}{percent}{apart}."
    if not sure:
        remedy = (
            "Look at the two input pictures below: if they show different moments, run again with the right "
            "--offset. Next time clap once where both phones see and hear it."
        )
        return Finding(topic, "weak" if (confidence or 0) >= 0.3 else "poor", found, remedy)
    if gap is not None and gap > _LATE:
        remedy = "What moves fast is a little off. Film at 60 frames per second to halve the gap."
        return Finding(topic, "weak", found, remedy)
    return Finding(topic, "good", found)


def calibration_finding(calibration: dict[str, Any], angles: NDArray[np.float64]) -> Finding:
    """Where the cameras were."""
    angle = float(np.median(angles))
    error = _number(calibration, "reprojection_error") or _number(calibration, "reprojection_error_median")
    source = str(calibration.get("source") or "")
    given = source in ("", "given")
    sentence = "The cameras were given" if given else "Calibrated"
    if error is not None:
        sentence += f", and fit the pictures to {error:.2g} px" if given else f" to {error:.2g} px"
    if not given:
        sentence += f" by {source}"
    sentence += f"; {'they' if given else 'the cameras'} look {angle:.0f}° apart"
    frames, registered = _number(calibration, "frames"), calibration.get("registered")
    if frames and _is_numbers(registered) and min(registered) < frames:
        sentence += f"; {min(registered):.0f} of {frames:.0f} frames found their place"
    sentence += "."
    poor = error is not None and error > _POOR_REPROJECTION
    weak = calibration.get("weak")
    if weak:
        doubt = _sentence(weak) if isinstance(weak, str) else "The calibration is weak"
        return Finding("Calibration", "poor" if poor else "weak", sentence, doubt.rstrip(".") + ".")
    if error is not None and error > _GOOD_REPROJECTION:
        remedy = "Give the lenses with --intrinsics-a and --intrinsics-b, or switch off the stabilisers."
        return Finding("Calibration", "poor" if poor else "weak", sentence, remedy)
    if angle > _WIDE:
        remedy = "The cameras see little in common: stand closer together, 10° to 30° apart."
        return Finding("Calibration", "weak", sentence, remedy)
    return Finding("Calibration", "good", sentence)


def trust_finding(shares: Shares) -> Finding:
    """How much of the picture can be believed."""
    topic, done = "Trust", shares.known > 0
    if not done.any():
        return Finding(topic, "poor", "No moment has been computed.", "Start the run again; it goes on.")
    missing = float(np.mean(~done))
    if done[:-1].any():
        done, shares = done[:-1], shares.of_steps()
    trusted, occluded = float(shares.trusted[done].mean()), float(shares.occluded[done].mean())
    sentence = f"{_percent(trusted)} of the picture is trusted; B does not see {_percent(occluded)} of it."
    worst = int(np.argmin(np.where(done, shares.trusted, math.inf)))
    if shares.trusted[worst] < trusted - 0.1:
        sentence += f" Moment {shares.moments[worst]} is the weakest with {_percent(shares.trusted[worst])}."
    if missing:
        sentence += f" {_percent(missing)} of the moments are not computed."
        remedy = "Start the same run again: it goes on where it stopped."
        return Finding(topic, "weak" if trusted >= _POOR_TRUST else "poor", sentence, remedy)
    if trusted >= _GOOD_TRUST:
        return Finding(topic, "good", sentence)
    remedy = (
        "Use only points above the confidence threshold. Stand closer together so that both phones see the "
        "same things, avoid blur and plain walls, and check the overlay: double edges mean wrong matches."
    )
    return Finding(topic, "weak" if trusted >= _POOR_TRUST else "poor", sentence, remedy)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _sentence(text: str) -> str:
    clean = " ".join(text.split())
    return clean[:1].upper() + clean[1:]


def _dict(values: dict[str, Any], key: str) -> dict[str, Any]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _number(values: dict[str, Any], key: str) -> float | None:
    value = values.get(key)
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable and value is not None else None


def _is_numbers(values: Any) -> TypeGuard[list[float]]:
    return (
        isinstance(values, list) and bool(values) and all(isinstance(value, int | float) for value in values)
    )
