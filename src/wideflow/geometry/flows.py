"""Flows that follow from depth, 3D motion and cameras."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.compiled import over_rows
from wideflow.errors import InputError
from wideflow.geometry.camera import pixel_grid, project, unproject
from wideflow.geometry.pair import transfer
from wideflow.geometry.pose import camera_to_world, world_to_camera
from wideflow.geometry.rolling import rolling_flow
from wideflow.types import Camera, RigFrame, Truth, View

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TruthFlows:
    """Where every pixel of one camera's picture at time t is found; (H, W, 2) float32 px, NaN where nowhere.

    Attributes
    ----------
    stereo
        In the other camera at t.
    optical
        In the same camera at t + 1.
    loop
        In the other camera at t + 1.
    """

    stereo: NDArray[np.float32]
    optical: NDArray[np.float32]
    loop: NDArray[np.float32]


def points_from_depth(view: View, depth: ArrayLike) -> Floats:
    """World points seen by every pixel.

    Parameters
    ----------
    view : View
        With distortion, if the picture has it.
    depth : (H, W) array_like
        z in the camera, world units, of the size of the view's picture.

    Returns
    -------
    (H, W, 3) float64
        World coordinates; NaN where depth is.
    """
    depth = np.asarray(depth, dtype=np.float64)
    _require_picture(view.camera, depth.shape, "depth")
    return camera_to_world(view, unproject(view.camera, pixel_grid(*view.camera.size)) * depth[..., None])


def flow_between(points: ArrayLike, view_source: View, view_target: View) -> Floats:
    """Flow from the picture whose pixels see the points to another.

    Parameters
    ----------
    points : (H, W, 3) array_like
        For every pixel of the source picture, the world point it sees, moved to the time of the target.
    view_source, view_target : View
        With distortion, if any: the flow is then between distorted pictures.

    Returns
    -------
    (H, W, 2) float64
        Target minus source pixel; NaN where the target camera cannot see the point (it is behind it).
    """
    points = np.asarray(points, dtype=np.float64)
    _require_picture(view_source.camera, points.shape[:-1], "a field of points")
    target = project(view_target.camera, world_to_camera(view_target, points))
    return target - pixel_grid(*view_source.camera.size)


def static_flow(source: View, target: View, inverse: ArrayLike) -> NDArray[np.float32]:
    """Flow (H, W, 2) to another pinhole view of what stands still at these inverse depths (H, W).

    NaN where the depth is unknown or the point is behind the other camera.
    """
    H, e = transfer(source, target)
    flow = np.empty((source.camera.height, source.camera.width, 2), np.float32)
    _static_flow(len(flow), np.column_stack([H, e]), np.asarray(inverse), flow)
    return flow


@over_rows()
def _static_flow(first, end, way, inverse, flow):
    for y in range(first, end):
        for x in range(flow.shape[1]):
            rho = inverse[y, x]
            u = way[0, 0] * x + way[0, 1] * y + way[0, 2] + rho * way[0, 3]
            v = way[1, 0] * x + way[1, 1] * y + way[1, 2] + rho * way[1, 3]
            w = way[2, 0] * x + way[2, 1] * y + way[2, 2] + rho * way[2, 3]
            flow[y, x, 0] = u / w - x if w > 0 else np.nan
            flow[y, x, 1] = v / w - y if w > 0 else np.nan


def flow_depths(
    source: View, target: View, flow: NDArray[np.float32], where: NDArray[np.bool_] | None = None
) -> NDArray[np.float32]:
    """Depths (2, H, W) in either pinhole view of what a flow (H, W, 2) between them shows.

    Each match is moved onto the epipolar line in the target: a formula, where the least correction of
    `triangulate` is a search. NaN where a match is unknown, and where no point in front of both has it;
    anything outside of ``where`` (H, W), if that is given.
    """
    H, e = transfer(source, target)
    depths = np.empty((2, *flow.shape[:2]), np.float32)
    where = np.ones(flow.shape[:2], np.bool_) if where is None else where
    _flow_depths(len(flow), np.column_stack([H, e]), flow, where, depths)
    return depths


@over_rows()
def _flow_depths(first, end, way, flow, where, depths):
    for y in range(first, end):
        for x in range(flow.shape[1]):
            if not where[y, x]:
                continue
            u, v = x + flow[y, x, 0], y + flow[y, x, 1]
            # of what is infinitely far, and by how much it moves for each inverse depth
            p = way[0, 0] * x + way[0, 1] * y + way[0, 2]
            q = way[1, 0] * x + way[1, 1] * y + way[1, 2]
            w = way[2, 0] * x + way[2, 1] * y + way[2, 2]
            # along the line through both
            along, across = p * way[2, 3] - w * way[0, 3], q * way[2, 3] - w * way[1, 3]
            moved = along * (way[0, 3] - u * way[2, 3]) + across * (way[1, 3] - v * way[2, 3])
            inverse = -(along * (p - u * w) + across * (q - v * w)) / moved
            there = w + inverse * way[2, 3]  # depth there by depth here
            front = inverse > 0 and there > 0
            depths[0, y, x] = 1 / inverse if front else np.nan
            depths[1, y, x] = there / inverse if front else np.nan


def truth_flows(truth: Truth, frame_t: RigFrame, frame_t1: RigFrame, camera_index: int) -> TruthFlows:
    """All flows of one picture from its ground truth.

    Parameters
    ----------
    truth : Truth
        Of the picture of camera ``camera_index`` at time t.
    frame_t, frame_t1 : RigFrame
        The views at t and t + 1. With a rolling shutter every row has the pose and the time of its own, and
        times must be seconds.
    camera_index : {0, 1}
        Which of the two cameras took the picture.

    Returns
    -------
    TruthFlows
    """
    source = frame_t.views[camera_index]
    other = 1 - camera_index
    if any(view.camera.readout for view in frame_t.views):
        both = frame_t, frame_t1
        targets = ((other, 0), (camera_index, 1), (other, 1))
        flows = [rolling_flow(truth, both, camera_index, *target).astype(np.float32) for target in targets]
        return TruthFlows(*flows)
    points = points_from_depth(source, truth.depth)
    moved = points + truth.motion
    return TruthFlows(
        stereo=flow_between(points, source, frame_t.views[other]).astype(np.float32),
        optical=flow_between(moved, source, frame_t1.views[camera_index]).astype(np.float32),
        loop=flow_between(moved, source, frame_t1.views[other]).astype(np.float32),
    )


def _require_picture(camera: Camera, shape: tuple[int, ...], what: str) -> None:
    if shape != (camera.height, camera.width):
        size = " x ".join(str(n) for n in reversed(shape))
        raise InputError(
            f"{what} of {size} pixels does not fit camera '{camera.name}' of {camera.width} x {camera.height}"
        )
