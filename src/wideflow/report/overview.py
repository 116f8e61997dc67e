"""What holds for a whole result: the scales that all its pictures share, and how its cameras move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import baseline
from wideflow.storage.result import TRUSTED, Result, spread

_SCALE_MOMENTS = 6  # moments that the scales are taken from
_STEP = 3  # every third pixel in x and y is enough for a percentile


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


def measure_scales(result: Result) -> Scales:
    """Scales from a few moments; untrusted pixels have no say where there are trusted ones."""
    stereo, optical, depth, motion = [], [], [], []
    cut = np.s_[::_STEP, ::_STEP]
    whole = np.array(result.whole_moments)
    for t in whole[spread(len(whole), _SCALE_MOMENTS)]:
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
    return np.array([baseline(*frame.views) for frame in result.rig.frames]), result.angles
