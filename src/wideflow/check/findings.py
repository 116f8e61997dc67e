"""What the numbers mean for a run, in sentences, and what to do about it in the next take."""

from __future__ import annotations

import math

import numpy as np

from wideflow.check.measures import ClipMeasures
from wideflow.check.shared import Shared
from wideflow.config import SyncConfig
from wideflow.sync import Sync
from wideflow.verdict import Finding, Grade

_POOR_SYNC = 0.3
_SHORT = 0.5  # seconds in common below which synchronisation and calibration have little to go by
_FEW_POINTS, _LITTLE_COVERED = 40, 0.12
_MATCH_ERROR = 0.3  # px that dense matching is off by where it is good
_GOOD_DEPTH, _POOR_DEPTH = 0.01, 0.05  # errors of depth which that makes
_WIDE, _TOO_WIDE = 32.0, 60.0  # degrees
_FLAT = 0.9  # share of what both see that one plane explains
_SOFT, _BLURRED = 1.5, 4.0  # px of blur
_WHITE, _BLACK, _HOPELESS = 0.1, 0.25, 0.6  # shares of the picture
_DRIFT, _TINT, _UNLIKE = 0.3, 0.2, 1.5  # stops
_TURNED = 30.0  # degrees of roll
_APART = 0.012  # seconds between the frames of a pair: a third of a frame at 30 per second
_MISSING = 0.02  # share of the frames
_ZOOM = 1.08  # of the whole picture, without parallax
_ZOOM_BESIDE_PARALLAX = 1.02  # beyond what chance explains
_LOCK = "Lock exposure, white balance and focus before you film: on most phones hold a finger on the subject."
_STEADY = (
    "Switch off stabilisation, also called action mode or steady video, and hold the phone with both hands."
)
_BORDER_CHANGE = 0.01


def findings_about(
    sync: Sync, clips: tuple[ClipMeasures, ClipMeasures], shared: Shared
) -> tuple[Finding, ...]:
    """Findings in the order in which a run needs what they are about."""
    found = [_time(sync, clips), _frames(sync, clips, shared), _overlap(shared)]
    if shared.found and not shared.one_clip:
        found.append(_angle(shared))
    found += [_movement(clips), _sharpness(clips), _exposure(clips, shared)]
    found += _zoom(clips, shared)
    found += [_border(clips)] if max(clip.border for clip in clips) > 0 else []
    return tuple(found)


def _time(sync: Sync, clips: tuple[ClipMeasures, ClipMeasures]) -> Finding:
    topic, trusted = "Time", SyncConfig().trusted
    common = len(sync.pairs.a) / clips[0].fps
    later, earlier = ("B", "A") if sync.offset_seconds >= 0 else ("A", "B")
    when = f"{later} started {abs(sync.offset_seconds):.2f} s after {earlier}; {common:.1f} s are common"
    if sync.method == "given":
        sentence = f"As you say, {when}."
    elif sync.confidence >= trusted:
        sentence = f"{when}, found by {sync.method} ({sync.confidence:.0%} sure)."
    else:
        remedy = (
            "Give the offset with --offset if you know it; do the clips show the same moment at all? Next "
            "time clap once where both phones see and hear it."
        )
        doubt = f"Perhaps {when}, but {sync.method} tells it with {sync.confidence:.0%} only."
        return Finding(topic, "weak" if sync.confidence >= _POOR_SYNC else "poor", doubt, remedy)
    if common < _SHORT:
        return Finding(topic, "weak", sentence, "Film a few seconds more together.")
    return Finding(topic, "good", sentence)


