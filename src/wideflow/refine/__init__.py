"""Variational scene flow: refine the flows of four pictures together, then lift them to 3D."""

from wideflow.refine.driver import Refinement, refine_flows
from wideflow.refine.flow_loop import FlowLoop, carry_stereo, close_loop
from wideflow.refine.lift import Lifted, LiftedStereo, lift_flows, lift_stereo

__all__ = [
    "FlowLoop",
    "Lifted",
    "LiftedStereo",
    "Refinement",
    "carry_stereo",
    "close_loop",
    "lift_flows",
    "lift_stereo",
    "refine_flows",
]
