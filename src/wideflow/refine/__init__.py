"""Variational scene flow: refine the flows of four pictures together, then lift them to 3D."""

from wideflow.refine.driver import Refinement, refine_flows
from wideflow.refine.flow_loop import FlowLoop, close_loop
from wideflow.refine.lift import Lifted, lift_flows

__all__ = ["FlowLoop", "Lifted", "Refinement", "close_loop", "lift_flows", "refine_flows"]
