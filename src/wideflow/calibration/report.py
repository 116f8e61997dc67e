"""How good a calibration is: figures, and plain sentences about what cannot be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wideflow.geometry import baseline, optical_axis_angle
from wideflow.types import Rig
from wideflow.verdict import GRADES, Finding, Grade

TOPIC = "Calibration"
_Doubt = tuple[Grade, str, str]  # grade, sentence, remedy
_FEWEST_ACROSS, _TOO_FEW_ACROSS = 30, 12  # points that both cameras see at a time, to be sure, and at all
_SMALLEST_ANGLE = 1.5  # degrees between the rays of the two cameras
_LARGEST_ERROR = 1.5  # px
_JUMP = 0.08  # change of the distance between the cameras from frame to frame that no hand makes
_REGISTERED, _TOO_FEW_REGISTERED = 0.9, 0.5  # share of frames whose pose is found
# Focal lengths over the longer side: beyond the first lenses are rare and more likely a mistake; beyond the
# second they must be known well, to _SURE_FOCAL
_FOCAL_RANGE, _USUAL_RANGE, _SURE_FOCAL = (0.35, 4.0), (0.45, 1.6), 0.03
_HALVES, _ZOOM = 0.015, 0.03  # relative difference of a focal length between the halves of the clip
_PLANE = 0.75  # share of the matches that one plane may explain where lenses are to be found
_LENS_OFF = 0.04  # of given focal lengths from what the videos say
_TILT, _LARGEST_TILT = 0.02, 0.15  # relative error of depth that is said, and that is too much


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
        Relative change of a focal length from the first half of the clip to the second.
    lens_off : float
        Relative difference between focal lengths given and those that the videos would rather have.
    flat : float
        Share of the matches of a moment that one plane explains.
    readout, readout_spread : (float, float)
        Seconds from the first row to the last of a rolling shutter, and their standard deviation: 0 of one
        that a lens file gives, NaN where nothing tells.
    scale : str
        "unknown", or where it comes from.
    scale_error : float
        Relative standard error of the scale, beside that of the number given; NaN if it is not known.
    scale_means : str
        Lengths that follow from it, so that nonsense is seen.
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
    lens_off: float = float("nan")
    flat: float = float("nan")
    readout: tuple[float, float] = (0.0, 0.0)
    readout_spread: tuple[float, float] = (float("nan"), float("nan"))
    scale: str = "unknown"
    scale_error: float = float("nan")
    scale_means: str = ""
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
    return tuple(
        Finding(TOPIC, grade, sentence, remedy)
        for grade, sentence, remedy in (
            *_about_views(report),
            *_about_time(report),
            *_about_lenses(report, sides),
            *_about_depth(report),
        )
    )


def _grade(value: float, weak: float, poor: float) -> Grade:
    """Of a figure that should be small; "good" if it is not known. For a large one turn the signs."""
    return "poor" if value > poor else "weak" if value > weak else "good"


def _about_views(report: CalibrationReport) -> Iterator[_Doubt]:
    grade = _grade(-report.inliers_across, -_FEWEST_ACROSS, -_TOO_FEW_ACROSS)
    if grade != "good":
        yield (
            grade,
            f"The two cameras share only {report.inliers_across:.0f} points of the scene at a time.",
            "Film with more overlap, closer to each other, or in front of more texture.",
        )
    grade = _grade(-report.agreeing, -0.85, -0.6)
    if grade != "good":
        yield (
            grade,
            f"Only {report.agreeing:.0%} of the matches between the cameras lie on their epipolar lines.",
            "Check the offset and the lenses given; what moves fast needs frames that are closer in time.",
        )
    grade = max(_grade(report.pairs_turn, 0.7, 2.5), _grade(report.pairs_way, 6.0, 20.0), key=GRADES.index)
    if grade != "good":
        yield (
            grade,
            f"Pairs of pictures alone put the cameras {report.pairs_turn:.1f} degrees in rotation and "
            f"{report.pairs_way:.0f} degrees in direction from where the motion over time puts them.",
            "Film with more still background in both pictures, or give the intrinsics.",
        )


def _about_time(report: CalibrationReport) -> Iterator[_Doubt]:
    share = min(report.registered) / max(report.frames, 1)
    grade = _grade(-share, -_REGISTERED, -_TOO_FEW_REGISTERED)
    if grade != "good":
        yield (
            grade,
            f"The pose of only {min(report.registered)} of {report.frames} frames could be found.",
            "Film with more texture that stands still, or choose better frames with --frames.",
        )
    grade = _grade(-report.support, -0.3, -0.2)
    if grade != "good" and not all(report.static):
        yield (
            grade,
            f"Only {report.support:.0%} of the picture agrees with how the cameras moved.",
            "Film with more still background in both pictures.",
        )
    jump = largest_jump(report.baseline)
    if jump > _JUMP:
        yield (
            "poor",
            f"The distance between the cameras seems to change by {jump:.0%} from one frame to the next.",
            "Hands do not jump so: film with more still background, or choose other frames with --frames.",
        )
    if report.reprojection_error_median > _LARGEST_ERROR:
        yield (
            "weak",
            f"Points are seen {report.reprojection_error_median:.1f} px off where they should be.",
            "Give the intrinsics of the cameras, or switch off the stabiliser of the phones.",
        )


def _about_lenses(report: CalibrationReport, sides: tuple[int, int]) -> Iterator[_Doubt]:
    if "guessed" in report.intrinsics_source:
        yield (
            "poor",
            "Both cameras stand still, so their focal lengths cannot be measured and are guessed.",
            "Give the intrinsics with --intrinsics-a and --intrinsics-b, or move the cameras a little.",
        )
    for name, focal, side, source, spread in zip(
        "AB", report.focal_lengths, sides, report.intrinsics_source, report.focal_spread, strict=True
    ):
        low, high = _FOCAL_RANGE if source == "given" or spread < _SURE_FOCAL else _USUAL_RANGE
        if not low <= focal / side <= high:
            yield (
                "poor",
                f"The focal length of camera {name}, {focal:.0f} px, is that of no usual lens.",
                f"Give its intrinsics with --intrinsics-{name.lower()}, or move the cameras more.",
            )
    if report.flat > _PLANE and "self-calibrated" in report.intrinsics_source:
        yield (
            "poor",
            f"One plane explains {report.flat:.0%} of what both cameras see; that tells no lens.",
            "Film things at different distances, or give the intrinsics.",
        )
    grade = _grade(report.halves, _HALVES, _ZOOM)
    if grade != "good":
        yield (
            grade,
            f"The focal length seems to change by {report.halves:.0%} between the two halves of the clip.",
            "Do not zoom, and switch off the stabiliser.",
        )
    if report.lens_off > _LENS_OFF:
        yield (
            "poor",
            f"The videos say that the focal lengths given are off by {report.lens_off:.0%}.",
            "Check that the intrinsics belong to these cameras and this zoom, or leave them out.",
        )


def _about_depth(report: CalibrationReport) -> Iterator[_Doubt]:
    if report.ray_angle < _SMALLEST_ANGLE:
        yield (
            "weak",
            f"The cameras see the scene only {report.ray_angle:.1f} degrees apart, so depth is uncertain.",
            "Film from places farther apart.",
        )
    grade = _grade(report.tilt, _TILT, _LARGEST_TILT)
    if grade != "good":
        yield (
            grade,
            f"Depth may be tilted or bent by {report.tilt:.0%}: the videos leave that open.",
            "Film from places farther apart, longer, or move both cameras more."
            if report.intrinsics_source == ("given", "given")
            else "Give the intrinsics, film longer, or move both cameras more.",
        )


def largest_jump(baseline: tuple[float, ...]) -> float:
    """Largest relative change of the cameras' distance from frame to frame, beyond the usual one."""
    change = np.abs(np.diff(np.log(baseline))) if len(baseline) > 2 else np.zeros(0)
    return float(change.max() - np.median(change)) if change.size else 0.0
