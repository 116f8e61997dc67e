"""From flows to depth and 3D motion: triangulate at t and at t + 1, and say how far to trust the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.geometry import Triangulation, pixel_grid, triangulate
from wideflow.geometry.flow_loop import FlowLoop
from wideflow.geometry.one_time import moved_in_time
from wideflow.lift.confidence import Judged, MatchEvidence, judge_depth
from wideflow.types import RigFrame

SMALLEST_ANGLE = np.radians(0.2)  # between two rays; below it a pixel of error is half the depth or more
_ROWS = 128  # triangulated at a time, to bound the memory

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
    grid = pixel_grid(width, height)
    depth = np.empty((height, width), np.float32)
    relative = np.empty((height, width), np.float32)
    motion = np.empty((height, width, 3), np.float32)
    covariance = np.empty((height, width, 3, 3), np.float32)
    motion_covariance = np.empty((height, width, 3, 3), np.float32)
    evidence = evidence or MatchEvidence(flows.stereo_visible)
    slip = np.zeros((height, width), np.float32)
    moved = [moved_in_time(frame_t, frame_t1, 1, which) for which in (0, 1)]

    def lift(rows: slice) -> None:
        x = grid[rows]
        now_b, then_b = x + flows.stereo[rows], x + flows.loop[rows]
        way_b = then_b - now_b
        (late, view), (late_next, view_next) = moved
        now = triangulate(frame_t.views[0], view, x, now_b + late * way_b)
        then = triangulate(frame_t1.views[0], view_next, x + flows.optical[rows], then_b + late_next * way_b)
        known_now, known_then = _known(now), _known(then)
        depth[rows] = np.where(known_now, now.depths[0], np.nan)
        both = known_now & known_then
        motion[rows] = np.where(both[..., None], then.points - now.points, np.nan)
        covariance[rows] = np.where(known_now[..., None, None], now.covariance, np.nan)
        motion_covariance[rows] = np.where(both[..., None, None], now.covariance + then.covariance, np.nan)
        relative[rows] = np.where(known_now, _relative_noise(now), np.inf)
        if evidence.late:
            slip[rows] = _slip(frame_t, now, evidence.late * motion[rows])

    _by_rows(lift, height)
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
    height, width = stereo.shape[:2]
    grid = pixel_grid(width, height)
    depth = np.empty((height, width), np.float32)
    relative = np.empty((height, width), np.float32)

    def lift(rows: slice) -> None:
        now = triangulate(*frame.views, grid[rows], grid[rows] + stereo[rows])
        known = _known(now)
        depth[rows] = np.where(known, now.depths[0], np.nan)
        relative[rows] = np.where(known, _relative_noise(now), np.inf)

    _by_rows(lift, height)
    return LiftedStereo(depth, judge_depth(relative, stereo, evidence))


def _relative_noise(found: Triangulation) -> NDArray[np.float64]:
    """Standard deviation of depth for noise of 1 px in every coordinate, as a share of depth."""
    axis = found.views[0].R[2]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(np.einsum("i,...ij,j", axis, found.covariance, axis)) / found.depths[0])


def _slip(frame: RigFrame, found: Triangulation, moved: Floats) -> NDArray[np.float64]:
    """Share of depth that a point is off by if it moved so (world units) between A's picture and B's.

    Only motion along the baseline, as A's ray sees it, passes for depth. What is not known to move does not.
    """
    base = frame.views[1].centre - frame.views[0].centre
    with np.errstate(invalid="ignore", divide="ignore"):
        ray = found.points - frame.views[0].centre
        ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
        across = base - (ray @ base)[..., None] * ray
        share = np.abs((across * moved).sum(axis=-1)) / (across**2).sum(axis=-1)
    return np.where(np.isfinite(share), share, 0.0)


def _by_rows(lift: Callable[[slice], None], height: int) -> None:
    """Call ``lift`` for all rows, some at a time."""
    for top in range(0, height, _ROWS):
        lift(slice(top, top + _ROWS))


def _known(found: Triangulation) -> NDArray[np.bool_]:
    finite = np.isfinite(found.points).all(axis=-1)
    return finite & found.in_front & (found.angle >= SMALLEST_ANGLE)
