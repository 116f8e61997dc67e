"""Pictures and pages that show a result."""

from wideflow.report.colours import depth_colours, flow_colours, flow_wheel
from wideflow.report.notebook import show
from wideflow.report.write import write_report
from wideflow.storage.result import Result

# Result, too: who takes it from here has one that shows itself in notebooks
__all__ = ["Result", "depth_colours", "flow_colours", "flow_wheel", "show", "write_report"]
