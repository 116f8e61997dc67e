"""How far an estimate is from the truth: of single fields, and of a whole time step."""

from wideflow.evaluate.metrics.fields import (
    angular_error,
    depth_scores,
    endpoint_error,
    flow_scores,
    motion_scores,
    occlusion_scores,
)
from wideflow.evaluate.metrics.scene import (
    FourFrameFlows,
    KittiFields,
    disparity_scores,
    kitti_scores,
    paper_scores,
)

__all__ = [
    "FourFrameFlows",
    "KittiFields",
    "angular_error",
    "depth_scores",
    "disparity_scores",
    "endpoint_error",
    "flow_scores",
    "kitti_scores",
    "motion_scores",
    "occlusion_scores",
    "paper_scores",
]
