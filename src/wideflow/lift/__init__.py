"""From flows and cameras to depth, motion, their covariance and how far to trust them."""

from wideflow.lift.camera_spread import CameraDoubt, camera_spread, tilt_words
from wideflow.lift.confidence import Evidence, match_noise
from wideflow.lift.depth import Lifted, LiftedStereo, lift_flows, lift_stereo

__all__ = [
    "CameraDoubt",
    "Evidence",
    "Lifted",
    "LiftedStereo",
    "camera_spread",
    "lift_flows",
    "lift_stereo",
    "match_noise",
    "tilt_words",
]
