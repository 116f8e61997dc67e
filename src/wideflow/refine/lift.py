"""From flows to depth and 3D motion: triangulate at t and at t + 1, and say how far to trust the result."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.geometry import Triangulation, pixel_grid, triangulate, world_to_camera
from wideflow.refine.flow_loop import FlowLoop
from wideflow.types import RigFrame

SMALLEST_ANGLE = np.radians(0.2)  # between two rays; below it a pixel of error is half the depth or more
_ANGLE = np.radians(1.0)  # between two rays, at which depth is trusted half
_LOOP = 3.0  # px between the two ways round the loop, from which the motion is not trusted
_GREY = 20.0  # mean difference of the data terms, grey levels, at which a match is trusted half
_GUESSED = 0.2  # what a pixel without a match in B keeps of its trust
_HALF = 0.12  # product of all of these at which half of the depths are right
_ROWS = 32  # triangulated at a time, to bound the memory

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
    confidence : (H, W) float32
        0..1; 0 where depth is unknown.
    """

    depth: Floats
    motion: Floats
    covariance: Floats
    motion_covariance: Floats
    confidence: Floats


def lift_flows(
    frame_t: RigFrame,
    frame_t1: RigFrame,
    flows: FlowLoop,
    match_confidence: Floats | None = None,
    loop_error: Floats | None = None,
    penalty: Floats | None = None,
) -> Lifted:
    """Depth and motion from the flows of a time step.

    Parameters
    ----------
    frame_t, frame_t1 : RigFrame
        The two views at t and at t + 1, pinhole.
    flows : FlowLoop
        Refined or not.
    match_confidence : (H, W), optional
        Of the stereo match, 0..1.
    loop_error : (H, W), optional
        Of `close_loop`, px.
    penalty : (H, W), optional
        Of `Refinement`, grey levels.
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
    angle = np.empty((height, width), np.float32)
    motion = np.empty((height, width, 3), np.float32)
    covariance = np.empty((height, width, 3, 3), np.float32)
    motion_covariance = np.empty((height, width, 3, 3), np.float32)

    def lift(rows: slice) -> None:
        x = grid[rows]
        now = triangulate(*frame_t.views, x, x + flows.stereo[rows])
        then = triangulate(*frame_t1.views, x + flows.optical[rows], x + flows.loop[rows])
        known_now, known_then = _known(now), _known(then)
        z = world_to_camera(frame_t.views[0], now.points)[..., 2]
        depth[rows] = np.where(known_now, z, np.nan)
        both = known_now & known_then
        motion[rows] = np.where(both[..., None], then.points - now.points, np.nan)
        covariance[rows] = np.where(known_now[..., None, None], now.covariance, np.nan)
        motion_covariance[rows] = np.where(both[..., None, None], now.covariance + then.covariance, np.nan)
        angle[rows] = np.where(known_now, now.angle, 0)

    _by_rows(lift, height)
    confidence = _confidence(angle, flows.stereo_visible, match_confidence, loop_error, penalty)
    return Lifted(depth, motion, covariance, motion_covariance, confidence)


@dataclass(frozen=True, eq=False)
class LiftedStereo:
    """Depth (H, W) of every pixel of picture A, world units, NaN where unknown, and its confidence, 0..1."""

    depth: Floats
    confidence: Floats


def lift_stereo(
    frame: RigFrame, stereo: Floats, visible: NDArray[np.bool_], match_confidence: Floats | None = None
) -> LiftedStereo:
    """Depth from the stereo flow (H, W, 2) of one moment; ``visible`` where it is no guess."""
    height, width = stereo.shape[:2]
    grid = pixel_grid(width, height)
    depth = np.empty((height, width), np.float32)
    angle = np.empty((height, width), np.float32)

    def lift(rows: slice) -> None:
        now = triangulate(*frame.views, grid[rows], grid[rows] + stereo[rows])
        known = _known(now)
        depth[rows] = np.where(known, world_to_camera(frame.views[0], now.points)[..., 2], np.nan)
        angle[rows] = np.where(known, now.angle, 0)

    _by_rows(lift, height)
    return LiftedStereo(depth, _confidence(angle, visible, match_confidence, None, None))


def _by_rows(lift: Callable[[slice], None], height: int) -> None:
    """Call ``lift`` for all rows, some at a time; NumPy lets other threads work while it does."""
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        for _ in pool.map(lift, (slice(top, top + _ROWS) for top in range(0, height, _ROWS))):
            pass


def _known(found: Triangulation) -> NDArray[np.bool_]:
    finite = np.isfinite(found.points).all(axis=-1)
    return finite & found.in_front & (found.angle >= SMALLEST_ANGLE)


def _confidence(
    angle: Floats,
    visible: NDArray[np.bool_],
    match_confidence: Floats | None,
    loop_error: Floats | None,
    penalty: Floats | None,
) -> Floats:
    """Do the rays cross well, is the pixel seen, is the match good, does the loop close, do colours agree?

    The product of the answers is scaled to be about the chance that the depth is within a percent.
    """
    confidence = angle / (angle + np.float32(_ANGLE)) * np.where(visible, 1.0, _GUESSED)
    if match_confidence is not None:
        confidence = confidence * (0.5 + 0.5 * match_confidence)
    if loop_error is not None:
        # a pixel that leaves the picture or is hidden at t + 1 has no second way: it keeps half
        confidence = confidence * (0.5 + 0.5 * np.exp(-((loop_error / _LOOP) ** 2)))
    if penalty is not None:
        confidence = confidence * _GREY / (_GREY + np.where(np.isnan(penalty), _GREY, penalty))
    squared = confidence.astype(np.float32) ** 2
    return np.asarray(squared / (squared + np.float32(_HALF**2)), np.float32)