def _frames(sync: Sync, clips: tuple[ClipMeasures, ClipMeasures], shared: Shared) -> Finding:
    topic = "Frames"
    apart = float(np.abs(sync.pairs.error).mean())
    sentence = " and ".join(
        f"{name} has {clip.size[0]}x{clip.size[1]} at {clip.fps:.3g} a second"
        for name, clip in zip("AB", clips, strict=True)
    )
    sentence += f"; the frames of a pair are {1000 * apart:.0f} ms apart."
    upright = [clip.size[1] > clip.size[0] for clip in clips]
    if upright[0] != upright[1]:
        return Finding(topic, "weak", sentence, "Hold both phones the same way: upright, or both lying.")
    if abs(shared.roll) > _TURNED:
        sentence += f" B is turned by {abs(shared.roll):.0f}° against A."
        remedy = (
            "Hold both phones the same way. If they were, turn one file before the run: it lost the note."
        )
        return Finding(topic, "weak", sentence, remedy)
    missing = max(clip.missing for clip in clips)
    if missing > _MISSING:
        sentence += f" {missing:.0%} of the frames come late, as if some were missing."
        return Finding(topic, "weak", sentence, "Use the files as the phones wrote them, in more light.")
    if apart > _APART:
        remedy = "What moves fast will be a little off. Film at 60 frames a second to halve the gap."
        return Finding(topic, "weak", sentence, remedy)
    return Finding(topic, "good", sentence)


def _overlap(shared: Shared) -> Finding:
    topic = "Overlap"
    closer = "Stand closer together, 5° to 20° apart as seen from the subject, and frame the same things."
    if shared.one_clip:
        sentence = "Both clips show the same pictures from the same place: there is no second view."
        return Finding(topic, "poor", sentence, "Give the clips of two different cameras.")
    if 2 * shared.found < shared.moments:
        sentence = (
            f"Common points are found in {shared.found} of {shared.moments} moments: matches agree no better"
        )
        sentence += " than by chance in the others." if shared.found else " than by chance."
        remedy = f"{closer} Above 30° surfaces look too different, and at different moments so do things."
        return Finding(topic, "poor", sentence, remedy)
    sentence = f"About {shared.points:.0f} common points at a time, over {shared.covered:.0%} of A's picture."
    if shared.points < _FEW_POINTS or shared.covered < _LITTLE_COVERED:
        return Finding(topic, "weak", sentence, closer)
    return Finding(topic, "good", sentence)


def _angle(shared: Shared) -> Finding:
    topic = "Angle"
    if not math.isfinite(shared.angle):
        return Finding(topic, "weak", "The angle between the cameras cannot be told.", "Film more texture.")
    error = _MATCH_ERROR / max(shared.parallax, 1e-6)
    degrees = f"{shared.angle:.1f}" if shared.angle < 5 else f"{shared.angle:.0f}"
    few = " (by few points)" if shared.points < _FEW_POINTS else ""
    sentence = f"The cameras are about {degrees}° apart{few}, seen from what both see"
    if error > _GOOD_DEPTH:
        wrong = f"by {error:.0%}" if error < 1 else "altogether"
        sentence += f": matches that are off by {_MATCH_ERROR} px make depth wrong {wrong}."
        grade: Grade = "poor" if error > _POOR_DEPTH else "weak"
        return Finding(topic, grade, sentence, "Stand further apart: 5° to 20°, at 3 m 25 cm to 1 m.")
    if shared.angle > _WIDE:
        sentence += ": many surfaces look too different to be matched."
        grade = "poor" if shared.angle > _TOO_WIDE else "weak"
        return Finding(topic, grade, sentence, "Stand closer together: 5° to 20°.")
    if shared.flat > _FLAT:
        sentence += (
            f"; one plane explains {shared.flat:.0%} of it, which does not tell where the cameras are."
        )
        return Finding(topic, "weak", sentence, "Have things at different distances in both pictures.")
    return Finding(topic, "good", sentence + ".")


def _movement(clips: tuple[ClipMeasures, ClipMeasures]) -> Finding:
    words = {
        "stands": "stands still",
        "turns": "turns, but hardly changes its place",
        "moves": "moves",
        "unclear": "shows too little of the same from time to time to tell whether it moves",
    }
    kinds = [clip.motion.kind for clip in clips]
    if kinds[0] == kinds[1]:
        plural = {"stands": "stand still", "turns": "turn, but hardly change their places", "moves": "move"}
        sentence = f"Both cameras {plural.get(kinds[0], 'show too little of the same over time')}."
    else:
        sentence = f"A {words[kinds[0]]}; B {words[kinds[1]]}."
    if "moves" in kinds:
        return Finding("Camera motion", "good", sentence)
    remedy = (
        "Lenses cannot be measured without parallax over time: give them with --intrinsics-a and "
        "--intrinsics-b, or the cameras with --rig. Next time walk or sway slowly sideways."
    )
    return Finding("Camera motion", "weak", sentence, remedy)


