"""What both cameras see: how many points, over how much of the picture, at what angle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideflow.check.agreement import Agreement, compare
from wideflow.check.lens_change import LensChange, lens_changes
from wideflow.check.light import stops_between
from wideflow.check.moments import Still
from wideflow.check.relative import Relative, fit_relative

_SAME = 0.5 / 640  # of the picture's longer side within which a point is at the same place in both clips
_SAME_SHARE = 0.8  # of the points, if both clips are one


@dataclass(frozen=True)
class Shared:
    """What A and B have in common.

    Attributes
    ----------
    moments, found : int
        Moments looked at, and those in which matches agree more than chance lets them.
    points : float
        Matches that agree, the median of those moments; 0 without any.
    covered : float
        Share of A's picture where they lie.
    flat : float
        Share of it that one plane explains.
    one_clip : bool
        Both clips show the same pictures.
    stops : float
        By which B is brighter; NaN if it cannot be told.
    angle : float
        Degrees between the rays of both cameras to what both see, the median; NaN if it cannot be told.
    parallax : float
        The same in pixels of the pictures looked at.
    roll : float
        Degrees by which B is turned about its viewing direction against A; NaN if it cannot be told.
    focal : (float, float)
        Guess of both focal lengths as shares of the longer sides; NaN if there is none.
    lenses : (LensChange, LensChange)
        How the lens of A and that of B change from moment to moment.
    """

    moments: int
    found: int
    points: float
    covered: float
    flat: float
    one_clip: bool
    stops: float
    angle: float
    parallax: float
    roll: float
    focal: tuple[float, float]
    lenses: tuple[LensChange, LensChange] = (LensChange(), LensChange())


def shared_view(both: list[tuple[Still, Still]]) -> Shared:
    """Compare the pictures of A and B at the same moments."""
    every = [compare(a, b) for a, b in both]
    found = [one for one in every if one is not None and not one.by_chance]
    nothing = float("nan")
    if not found:
        return Shared(
            len(both), 0, 0, 0.0, 0.0, False, nothing, nothing, nothing, nothing, (nothing, nothing)
        )
    stops = [value for one in found if (value := stops_between(one)) is not None]
    relative = fit_relative(found)
    return Shared(
        moments=len(both),
        found=len(found),
        points=float(np.median([np.count_nonzero(one.on_lines) for one in found])),
        covered=float(np.median([one.covered(one.on_lines) for one in found])),
        flat=float(
            np.median([one.share(one.on_plane) / max(one.share(one.on_lines), 1e-9) for one in found])
        ),
        one_clip=float(np.median([_unmoved(one) for one in found])) > _SAME_SHARE,
        stops=float(np.median(stops)) if stops else nothing,
        angle=nothing if relative is None else float(np.median(relative.angles)),
        parallax=nothing if relative is None else _pixels(relative, found[0].first),
        roll=nothing if relative is None else _mean_direction(relative.rolls),
        focal=(nothing, nothing) if relative is None else relative.focal,
        lenses=lens_changes(both, found),
    )


def _pixels(relative: Relative, still: Still) -> float:
    return float(np.radians(np.median(relative.angles))) * relative.focal[0] * max(still.grey.shape)


def _mean_direction(degrees: np.ndarray) -> float:
    turns = np.exp(1j * np.radians(degrees))
    return float(np.degrees(np.angle(turns.mean())))


def _unmoved(one: Agreement) -> float:
    """Share of the matches that lie at the same place of both pictures, whatever their sizes."""
    (height, width), (height_b, width_b) = one.first.grey.shape, one.second.grey.shape
    moved = (one.x + 0.5) / (width, height) - (one.y + 0.5) / (width_b, height_b)
    return float(np.mean(np.linalg.norm(moved * (width, height), axis=1) < _SAME * max(width, height)))
