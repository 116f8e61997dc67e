"""How good a calibration is: figures, and plain sentences about what cannot be trusted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wideflow.geometry import baseline, optical_axis_angle
from wideflow.types import Rig
from wideflow.verdict import Finding

TOPIC = "Calibration"
_FEWEST_ACROSS, _TOO_FEW_ACROSS = 30, 12  # points that both cameras see at a time, to be sure, and at all
_SMALLEST_ANGLE = 1.5  # degrees between the rays of the two cameras
_LARGEST_ERROR = 1.5  # px of a picture of 1280
_REGISTERED, _TOO_FEW_REGISTERED = 0.9, 0.5  # share of frames whose pose is found
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
    moving : float
        Share of the matches between the cameras that do not stand still over time.
    support : float
        Share of the picture's area that agrees with how the cameras move over time.
    agreeing : float
        Share of all matches between the cameras, movers included, that lie on their epipolar lines.
    cover : float
        Share of A's picture that has such matches.
    pairs_turn, pairs_way : float
        Degrees between the cameras' relative pose over time and that of pairs of pictures alone: of the
        rotation, and of the direction from camera to camera.
    focal_spread : (float, float)
        Relative standard deviation of the focal lengths; 0 where they are known.
    tilt : float
        Relative error of depth, up to scale, that the cameras leave: of nine pixels in ten it is smaller.
    halves : float
        Relative difference of the focal lengths that the two halves of the clip give.
    scale : str
        "free", or how it was given.
    doubts : tuple of Finding
        What speaks against it, with what to do; a "poor" one means that it is not to be trusted.
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
    moving: float = float("nan")
    support: float = float("nan")
    agreeing: float = float("nan")
    cover: float = float("nan")
    pairs_turn: float = float("nan")
    pairs_way: float = float("nan")
    focal_spread: tuple[float, float] = (float("nan"), float("nan"))
    tilt: float = float("nan")
    halves: float = float("nan")
    scale: str = "free"
    doubts: tuple[Finding, ...] = ()

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


def doubts_about(report: CalibrationReport, sides: tuple[int, int]) -> tuple[Finding, ...]:
    """What the figures of a calibration say against it.

    Parameters
    ----------
    report : CalibrationReport
        Its figures.
    sides : (int, int)
        Longer side of both cameras' pictures, px.
    """
    found: list[Finding] = []

    def doubt(poor: bool, sentence: str, remedy: str) -> None:
        found.append(Finding(TOPIC, "poor" if poor else "weak", sentence, remedy))

    if report.inliers_across < _FEWEST_ACROSS:
        doubt(
            report.inliers_across < _TOO_FEW_ACROSS,
            f"The two cameras share only {report.inliers_across:.0f} points of the scene at a time.",
            "Film with more overlap, closer to each other, or in front of more texture.",
        )
    if "guessed" in report.intrinsics_source:
        doubt(
            False,
            "Both cameras stand still, so their focal lengths cannot be measured and are guessed.",
            "Give the intrinsics with --intrinsics-a and --intrinsics-b, or move the cameras a little.",
        )
    if min(report.registered) < _REGISTERED * report.frames:
        doubt(
            min(report.registered) < _TOO_FEW_REGISTERED * report.frames,
            f"The pose of only {min(report.registered)} of {report.frames} frames could be found.",
            "Film with more texture that stands still, or choose better frames with --frames.",
        )
    if report.ray_angle < _SMALLEST_ANGLE:
        doubt(
            False,
            f"The cameras see the scene only {report.ray_angle:.1f} degrees apart, so depth is uncertain.",
            "Film from places farther apart.",
        )
    if report.reprojection_error_median > _LARGEST_ERROR * max(1.0, max(sides) / 1280):
        doubt(
            False,
            f"Points are seen {report.reprojection_error_median:.1f} px off where they should be.",
            "Give the intrinsics of the cameras, or switch off the stabiliser of the phones.",
        )
    for name, focal, side in zip("AB", report.focal_lengths, sides, strict=True):
        if not _FOCAL_RANGE[0] <= focal / side <= _FOCAL_RANGE[1]:
            doubt(
                True,
                f"The focal length of camera {name}, {focal:.0f} px, is that of no usual lens.",
                f"Give its intrinsics with --intrinsics-{name.lower()}, or move the cameras more.",
            )
    return tuple(found)
