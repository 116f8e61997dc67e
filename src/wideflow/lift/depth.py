"""From flows to depth and 3D motion: triangulate at t and at t + 1, and say how far to trust the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, over_rows
from wideflow.errors import InputError
from wideflow.geometry.flow_loop import FlowLoop
from wideflow.geometry.one_time import moved_in_time
from wideflow.geometry.triangulation import meet, pinholes, projection, spread
from wideflow.lift.confidence import Judged, MatchEvidence, judge_depth
from wideflow.types import RigFrame

SMALLEST_ANGLE = np.radians(0.2)  # between two rays; below it a pixel of error is half the depth or more
_SLOPE = np.tan(SMALLEST_ANGLE)

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Lifted:
    """Geometry and motion of every pixel of picture A at t.

    Attributes
    ----------
    depth : (H, W) float32
        z in camera A at t, world units; NaN behind a camera or where the rays are nearly parallel.
    motion : (H, W, 3) float32
        From the point at t to the point at t + 1, world units; NaN where either is unknown.
    covariance : (H, W, 3, 3) float32
        Of the point at t, square world units, for noise of 1 px in every coordinate; to first order.
    motion_covariance : (H, W, 3, 3) float32
        Likewise of the motion, the noise of both moments taken as independent.
    judged : Judged
        How far to trust depth.
    """

    depth: Floats
    motion: Floats
    covariance: Floats
    motion_covariance: Floats
    judged: Judged

    @property
    def confidence(self) -> Floats:
        """(H, W): the chance that depth is within a percent; 0 where depth is unknown."""
        return self.judged.within()


def lift_flows(
    frame_t: RigFrame,
    frame_t1: RigFrame,
    flows: FlowLoop,
    evidence: MatchEvidence | None = None,
) -> Lifted:
    """Depth and motion from the flows of a time step.

    Parameters
    ----------
    frame_t, frame_t1 : RigFrame
        The two views at t and at t + 1, pinhole. Where B's pictures are late, what they show is first moved
        to the times of A's.
    flows : FlowLoop
        Refined or not.
    evidence : MatchEvidence, optional
        How far to trust the stereo flow; only what is visible unless given.
    """
    height, width = flows.optical.shape[:2]
    camera = frame_t.views[0].camera
    if (height, width) != (camera.height, camera.width):
        raise InputError(
            f"flows of {width}x{height} pixels do not fit camera '{camera.name}' of "
            f"{camera.width}x{camera.height}; give the flows of the calibrated picture"
        )
    depth = np.empty((height, width), np.float32)
    relative, slip = np.empty_like(depth), np.empty_like(depth)
    motion = np.empty((height, width, 3), np.float32)
    covariance = np.empty((height, width, 3, 3), np.float32)
    motion_covariance = np.empty_like(covariance)
    evidence = evidence or MatchEvidence(flows.stereo_visible)
    (late, view), (late_next, view_next) = (moved_in_time(frame_t, frame_t1, 1, which) for which in (0, 1))
    views, views_next = (frame_t.views[0], view), (frame_t1.views[0], view_next)
    _lift(
        height,
        *(np.ascontiguousarray(flow, np.float32) for flow in (flows.optical, flows.stereo, flows.closure)),
        np.stack([pinholes(*views), pinholes(*views_next)]),
        np.stack([projection(each) for each in (*views, *views_next)]),
        np.array([late, late_next, evidence.late]),
        frame_t.views[1].centre - frame_t.views[0].centre,
        depth,
        relative,
        slip,
        motion,
        covariance,
        motion_covariance,
    )
    judged = judge_depth(relative, flows.stereo, evidence, slip)
    return Lifted(depth, motion, covariance, motion_covariance, judged)


@dataclass(frozen=True, eq=False)
class LiftedStereo:
    """Depth (H, W) of every pixel of picture A, world units, NaN where unknown; the rest as in `Lifted`."""

    depth: Floats
    judged: Judged

    @property
    def confidence(self) -> Floats:
        """(H, W): the chance that depth is within a percent; 0 where depth is unknown."""
        return self.judged.within()


def lift_stereo(frame: RigFrame, stereo: Floats, evidence: MatchEvidence) -> LiftedStereo:
    """Depth from the stereo flow (H, W, 2) of one moment."""
    depth = np.empty(stereo.shape[:2], np.float32)
    relative = np.empty_like(depth)
    _lift_stereo(
        len(depth),
        np.asarray(stereo, np.float32),
        pinholes(*frame.views),
        projection(frame.views[0]),
        projection(frame.views[1]),
        depth,
        relative,
    )
    return LiftedStereo(depth, judge_depth(relative, stereo, evidence))


@over_rows()
def _lift(
    first, end, optical, stereo, closure, cameras, projections, late, base,
    depth, relative, slip, motion, covariance, motion_covariance,
):  # fmt: skip
    width = depth.shape[1]
    now_cameras, then_cameras = cameras[0], cameras[1]
    one, two, three, four = projections[0], projections[1], projections[2], projections[3]
    for row in range(first, end):
        y = np.int64(row)
        for x in range(width):
            ax, ay = x + np.float64(optical[y, x, 0]), y + np.float64(optical[y, x, 1])
            bx, by = x + np.float64(stereo[y, x, 0]), y + np.float64(stereo[y, x, 1])
            cx, cy = ax + stereo[y, x, 0] + closure[y, x, 0], ay + stereo[y, x, 1] + closure[y, x, 1]
            way_x, way_y = cx - bx, cy - by
            now, depths, sine, cosine = meet(
                now_cameras, np.float64(x), np.float64(y), bx + late[0] * way_x, by + late[0] * way_y
            )
            known = _known(now, depths, sine, cosine)
            own = spread(one, two, now[0], now[1], now[2])
            depth[y, x] = depths[0] if known else np.nan
            relative[y, x] = _relative(one, own) / depths[0] if known else np.inf
            _write(covariance, y, x, own, known)
            then, depths, sine, cosine = meet(
                then_cameras, ax, ay, cx + late[1] * way_x, cy + late[1] * way_y
            )
            known = known and _known(then, depths, sine, cosine)
            other = spread(three, four, then[0], then[1], then[2])
            both = (
                own[0] + other[0], own[1] + other[1], own[2] + other[2],
                own[3] + other[3], own[4] + other[4], own[5] + other[5],
            )  # fmt: skip
            _write(motion_covariance, y, x, both, known)
            for k in range(3):
                motion[y, x, k] = then[k] - now[k] if known else np.nan
            slip[y, x] = _slip(one, base, now, then, late[2]) if known and late[2] != 0 else 0.0


@over_rows()
def _lift_stereo(first, end, stereo, cameras, one, two, depth, relative):
    for y in range(first, end):
        for x in range(depth.shape[1]):
            here_x, here_y = np.float64(x), np.float64(y)
            point, depths, sine, cosine = meet(
                cameras, here_x, here_y, here_x + stereo[y, x, 0], here_y + stereo[y, x, 1]
            )
            known = _known(point, depths, sine, cosine)
            own = spread(one, two, point[0], point[1], point[2])
            depth[y, x] = depths[0] if known else np.nan
            relative[y, x] = _relative(one, own) / depths[0] if known else np.inf


@kernel()
def _known(point, depths, sine, cosine):
    """Is the point in front of both cameras, and do its rays meet at an angle?"""
    finite = np.isfinite(point[0]) and np.isfinite(point[1]) and np.isfinite(point[2])
    return finite and depths[0] > 0 and depths[1] > 0 and (sine >= _SLOPE * cosine)


@kernel()
def _relative(P, own):
    """Standard deviation along the optical axis of a camera, which is the last row of K R."""
    x, y, z = P[2, 0], P[2, 1], P[2, 2]
    xx, xy, xz, yy, yz, zz = own
    return np.sqrt(x * x * xx + y * y * yy + z * z * zz + 2 * (x * y * xy + x * z * xz + y * z * yz))


@kernel()
def _write(covariance, y, x, upper, known):
    xx, xy, xz, yy, yz, zz = upper
    covariance[y, x, 0, 0] = xx if known else np.nan
    covariance[y, x, 1, 1] = yy if known else np.nan
    covariance[y, x, 2, 2] = zz if known else np.nan
    covariance[y, x, 0, 1] = covariance[y, x, 1, 0] = xy if known else np.nan
    covariance[y, x, 0, 2] = covariance[y, x, 2, 0] = xz if known else np.nan
    covariance[y, x, 1, 2] = covariance[y, x, 2, 1] = yz if known else np.nan


@kernel()
def _slip(P, base, now, then, late):
    """Share of depth that a point is off by if it moves between A's picture and B's, this much later.

    Only motion along the baseline, as A's ray sees it, passes for depth. What is not known to move does not.
    """
    rx, ry, rz = now[0] - P[0, 3], now[1] - P[1, 3], now[2] - P[2, 3]
    along = (rx * base[0] + ry * base[1] + rz * base[2]) / (rx * rx + ry * ry + rz * rz)
    ax, ay, az = base[0] - along * rx, base[1] - along * ry, base[2] - along * rz
    moved = ax * (then[0] - now[0]) + ay * (then[1] - now[1]) + az * (then[2] - now[2])
    share = abs(late * moved) / (ax * ax + ay * ay + az * az)
    return share if np.isfinite(share) else 0.0
