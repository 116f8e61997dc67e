"""Variational scene flow: refine the flows of four pictures together, then lift them to 3D."""

from wideflow.refine.camera_spread import CameraDoubt, camera_spread, tilt_words
from wideflow.refine.confidence import Evidence, match_noise
from wideflow.refine.driver import Refinement, refine_flows
from wideflow.refine.flow_loop import FlowLoop, carry_stereo, close_loop
from wideflow.refine.lift import Lifted, LiftedStereo, lift_flows, lift_stereo

__all__ = [
    "CameraDoubt",
    "Evidence",
    "FlowLoop",
    "Lifted",
    "LiftedStereo",
    "Refinement",
    "camera_spread",
    "carry_stereo",
    "close_loop",
    "lift_flows",
    "lift_stereo",
    "match_noise",
    "refine_flows",
    "tilt_words",
]
