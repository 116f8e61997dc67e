"""Why an answer is uncertain: names for programs, words for people."""

from __future__ import annotations

WORDS = {
    "no lead": "no offset stands out, as if the clips shared no moment",
    "kinds": "not every kind of movement finds the same offset",
    "parts": "the two halves of the common time do not find the same offset",
    "few rivals": "the clips are too short for how slowly things move in them",
    "broad": "everything moves too slowly to tell the frame",
    "contradiction": "movement and geometry find different offsets",
    "few votes": "too few moving points are seen by both cameras",
    "faint": "the common sound is too faint",
    "bands": "low and high tones do not find the same offset, as if the clips shared no moment",
    "repeats": "the sound fits as well at other offsets",
}


def sentence(offset: float, method: str, confidence: float, reasons: tuple[str, ...]) -> str:
    """What the user is told of an uncertain answer: what it is, why it is uncertain, what to do."""
    why = f": {WORDS[reasons[0]]}" if reasons else ""
    return (
        f"low confidence ({confidence:.2f}): {offset:.3f} s by {method} may be wrong{why}; check that both "
        "clips show the same moment, or give the offset with --offset"
    )
