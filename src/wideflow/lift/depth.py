"""From flows to depth and 3D motion: triangulate at t and at t + 1, and say how far to trust the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, njit, over_rows
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
    rooms = np.empty((30, depth.shape[1]), np.float64)
    for y in range(first, end):
        _lift_row(
            optical, stereo, closure, cameras, projections, late, base, np.int64(y), rooms[:8],
            rooms[8:13], rooms[13:18], rooms[18:24], rooms[24:],
            depth, relative, slip, motion, covariance, motion_covariance,
        )  # fmt: skip


@over_rows()
def _lift_stereo(first, end, stereo, cameras, one, two, depth, relative):
    rooms = np.empty((15, depth.shape[1]), np.float64)
    for y in range(first, end):
        _lift_stereo_row(
            stereo, cameras, one, two, np.int64(y), rooms[:4], rooms[4:9], rooms[9:], depth, relative
        )


@kernel()
def _lift_row(
    optical, stereo, closure, cameras, projections, late, base, y, places, now, then, own, other,
    depth, relative, slip, motion, covariance, motion_covariance,
):  # fmt: skip
    """A row, one step after the other for all of its pixels: so they fill vector registers.

    ``places`` (8, W), ``now`` and ``then`` (5, W) and ``own`` and ``other`` (6, W) are room to work in.
    """
    width = depth.shape[1]
    for x in range(width):
        ax, ay = x + np.float64(optical[y, x, 0]), y + np.float64(optical[y, x, 1])
        bx, by = x + np.float64(stereo[y, x, 0]), y + np.float64(stereo[y, x, 1])
        cx, cy = ax + stereo[y, x, 0] + closure[y, x, 0], ay + stereo[y, x, 1] + closure[y, x, 1]
        way_x, way_y = cx - bx, cy - by
        places[0, x], places[1, x] = x, y
        places[2, x], places[3, x] = bx + late[0] * way_x, by + late[0] * way_y
        places[4, x], places[5, x] = ax, ay
        places[6, x], places[7, x] = cx + late[1] * way_x, cy + late[1] * way_y
    _meet_row(cameras[0], places[:4], now)
    _spread_row(projections[0], projections[1], now, own)
    _tell_row(projections[0], now, own, depth[y], relative[y])
    _meet_row(cameras[1], places[4:], then)
    _spread_row(projections[2], projections[3], then, other)
    for x in range(width):
        known = now[4, x] > 0
        _write(covariance, y, x, (own[0, x], own[1, x], own[2, x], own[3, x], own[4, x], own[5, x]), known)
        known = known and then[4, x] > 0
        both = (
            own[0, x] + other[0, x], own[1, x] + other[1, x], own[2, x] + other[2, x],
            own[3, x] + other[3, x], own[4, x] + other[4, x], own[5, x] + other[5, x],
        )  # fmt: skip
        _write(motion_covariance, y, x, both, known)
        for k in range(3):
            motion[y, x, k] = then[k, x] - now[k, x] if known else np.nan
        slip[y, x] = 0
        if known and late[2] != 0:
            here, there = (now[0, x], now[1, x], now[2, x]), (then[0, x], then[1, x], then[2, x])
            slip[y, x] = _slip(projections[0], base, here, there, late[2])


@kernel()
def _lift_stereo_row(stereo, cameras, one, two, y, places, now, own, depth, relative):
    """A row; ``places`` (4, W), ``now`` (5, W) and ``own`` (6, W) are room to work in."""
    for x in range(depth.shape[1]):
        places[0, x], places[1, x] = x, y
        places[2, x], places[3, x] = x + np.float64(stereo[y, x, 0]), y + np.float64(stereo[y, x, 1])
    _meet_row(cameras, places, now)
    _spread_row(one, two, now, own)
    _tell_row(one, now, own, depth[y], relative[y])


@njit(inline="always")
def _meet_row(cameras, places, points):
    """Points (5, W) of pixels of both pictures (4, W): x, y, z, depth, and 1 where they are known.

    That is in front of both cameras, and where the rays meet at an angle.
    """
    ax, ay, bx, by = places[0], places[1], places[2], places[3]
    px, py, pz, near, known = points[0], points[1], points[2], points[3], points[4]
    for x in range(ax.shape[0]):
        point, depths, sine, cosine = meet(cameras, ax[x], ay[x], bx[x], by[x])
        px[x], py[x], pz[x], near[x] = point[0], point[1], point[2], depths[0]
        finite = np.isfinite(point[0]) & np.isfinite(point[1]) & np.isfinite(point[2])
        sound = finite & (depths[0] > 0) & (depths[1] > 0) & (sine >= _SLOPE * cosine)
        known[x] = np.float64(sound)


@njit(inline="always")
def _spread_row(one, two, points, spreads):
    """Upper triangles (6, W) of the covariances of points."""
    px, py, pz = points[0], points[1], points[2]
    xx, xy, xz, yy, yz, zz = spreads[0], spreads[1], spreads[2], spreads[3], spreads[4], spreads[5]
    for x in range(px.shape[0]):
        xx[x], xy[x], xz[x], yy[x], yz[x], zz[x] = spread(one, two, px[x], py[x], pz[x])


@njit(inline="always")
def _tell_row(P, points, spreads, depth, relative):
    """Depth, and its standard deviation as a share of it: along the optical axis, the last row of K R."""
    u, v, w = P[2, 0], P[2, 1], P[2, 2]
    xx, xy, xz, yy, yz, zz = spreads[0], spreads[1], spreads[2], spreads[3], spreads[4], spreads[5]
    near, known = points[3], points[4]
    for x in range(depth.shape[0]):
        across = 2 * (u * v * xy[x] + u * w * xz[x] + v * w * yz[x])
        noise = np.sqrt(u * u * xx[x] + v * v * yy[x] + w * w * zz[x] + across)
        share = noise / near[x]
        depth[x] = near[x] if known[x] > 0 else np.nan
        relative[x] = share if known[x] > 0 else np.inf


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
