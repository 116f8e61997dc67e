"""Pictures and pages that show a result."""

from wideflow.report.colours import depth_colours, flow_colours, flow_wheel
from wideflow.report.write import write_report

__all__ = ["depth_colours", "flow_colours", "flow_wheel", "write_report"]
