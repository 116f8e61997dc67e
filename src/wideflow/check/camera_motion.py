"""What each camera did over time: stood, turned, moved, zoomed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from wideflow.check.agreement import Agreement

Kind = Literal["stands", "turns", "moves", "unclear"]
_STILL = 1 / 640  # of the picture's longer side within which a point has not moved
_STILL_SHARE = 0.35  # of the points that have not moved if only the scene does; a moving camera leaves few
_OFTEN = 0.8  # of the pairs of pictures of a camera that stands
_PARALLAX = 0.15  # share of the picture that one place cannot explain but two can, if the camera has moved
_ONE_PLACE = 0.8  # share of the picture that one place explains, if the picture only turned and grew
_TRUSTED = 40  # matches below which two pictures of a camera say nothing


@dataclass(frozen=True)
class CameraMotion:
    """What a camera did.

    Attributes
    ----------
    kind : {"stands", "turns", "moves", "unclear"}
        "turns" where the picture moves without parallax: the camera turned, moved too little, or saw only
        what is far away or flat. "unclear" where pictures of different times have too little in common.
    parallax : float
        Share of the picture whose motion only two places explain, not a turn, in the clearest pair of
        pictures but one.
    zoom : float
        Largest factor by which the whole picture grew or shrank without parallax; 1 for none.
    """

    kind: Kind
    parallax: float
    zoom: float


def camera_motion(steps: list[Agreement]) -> CameraMotion:
    """Judge by pictures of one camera that were compared over time."""
    found = [step for step in steps if np.count_nonzero(step.on_lines) >= _TRUSTED]
    if not found:
        return CameraMotion("unclear", 0.0, 1.0)
    zoom = max(_growth(step) for step in found)
    parallax = sorted(step.share(step.on_lines) - step.share(step.on_plane) for step in found)
    # one pair alone may have a geometry that fits what moves by itself
    clearest = max(0.0, parallax[-2] if len(parallax) > 1 else parallax[-1])
    if np.mean([_stands(step) for step in found]) >= _OFTEN:
        return CameraMotion("stands", clearest, zoom)
    return CameraMotion("moves" if clearest >= _PARALLAX else "turns", clearest, zoom)


def _stands(step: Agreement) -> bool:
    moved = np.linalg.norm(step.y - step.x, axis=1)
    return bool(np.mean(moved < _STILL * max(step.first.grey.shape)) >= _STILL_SHARE)


def _growth(step: Agreement) -> float:
    """Factor by which the picture grew or shrank as a whole; 1 where its parts did not alike."""
    if step.share(step.on_plane) < _ONE_PLACE:
        return 1.0
    # a turn has three eigenvalues of one size, whatever the lens, and a zoom makes one differ from two
    sizes = np.abs(np.linalg.eigvals(step.homography))
    return float(sizes.max() / sizes.min()) if sizes.min() > 0 else 1.0
