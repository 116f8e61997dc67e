"""A calibration that someone gives: does it fit these videos?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.report import TOPIC, CalibrationReport, motion_of_rig
from wideflow.calibration.sightings.grey_frames import grey_frames
from wideflow.calibration.solution import Pairs
from wideflow.calibration.solving.lens import fitted_camera
from wideflow.errors import InputError
from wideflow.geometry import (
    fundamental_matrix,
    ideal_camera,
    sampson_distance,
    triangulate,
    undistort_points,
)
from wideflow.geometry.features import detect_features, match_features
from wideflow.progress import Progress, silent
from wideflow.types import Rig, RigFrame, View
from wideflow.verdict import Finding
from wideflow.video.read import Video

_MOMENTS = 6  # pairs of frames that are looked at
_SIZE, _FEATURES = 1280, 4000
_NEAR = 2.0  # px of a picture of 1280 from the epipolar line within which a match agrees
_FEWEST = 30  # matches of a moment that agree with some geometry; fewer cannot tell
_REFUSED = 0.3  # share of those that agree with the rig below which it belongs to something else
_DOUBTED = 0.75  # and below which it is doubtful
_LATE = 0.5  # frames that the rig's times may differ from the videos'


def fit_rig(rig: Rig, a: Video, b: Video) -> Rig:
    """The rig for the size of the videos' pictures.

    Raises
    ------
    InputError
        The pictures have another shape.
    """
    cameras = [
        fitted_camera(camera, video.size, camera.name, str(video.path))
        for camera, video in zip(rig.cameras, (a, b), strict=True)
    ]
    frames = tuple(
        RigFrame(
            frame.index,
            frame.times,
            (
                View(cameras[0], frame.views[0].cam_from_world),
                View(cameras[1], frame.views[1].cam_from_world),
            ),
        )
        for frame in rig.frames
    )
    return Rig((cameras[0], cameras[1]), frames)


def check_rig(
    rig: Rig, a: Video, b: Video, pairs: Pairs, progress: Progress | None = None
) -> CalibrationReport:
    """Compare a calibration with the pictures: matches must lie on the epipolar lines it gives.

    Matches that also disagree with the best fundamental matrix of their own do not count, so that a scene
    that is hard to match does not speak against a good calibration; too few of them say nothing.

    Parameters
    ----------
    rig : Rig
        Its frames are those of A by their index.
    a, b : Video
        The two clips.
    pairs : FramePairs
        Frames filmed at the same time.
    progress : callable, optional
        Called with the steps done, all steps, and what comes next.

    Raises
    ------
    InputError
        It has other picture shapes, or none of the frames.
    """
    fitted, report = fit_rig(rig, a, b), progress or silent
    moments, covered = _moments(fitted, pairs)
    if len(moments) == 0:
        raise InputError(
            f"the calibration has frames {rig.frames[0].index} to {rig.frames[-1].index}, none of which is "
            "among the frames to work on; calibrate these, or choose others with --frames"
        )
    found = []
    for number, moment in enumerate(moments.tolist()):
        report(number, len(moments), "comparing the calibration with the pictures")
        views = fitted.frame(int(pairs.a[moment])).views
        found.append(_residuals(views, (a, b), (int(pairs.a[moment]), int(pairs.b[moment]))))
    report(1, 1, "done")
    return _judged(fitted, found, len(pairs.a), covered, (a, b))


def _moments(rig: Rig, pairs: Pairs) -> tuple[NDArray[np.int64], int]:
    """Some pairs of frames that the rig has, evenly over time, and the number of all that it has."""
    if len(rig.frames) == 1:
        has = np.arange(len(pairs.a))
    else:
        has = np.flatnonzero(np.isin(pairs.a, [frame.index for frame in rig.frames]))
    picks = np.unique(np.linspace(0, len(has) - 1, _MOMENTS).round().astype(np.int64)) if len(has) else has
    return has[picks], len(has)


def _residuals(
    views: tuple[View, View], videos: tuple[Video, Video], frames: tuple[int, int]
) -> tuple[NDArray[np.float64], float]:
    """Distance in px from the epipolar geometry of the matches that agree with one, and their ray angle."""
    import cv2

    points = []
    for video, frame in zip(videos, frames, strict=True):
        features = [
            detect_features(grey, _FEATURES, video.size) for _, grey in grey_frames(video, [frame], _SIZE)
        ]
        if not features:
            return np.zeros(0), 0.0
        points.append(features[0])
    pairs = match_features(points[0], points[1])
    pixels = [points[c].xy[pairs[:, c]].astype(np.float64) for c in (0, 1)]
    x, y = (undistort_points(view.camera, xy) for view, xy in zip(views, pixels, strict=True))
    seen = np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    if np.count_nonzero(seen) < 8:
        return np.zeros(0), 0.0
    near = _NEAR * max(1.0, max(max(video.size) for video in videos) / _SIZE)
    F, inlier = cv2.findFundamentalMat(x[seen], y[seen], cv2.USAC_MAGSAC, near, 0.999, 10000)
    if F is None or inlier is None:
        return np.zeros(0), 0.0
    agree = np.flatnonzero(seen)[inlier.ravel() > 0]
    distance = np.abs(sampson_distance(fundamental_matrix(*views), x[agree], y[agree]))
    ideal = [View(ideal_camera(view.camera), view.cam_from_world) for view in views]
    angle = np.degrees(np.nanmedian(triangulate(ideal[0], ideal[1], x[agree], y[agree]).angle))
    return distance, float(angle)


def _judged(
    rig: Rig,
    found: list[tuple[NDArray[np.float64], float]],
    frames: int,
    covered: int,
    videos: tuple[Video, Video],
) -> CalibrationReport:
    distance = np.concatenate([residual for residual, _ in found])
    near = _NEAR * max(1.0, max(max(video.size) for video in videos) / _SIZE)
    matches = float(np.median([len(residual) for residual, _ in found]))
    # the residuals of a few matches, most of them wrong, would measure those and not the cameras
    measured = distance if matches >= _FEWEST else distance[:0]
    lengths, angles = motion_of_rig(rig)
    focal = [float(0.5 * (camera.K[0, 0] + camera.K[1, 1])) for camera in rig.cameras]
    return CalibrationReport(
        frames=frames,
        registered=(covered, covered),
        reprojection_error_mean=float(measured.mean()) if measured.size else float("nan"),
        reprojection_error_median=float(np.median(measured)) if measured.size else float("nan"),
        points=int(distance.size),
        inliers_across=float(np.median([np.count_nonzero(residual < near) for residual, _ in found])),
        ray_angle=float(np.median([angle for _, angle in found])),
        baseline=lengths,
        axis_angle=angles,
        focal_lengths=(focal[0], focal[1]),
        intrinsics_source=("given", "given"),
        static=(len(rig.frames) == 1,) * 2,
        scale="the calibration given",
        doubts=_doubts(measured, near, matches, _times_off(rig, videos)),
    )


def _doubts(distance: NDArray[np.float64], near: float, matches: float, late: float) -> tuple[Finding, ...]:
    """What speaks against the rig: residuals in px, matches a moment, frames that its times are off."""
    doubts = []
    if not distance.size:
        found = f"The calibration could not be checked: only {matches:.0f} points match between the cameras."
        doubts.append(Finding(TOPIC, "weak", found, "Make sure that it belongs to these videos."))
    else:
        share, off = float(np.mean(distance < near)), float(np.median(distance))
        if share < _REFUSED:
            found = (
                f"The calibration does not fit these videos: matching points lie {off:.0f} px off their "
                "epipolar lines."
            )
            remedy = "Check that A and B are not swapped, or calibrate anew without --rig."
            doubts.append(Finding(TOPIC, "poor", found, remedy))
        elif share < _DOUBTED:
            found = (
                f"{1 - share:.0%} of the matching points lie off their epipolar lines, {off:.1f} px in the "
                "median."
            )
            doubts.append(Finding(TOPIC, "weak", found, "Calibrate anew without --rig."))
    if late > _LATE:
        found = f"The calibration's times differ from those of the videos by up to {late:.1f} frames."
        doubts.append(Finding(TOPIC, "weak", found, "Check that it belongs to these videos."))
    return tuple(doubts)


def _times_off(rig: Rig, videos: tuple[Video, Video]) -> float:
    """Most that the rig's times are off for camera A, in frames; a COLMAP model only counts its frames."""
    frames = [frame for frame in rig.frames if 0 <= frame.index < len(videos[0])]
    if len(rig.frames) == 1 or not frames or all(f.times == (f.index, f.index) for f in rig.frames):
        return 0.0
    return max(abs(f.times[0] - float(videos[0].times[f.index])) for f in frames) * videos[0].fps
