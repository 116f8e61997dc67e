"""Variational scene flow: refine the flows of four pictures together."""

from wideflow.refine.driver import Refinement, refine_flows

__all__ = ["Refinement", "refine_flows"]
