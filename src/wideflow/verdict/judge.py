"""Did it work? Sentences for people who have not read the paper, with what to do if something is weak."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from wideflow.config import SyncConfig
from wideflow.verdict.findings import Finding, Verdict, findings_from, worst

# Shares of the picture that must be trusted. Half of it is what cameras 25° apart leave, most of the rest is
# hidden from B.
_GOOD_TRUST, _POOR_TRUST = 0.3, 0.03
_FEW_LIKELY = 0.1  # likely pixels that make up for too few trusted ones: depth is known, to some percent
_GOOD_REPROJECTION, _POOR_REPROJECTION = 1.5, 4.0  # px
_POOR_SYNC = 0.29  # confidence that no wrong answer of the trials exceeds: below it the moment may be a guess
_WIDE = 45.0  # degrees between the cameras beyond which matching gets hard
_LATE = 0.012  # seconds between the frames of a pair: a third of a frame at 30 per second
_CALIBRATION, _SCALE = "Calibration", "Scale"
_VAGUE = 0.03  # relative error of the scale


@dataclass(frozen=True, eq=False)
class Shares:
    """Parts of the picture of camera A, 0 .. 1, one value for each moment looked at.

    Attributes
    ----------
    moments : (n,) int
        Numbers of the moments.
    trusted, occluded, known : (n,) float
        Confidence above 0.5; not seen by B; depth is known.
    likely : (n,) float
        Confidence above 0.25: where cameras are known to some percent, no depth is known better.
    """

    moments: NDArray[np.intp]
    trusted: NDArray[np.float64]
    occluded: NDArray[np.float64]
    known: NDArray[np.float64]
    likely: NDArray[np.float64]

    def of_steps(self) -> Shares:
        """Without the last moment: no motion starts there, and depth alone is trusted more easily."""
        return Shares(
            self.moments[:-1], self.trusted[:-1], self.occluded[:-1], self.known[:-1], self.likely[:-1]
        )


def judge(summary: dict[str, Any], shares: Shares, angles: NDArray[np.float64]) -> Verdict:
    """What to think of a result.

    Parameters
    ----------
    summary : dict
        ``summary.json`` of the run: sync, calibration, moments; every key may be missing.
    shares : Shares
        How much of the picture is trusted.
    angles : (n,) float
        Between the cameras, degrees, for every frame.
    """
    moments = _dict(summary, "moments")
    return Verdict(
        (
            sync_finding(_dict(summary, "sync")),
            *calibration_findings(_dict(summary, "calibration"), angles),
            *scale_findings(_dict(summary, "calibration")),
            *moments_findings(moments),
            trust_finding(shares, finished=_number(moments, "unmatched") is not None),
        )
    )


def sync_finding(sync: dict[str, Any]) -> Finding:
    """When the clips were filmed."""
    topic, offset = "Synchronisation", _number(sync, "offset_seconds")
    if offset is None:
        return Finding(topic, "good", "The pictures came in pairs, so there was nothing to synchronise.")
    who = "B started" if offset >= 0 else "A started"
    when = f"{who} {abs(offset):.3f} s after {'A' if offset >= 0 else 'B'}"
    method, confidence = str(sync.get("method", "")), _number(sync, "confidence")
    gap = _number(sync, "pair_error_mean")
    minded = bool(sync.get("one_time"))
    apart = f"; the frames of a pair are {1000 * gap:.0f} ms apart on average" if gap is not None else ""
    if minded and gap is not None and gap > _LATE:
        apart += ", over which B's were moved to the times of A's"
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
            "If pictures of a pair show different moments, give the right --offset. Next time clap once "
            "where both phones see and hear it."
        )
        return Finding(topic, "weak" if (confidence or 0) >= _POOR_SYNC else "poor", found, remedy)
    if gap is not None and gap > _LATE and not minded:
        remedy = "What moves fast is a little off. Film at 60 frames per second to halve the gap."
        return Finding(topic, "weak", found, remedy)
    return Finding(topic, "good", found)


def calibration_doubts(calibration: dict[str, Any], angles: NDArray[np.float64]) -> tuple[Finding, ...]:
    """What speaks against the cameras: the doubts of those who found them, and what the figures say."""
    doubts = list(findings_from(calibration.get("doubts")))
    weak = calibration.get("weak")  # one sentence in results of older versions
    if weak:
        words = _sentence(weak) if isinstance(weak, str) else "The calibration is weak."
        doubts.append(Finding(_CALIBRATION, "weak", words))
    error = _reprojection_error(calibration)
    # who doubts has looked at the error too; only one that is worse than the doubts say is said besides
    graver = {"good": _GOOD_REPROJECTION, "weak": _POOR_REPROJECTION, "poor": math.inf}
    if error is not None and error > graver[worst(doubt.grade for doubt in doubts)]:
        found = f"Points are seen {error:.2g} px off where they should be."
        remedy = "Give the lenses with --intrinsics-a and --intrinsics-b, or switch off the stabilisers."
        doubts.append(Finding(_CALIBRATION, "poor" if error > _POOR_REPROJECTION else "weak", found, remedy))
    if float(np.median(angles)) > _WIDE:
        found = f"Beyond {_WIDE:.0f}° the cameras see little in common."
        doubts.append(Finding(_CALIBRATION, "weak", found, "Stand closer together, 10° to 30° apart."))
    return tuple(doubts)


def calibration_findings(calibration: dict[str, Any], angles: NDArray[np.float64]) -> tuple[Finding, ...]:
    """Where the cameras were: one finding, with the doubts about it, and those that have their own topic."""
    doubts = calibration_doubts(calibration, angles)
    error, source = _reprojection_error(calibration), str(calibration.get("source") or "")
    given = source in ("", "given")
    sentence = "The cameras were given" if given else "Calibrated"
    # a small error of wrong cameras would only sound like proof
    if error is not None and worst(doubt.grade for doubt in doubts) == "good":
        sentence += f", and fit the pictures to {error:.2g} px" if given else f" to {error:.2g} px"
    if not given:
        sentence += f" by {source}"
    sentence += f"; {'they' if given else 'the cameras'} look {float(np.median(angles)):.0f}° apart"
    frames, registered = _number(calibration, "frames"), calibration.get("registered")
    if frames and _is_numbers(registered) and min(registered) < frames:
        sentence += f"; {min(registered):.0f} of {frames:.0f} frames found their place"
    sentence += rolling_words(calibration, "; rows are exposed over {} and brought to one time")
    standing = calibration.get("static")
    if isinstance(standing, list) and standing and all(standing) and not rolling_words(calibration, "{}"):
        sentence += "; cameras that stand still do not tell whether their rows are exposed at once"
    own = [doubt for doubt in doubts if doubt.topic == _CALIBRATION]
    merged = Finding(
        _CALIBRATION,
        worst(doubt.grade for doubt in own),
        " ".join([f"{sentence}.", *(doubt.sentence for doubt in own)]),
        " ".join(doubt.remedy for doubt in own if doubt.remedy),
    )
    return merged, *(doubt for doubt in doubts if doubt.topic != _CALIBRATION)


def rolling_words(calibration: dict[str, Any], words: str) -> str:
    """``words`` with the milliseconds in which each camera exposes its rows; nothing if no shutter rolls."""
    seconds = calibration.get("readout")
    if not _is_numbers(seconds) or not any(seconds):
        return ""
    each = [f"{1000 * value:.1f} ms" if value else "an unknown time" for value in seconds]
    return words.format(f"{each[0]} (A) and {each[1]} (B)")


def scale_words(calibration: dict[str, Any]) -> str:
    """Where the unit of length comes from and how sure it is, in a few words."""
    words = str(calibration.get("scale") or "unknown")
    words = "unknown" if words == "free" else words  # as older versions said
    error = _number(calibration, "scale_error")
    if error:
        words += f", known to {100 * error:.1f} %"
    means = str(calibration.get("scale_means") or "")
    return f"{words}; {means}" if means else words


def scale_findings(calibration: dict[str, Any]) -> tuple[Finding, ...]:
    """In which unit lengths are; nothing if that was not noted, as of results of older versions."""
    source = calibration.get("scale")
    if not isinstance(source, str) or "scale_error" not in calibration:
        return ()
    if source == "unknown":
        found = "The scale is unknown: the mean distance between the cameras counts as 1."
        return (Finding(_SCALE, "good", found, "Give --tag-size, --scale-points or --scale for metres."),)
    found = f"The scale comes from {scale_words(calibration)}."
    if (_number(calibration, "scale_error") or 0) > _VAGUE:
        remedy = "Have the tag, or the points, larger in the picture, sharp, and seen by both cameras longer."
        return (Finding(_SCALE, "weak", found, remedy),)
    return (Finding(_SCALE, "good", found),)


def moments_findings(moments: dict[str, Any]) -> tuple[Finding, ...]:
    """Whether all moments that were asked for are there; nothing if that was not noted."""
    asked, filmed, placed = (_number(moments, name) for name in ("asked", "filmed", "placed"))
    if asked is None or filmed is None or placed is None:
        return ()
    unmatched = _number(moments, "unmatched") or 0
    lost = (
        (asked - filmed, "B was not filming during {}", "Choose --frames while both were filming."),
        (filmed - placed, "the cameras are not known in {}", "Choose --frames where more stands still."),
        (unmatched, "{} could not be matched", "Look at their pictures: blur, darkness, or no overlap."),
    )
    here = placed - unmatched
    if not any(count > 0 for count, _, _ in lost):
        return (Finding("Moments", "good", f"All {asked:.0f} moments asked for are there."),)
    why = ", ".join(text.format(f"{count:.0f}") for count, text, _ in lost if count > 0)
    found = f"Only {here:.0f} of the {asked:.0f} moments asked for are there: {why}."
    return (Finding("Moments", "weak", found, " ".join(remedy for count, _, remedy in lost if count > 0)),)


def trust_finding(shares: Shares, finished: bool = False) -> Finding:
    """How much of the picture can be believed; ``finished``: what is unknown now will stay so."""
    topic, done = "Trust", shares.known > 0
    if not done.any():
        if finished:
            found = "No pixel of any moment has a depth."
            return Finding(
                topic, "poor", found, "Check that two cameras filmed one scene, apart from each other."
            )
        return Finding(topic, "poor", "No moment has been computed.", "Start the run again; it goes on.")
    missing = float(np.mean(~done))
    if done[:-1].any():
        done, shares = done[:-1], shares.of_steps()
    trusted, occluded = float(shares.trusted[done].mean()), float(shares.occluded[done].mean())
    enough = trusted >= _POOR_TRUST or float(shares.likely[done].mean()) >= _FEW_LIKELY
    sentence = f"{_percent(trusted)} of the picture is trusted; B does not see {_percent(occluded)} of it."
    lowest = int(np.argmin(np.where(done, shares.trusted, math.inf)))
    if shares.trusted[lowest] < trusted - 0.1:
        sentence += (
            f" Moment {shares.moments[lowest]} is the weakest with {_percent(shares.trusted[lowest])}."
        )
    if missing and not finished:
        sentence += f" {_percent(missing)} of the moments are not computed."
        remedy = "Start the same run again: it goes on where it stopped."
        return Finding(topic, "weak" if enough else "poor", sentence, remedy)
    if trusted >= _GOOD_TRUST:
        return Finding(topic, "good", sentence)
    remedy = (
        "Use only points above the confidence threshold. Stand closer together so that both phones see the "
        "same things, avoid blur and plain walls, and check the overlay: double edges mean wrong matches."
    )
    return Finding(topic, "weak" if enough else "poor", sentence, remedy)


def _reprojection_error(calibration: dict[str, Any]) -> float | None:
    found = _number(calibration, "reprojection_error")
    return _number(calibration, "reprojection_error_median") if found is None else found


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _sentence(text: str) -> str:
    clean = " ".join(text.split())
    return f"{clean[:1].upper()}{clean[1:]}".rstrip(".") + "."


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
