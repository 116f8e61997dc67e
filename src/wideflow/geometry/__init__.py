"""Geometry of two views: lenses and pixels, poses, epipolar geometry, triangulation, flows."""

from wideflow.geometry.camera import (
    K_from_corner_origin,
    K_to_corner_origin,
    ideal_camera,
    inside_picture,
    pixel_grid,
    project,
    undistort_points,
    undistortion_maps,
    unproject,
)
from wideflow.geometry.consistency import forward_backward_error
from wideflow.geometry.epipolar import (
    epipolar_directions,
    fundamental_matrix,
    oriented_epipoles,
    oriented_epipoles_from_fundamental,
    sampson_distance,
)
from wideflow.geometry.flows import (
    TruthFlows,
    flow_between,
    flow_depths,
    points_from_depth,
    static_flow,
    truth_flows,
)
from wideflow.geometry.pair import PairGeometry, transfer
from wideflow.geometry.pose import (
    baseline,
    camera_to_world,
    interpolate_pose,
    optical_axis_angle,
    proper_pose,
    relative_pose,
    world_to_camera,
)
from wideflow.geometry.triangulation import Triangulation, triangulate

__all__ = [
    "K_from_corner_origin",
    "K_to_corner_origin",
    "PairGeometry",
    "Triangulation",
    "TruthFlows",
    "baseline",
    "camera_to_world",
    "epipolar_directions",
    "flow_between",
    "flow_depths",
    "forward_backward_error",
    "fundamental_matrix",
    "ideal_camera",
    "inside_picture",
    "interpolate_pose",
    "optical_axis_angle",
    "oriented_epipoles",
    "oriented_epipoles_from_fundamental",
    "pixel_grid",
    "points_from_depth",
    "project",
    "proper_pose",
    "relative_pose",
    "sampson_distance",
    "static_flow",
    "transfer",
    "triangulate",
    "truth_flows",
    "undistort_points",
    "undistortion_maps",
    "unproject",
    "world_to_camera",
]