def _sharpness(clips: tuple[ClipMeasures, ClipMeasures]) -> Finding:
    topic, blurs = "Sharpness", [clip.blur for clip in clips]
    if not all(map(math.isfinite, blurs)):
        remedy = "Film things with texture, in focus and in enough light."
        return Finding(topic, "weak", "A picture has too few edges to tell whether it is sharp.", remedy)
    worst = max(clip.worst_blur for clip in clips)
    sentence = f"Edges are blurred by {blurs[0]:.1f} px in A and {blurs[1]:.1f} px in B"
    sentence += f", by {worst:.1f} px in the worst picture." if worst > _SOFT else "."
    if worst <= _SOFT:
        return Finding(topic, "good", sentence)
    remedy = "Use a shorter shutter and more light, hold the phones steadier, and wait for the focus."
    return Finding(topic, "poor" if max(blurs) > _BLURRED else "weak", sentence, remedy)


def _exposure(clips: tuple[ClipMeasures, ClipMeasures], shared: Shared) -> Finding:
    topic = "Exposure"
    parts, remedies, grade = [], [], "good"
    for name, clip in zip("AB", clips, strict=True):
        white, black, drift = clip.light.white, clip.light.black, clip.light.drift
        if white > _WHITE:
            parts.append(f"{white:.0%} of {name} is white")
            remedies.append("Expose for the highlights, and keep sky and lamps out of the picture.")
        if black > _BLACK:
            parts.append(f"{black:.0%} of {name} is black")
            remedies.append("Use more light.")
        if drift > _DRIFT:
            parts.append(f"the brightness of {name} changes by {drift:.1f} stops during the clip")
            remedies.append(_LOCK)
        if clip.light.tint > _TINT:
            parts.append(
                f"the white balance of {name} changes by {clip.light.tint:.1f} stops of red over blue"
            )
            remedies.append(_LOCK)
        if max(white, black) > _HOPELESS:
            grade = "poor"
    if abs(shared.stops) > _UNLIKE:
        parts.append(f"B is {'brighter' if shared.stops > 0 else 'darker'} by {abs(shared.stops):.1f} stops")
        remedies.append("Set both phones to the same exposure.")
    if not parts:
        differ = "" if math.isnan(shared.stops) else f", and differ by {abs(shared.stops):.1f} stops"
        return Finding(topic, "good", f"Both clips are well exposed{differ}.")
    sentence = "; ".join(parts)
    advice = " ".join(dict.fromkeys(remedies))
    return Finding(
        topic, "poor" if grade == "poor" else "weak", f"{sentence[:1].upper()}{sentence[1:]}.", advice
    )


def _zoom(clips: tuple[ClipMeasures, ClipMeasures], shared: Shared) -> list[Finding]:
    """A lens that changes: seen in the picture as a whole, or beside the parallax of a camera that moves."""
    factors = []
    for clip, lens in zip(clips, shared.lenses, strict=True):
        whole = clip.motion.zoom if clip.motion.zoom >= _ZOOM else 1.0
        factors.append(max(whole, lens.zoom if lens.zoom >= _ZOOM_BESIDE_PARALLAX else 1.0))
    if max(factors) == 1:
        return []
    name, factor = max(zip("AB", factors, strict=True), key=lambda one: one[1])
    sentence = f"The picture of {name} changes its scale by {factor - 1:.0%} at least, which is a zoom."
    remedy = "Do not zoom, and let no phone change lens or focus by itself: choose one lens, lock the focus."
    return [Finding("Zoom", "weak", sentence, remedy)]


def _border(clips: tuple[ClipMeasures, ClipMeasures]) -> Finding:
    name, clip = max(zip("AB", clips, strict=True), key=lambda one: one[1].border)
    sentence = f"{name} has a black border of up to {clip.border:.0%} of the picture"
    if max(one.border_change for one in clips) > _BORDER_CHANGE:
        sentence += " that changes its width, as a stabiliser does when it shifts and bends the picture."
        return Finding("Borders", "weak", sentence, f"{_STEADY} It changes the lens all the time.")
    return Finding("Borders", "weak", sentence + ".", "Cut the border off, in both clips alike.")
