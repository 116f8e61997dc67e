"""How good a calibration is: figures, and one plain sentence when it is too weak to trust."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wideflow.geometry import baseline, optical_axis_angle
from wideflow.types import Rig

_FEWEST_ACROSS = 30  # points that both cameras must see at a time
_SMALLEST_ANGLE = 1.5  # degrees between the rays of the two cameras
_LARGEST_ERROR = 1.5  # px of a picture of 1280
_REGISTERED = 0.9  # share of frames
_FOCAL_RANGE = (0.35, 4.0)  # of the longer side; lenses beyond are rare, and more likely a mistake


@dataclass(frozen=True)
class CalibrationReport:
    """Figures of a calibration.

    Attributes
    ----------
    frames : int
        Pairs of frames that were to be calibrated.
    registered : (int, int)
        Frames of each camera whose pose was found.
    reprojection_error_mean, reprojection_error_median : float
        Pixels between points and where they were seen; of a calibration that is only checked, the distance
        of matches from their epipolar lines. NaN without points.
    points : int
        Points of the scene, or matches that were checked.
    inliers_across : float
        Median number of points that both cameras see in a pair of frames.
    ray_angle : float
        Median angle in degrees between the rays of the two cameras to the same point.
    baseline : tuple of float
        Distance between the cameras in each frame of the rig, world units.
    axis_angle : tuple of float
        Degrees between the optical axes in each frame (the paper's figure "camera motion").
    focal_lengths : (float, float)
        Pixels; the mean of fx and fy.
    intrinsics_source : (str, str)
        "given", "metadata", "self-calibrated" or "guessed".
    static : (bool, bool)
        The camera stood still: one pose for all frames.
    scale : str
        "free", or how it was given.
    weak : str or None
        Why it cannot be trusted, with what to do.
    """

    frames: int
    registered: tuple[int, int]
    reprojection_error_mean: float
    reprojection_error_median: float
    points: int
    inliers_across: float
    ray_angle: float
    baseline: tuple[float, ...]
    axis_angle: tuple[float, ...]
    focal_lengths: tuple[float, float]
    intrinsics_source: tuple[str, str]
    static: tuple[bool, bool] = (False, False)
    scale: str = "free"
    weak: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON: lists, numbers, texts; what is not known is None."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def motion_of_rig(rig: Rig) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Baseline, and degrees between the optical axes, of every frame."""
    lengths = tuple(baseline(*frame.views) for frame in rig.frames)
    angles = tuple(float(np.degrees(optical_axis_angle(*frame.views))) for frame in rig.frames)
    return lengths, angles


def why_weak(report: CalibrationReport, sides: tuple[int, int]) -> str | None:
    """One sentence why a calibration cannot be trusted, None if it can.

    Parameters
    ----------
    report : CalibrationReport
        Its figures.
    sides : (int, int)
        Longer side of both cameras' pictures, px.
    """
    if report.inliers_across < _FEWEST_ACROSS:
        return (
            f"the two cameras share only {report.inliers_across:.0f} points of the scene at a time; film "
            "with more overlap, closer to each other, or in front of more texture"
        )
    if "guessed" in report.intrinsics_source:
        return (
            "both cameras stand still, so their focal lengths cannot be measured and are guessed; give the "
            "intrinsics with --intrinsics-a and --intrinsics-b, or move the cameras a little"
        )
    if min(report.registered) < _REGISTERED * report.frames:
        return (
            f"the pose of only {min(report.registered)} of {report.frames} frames could be found; film with "
            "more texture that stands still, or choose better frames with --frames"
        )
    if report.ray_angle < _SMALLEST_ANGLE:
        return (
            f"the cameras see the scene only {report.ray_angle:.1f} degrees apart, so depth is uncertain; "
            "film from places farther apart"
        )
    limit = _LARGEST_ERROR * max(1.0, max(sides) / 1280)
    if report.reprojection_error_median > limit:
        return (
            f"points are seen {report.reprojection_error_median:.1f} px off where they should be; give the "
            "intrinsics of the cameras, or switch off the stabiliser of the phones"
        )
    for name, focal, side in zip("AB", report.focal_lengths, sides, strict=True):
        if not _FOCAL_RANGE[0] <= focal / side <= _FOCAL_RANGE[1]:
            return (
                f"the focal length of camera {name}, {focal:.0f} px, is that of no usual lens; give its "
                f"intrinsics with --intrinsics-{name.lower()}, or move the cameras more"
            )
    return None
