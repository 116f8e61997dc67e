"""Pictures and pages that show a result."""

from wideflow.report.colours import depth_colours, flow_colours, flow_wheel

__all__ = ["depth_colours", "flow_colours", "flow_wheel"]
