"""From flows and cameras to depth, motion, their covariance and how far to trust them."""

from wideflow.lift.camera_spread import CameraDoubt, camera_spread, tilt_words
from wideflow.lift.confidence import Judged, MatchEvidence, match_noise
from wideflow.lift.depth import Lifted, LiftedStereo, lift_flows, lift_stereo
from wideflow.lift.over_time import (
    BOTH_NOW,
    COMPLETED,
    OVER_TIME,
    TRACK,
    UNKNOWN,
    Joined,
    join,
    rigid_error,
    static_chance,
    static_tells,
)
from wideflow.lift.steady import FoundDepth, SeenMoment, steady_depth
from wideflow.lift.still import standing_still
from wideflow.lift.tracks import Way, carried_depth

__all__ = [
    "BOTH_NOW",
    "COMPLETED",
    "OVER_TIME",
    "TRACK",
    "UNKNOWN",
    "CameraDoubt",
    "FoundDepth",
    "Joined",
    "Judged",
    "Lifted",
    "LiftedStereo",
    "MatchEvidence",
    "SeenMoment",
    "Way",
    "camera_spread",
    "carried_depth",
    "join",
    "lift_flows",
    "lift_stereo",
    "match_noise",
    "rigid_error",
    "standing_still",
    "static_chance",
    "static_tells",
    "steady_depth",
    "tilt_words",
]
