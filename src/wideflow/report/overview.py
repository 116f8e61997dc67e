"""What holds for a whole result: how much of it is trusted, and the scales that all its pictures share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import baseline, optical_axis_angle
from wideflow.results import Result
from wideflow.types import RigFrame

TRUSTED = 0.5  # a pixel with more confidence than this counts as trusted
_MOST_MOMENTS = 60  # a longer run is judged by this many moments, evenly spaced
_SCALE_MOMENTS = 6  # moments that the scales are taken from
_STEP = 3  # every third pixel in x and y is enough for a percentile


@dataclass(frozen=True, eq=False)
class Shares:
    """Parts of the picture of camera A, 0 .. 1, one value for each moment looked at.

    Attributes
    ----------
    moments : (n,) int
        Numbers of the moments.
    trusted, occluded, known : (n,) float
        Confidence above 0.5; not seen by B; depth is known.
    """

    moments: NDArray[np.intp]
    trusted: NDArray[np.float64]
    occluded: NDArray[np.float64]
    known: NDArray[np.float64]

    def of_steps(self) -> Shares:
        """Without the last moment: no motion starts there, and depth alone is trusted more easily."""
        return Shares(self.moments[:-1], self.trusted[:-1], self.occluded[:-1], self.known[:-1])


@dataclass(frozen=True)
class Scales:
    """What colours and sizes mean in every picture of a report.

    Attributes
    ----------
    stereo, optical : float
        Flow length of full colour, px.
    near, far, middle : float
        Ends of the depth colours and the median depth, world units.
    motion : float
        A long motion from a moment to the next (95th percentile of what moves), world units.
    """

    stereo: float
    optical: float
    near: float
    far: float
    middle: float
    motion: float


def spread(count: int, most: int) -> NDArray[np.intp]:
    """At most ``most`` of the numbers 0 .. count - 1, evenly spaced, with the first and the last."""
    return np.unique(np.rint(np.linspace(0, count - 1, min(count, most))).astype(np.intp))


def frame_of(result: Result, t: int) -> RigFrame:
    """The cameras at moment t; those of the only frame if they stand."""
    frames = result.rig.frames
    return frames[min(t, len(frames) - 1)]


def measure_shares(result: Result) -> Shares:
    """How much of each moment is trusted, occluded and known."""
    moments = spread(len(result), _MOST_MOMENTS)
    rows = [
        (
            np.mean(result.confidence(t) > TRUSTED),
            np.mean(result.occluded(t)),
            np.mean(np.isfinite(result.depth(t))),
        )
        for t in moments
    ]
    trusted, occluded, known = np.array(rows, np.float64).reshape(-1, 3).T
    return Shares(moments, trusted, occluded, known)


def measure_scales(result: Result) -> Scales:
    """Scales from a few moments; untrusted pixels have no say where there are trusted ones."""
    stereo, optical, depth, motion = [], [], [], []
    cut = np.s_[::_STEP, ::_STEP]
    for t in spread(len(result), _SCALE_MOMENTS):
        trusted = result.confidence(t)[cut] > TRUSTED
        stereo.append(_known(np.linalg.norm(result.stereo_flow(t)[cut], axis=2), trusted))
        depth.append(_known(result.depth(t)[cut], trusted))
        if t < len(result) - 1:
            optical.append(_known(np.linalg.norm(result.optical_flow_a(t)[cut], axis=2), trusted))
            motion.append(_known(np.linalg.norm(result.motion(t)[cut], axis=2), trusted))
    depths = np.concatenate(depth)
    depths = depths[depths > 0]
    near, middle, far = np.percentile(depths, [2, 50, 98]) if len(depths) else (1.0, 2.0, 4.0)
    moving = np.concatenate([np.zeros(0), *motion])
    moving = moving[moving > 1e-3 * middle]  # what stands still says nothing of how far things move
    return Scales(
        stereo=_percentile(np.concatenate(stereo), 99) or 1.0,
        optical=_percentile(np.concatenate([np.zeros(0), *optical]), 99) or 1.0,
        near=float(near),
        far=float(max(far, near * 1.001)),
        middle=float(middle),
        motion=_percentile(moving, 95),
    )


def _known(values: NDArray[np.float32], trusted: NDArray[np.bool_]) -> NDArray[np.float64]:
    finite = np.isfinite(values)
    chosen = finite & trusted
    return values[chosen if chosen.any() else finite].astype(np.float64)


def _percentile(values: NDArray[np.float64], rank: float) -> float:
    return float(np.percentile(values, rank)) if len(values) else 0.0


def camera_motion(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distance between the cameras and the angle between their axes, for every frame of the rig.

    Returns
    -------
    distance : (n,) float64
        World units.
    angle : (n,) float64
        Degrees.
    """
    views = [frame.views for frame in result.rig.frames]
    distance = np.array([baseline(*pair) for pair in views])
    return distance, np.degrees([optical_axis_angle(*pair) for pair in views])
