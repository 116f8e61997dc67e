"""Where: the lenses of two cameras and their poses in every frame, by structure from motion."""

from wideflow.calibration.check import check_rig, fit_rig
from wideflow.calibration.poses import scaled, smoothed
from wideflow.calibration.report import CalibrationReport, motion_of_rig
from wideflow.calibration.solution import Calibration, calibrate

__all__ = [
    "Calibration",
    "CalibrationReport",
    "calibrate",
    "check_rig",
    "fit_rig",
    "motion_of_rig",
    "scaled",
    "smoothed",
]
