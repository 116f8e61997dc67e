"""A camera that orbits before the moving points: where it is, and what it sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.progress import Progress
from wideflow.report.overview import measure_scales
from wideflow.storage.result import Result
from wideflow.types import Camera, View

_FINER = 2  # pictures are drawn this much larger and averaged: smooth edges
_SKY, _GROUND = (46, 56, 70), (16, 20, 26)  # RGB of the background, top and bottom
_SWING, _RISE = np.radians(24), np.radians(12)  # to each side, and up: an ellipse through camera A
_OUTLINE = 3  # px of the video over which an edge throws its shade


@dataclass(frozen=True)
class Turn:
    """How the points are shown.

    Attributes
    ----------
    longest : int
        Longer side of the video, px; less if the pictures are smaller than half of it.
    fps : float
        Pictures per second.
    seconds : float
        Length of an orbit; a result with more moments than pictures in it is played once, all of it.
    confidence : float
        Points with less are left out.
    """

    longest: int = 1280
    fps: float = 24.0
    seconds: float = 8.0
    confidence: float = 0.0


def turn_pictures(
    result: Result, chosen: Sequence[int], turn: Turn, progress: Progress
) -> Iterator[NDArray[np.uint8]]:
    """The pictures of the video, one after the other, (height, width, 3) RGB.

    The camera starts where A stands, and ends there; points move on between moments by their 3D motion.

    Parameters
    ----------
    result : Result
        What is shown.
    chosen : sequence of int
        Its moments that are shown.
    turn : Turn
        How.
    progress : callable
        Called with the pictures done, all pictures, and what comes next.
    """
    from wideflow.export.depth_cue import cue_depth
    from wideflow.export.splat import draw_points

    moments = moments_of(len(chosen), turn)
    scales = measure_scales(result)
    pivot, axes, distance = _stage(result, scales.middle)
    size = video_size(result.size_a, turn.longest)
    camera = _lens(result, size)
    background = _background(camera)
    held, scene = -1, None
    for i, moment in enumerate(moments):
        progress(i, len(moments), f"drawing picture {i + 1} of {len(moments)}")
        before = min(int(moment), max(len(chosen) - 2, 0))
        t = chosen[before]
        later = (moment - before) * (chosen[min(before + 1, len(chosen) - 1)] - t)
        if t != held or scene is None:
            held, scene = t, _Scene.read(result, t, turn.confidence)
        view = orbit_view(camera, pivot, axes, distance, i / len(moments))
        points = scene.points + np.float32(later) * scene.motion
        large, depth = draw_points(points, scene.colours, scene.shown, scene.spacing, view, background)
        large = cue_depth(large, depth, background, _FINER * _OUTLINE, scales.middle, scales.far)
        yield np.asarray(cv2.resize(large, size, interpolation=cv2.INTER_AREA), np.uint8)


def moments_of(count: int, turn: Turn) -> NDArray[np.float64]:
    """The moment that each picture shows, with fractions: forth and back if there are few.

    Parameters
    ----------
    count : int
        Moments to show.
    turn : Turn
        Its length and speed are used.
    """
    pictures = max(2, round(turn.seconds * turn.fps))
    steps = count - 1
    if steps < 1:
        return np.zeros(pictures)
    if 2 * steps > pictures:
        return np.arange(count, dtype=np.float64)
    # about four pictures a step, a whole number of times forth and back: the video can be looped
    times = max(1, round(pictures / (8 * steps)))
    phase = np.arange(pictures) * times / pictures % 1.0
    return steps * (1 - np.abs(2 * phase - 1))


def orbit_view(
    camera: Camera,
    pivot: NDArray[np.float64],
    axes: NDArray[np.float64],
    distance: float,
    phase: float,
) -> View:
    """The camera at a part (0 .. 1) of an ellipse that leads from A to one side, above it, and back.

    Parameters
    ----------
    camera : Camera
        The lens.
    pivot : (3,) float64
        World point that it looks at.
    axes : (3, 3) float64
        Rows: right, down and ahead at phase 0, in the world.
    distance : float
        From the pivot, world units.
    phase : float
        0 and 1 are the same place.
    """
    yaw = _SWING * np.sin(2 * np.pi * phase)
    pitch = _RISE * (1 - np.cos(2 * np.pi * phase)) / 2
    right, down, ahead = axes
    level = np.cos(yaw) * ahead - np.sin(yaw) * right
    look = np.cos(pitch) * level + np.sin(pitch) * down
    side = np.cos(yaw) * right + np.sin(yaw) * ahead
    R = np.stack([side, np.cross(look, side), look])
    return View(camera, np.concatenate([R, -(R @ (pivot - distance * look))[:, None]], axis=1))


def _stage(result: Result, distance: float) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """What the camera turns around, its first axes, and how far it stays."""
    view = result.frame(len(result) // 2).views[0]
    return view.centre + distance * view.R[2], np.array(view.R), distance


def video_size(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """Width and height, even for H.264, of the shape of A's pictures and at most twice their size."""
    scale = min(2.0, longest / max(size))
    return 2 * max(1, round(size[0] * scale / 2)), 2 * max(1, round(size[1] * scale / 2))


def _lens(result: Result, size: tuple[int, int]) -> Camera:
    """The lens of A on the video's picture, so wide that all of A's picture is in it."""
    source = result.rig.cameras[0]
    width, height = (_FINER * side for side in size)
    focal = min(width / source.width * source.K[0, 0], height / source.height * source.K[1, 1])
    return Camera("turn", width, height, np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]]))


def _background(camera: Camera) -> NDArray[np.uint8]:
    share = np.linspace(0, 1, camera.height)[:, None, None]
    picture = (1 - share) * np.array(_SKY) + share * np.array(_GROUND)
    return np.broadcast_to(np.rint(picture), (camera.height, camera.width, 3)).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class _Scene:
    """The points of a moment, on the grid of A's picture."""

    points: NDArray[np.float32]
    motion: NDArray[np.float32]
    colours: NDArray[np.uint8]
    shown: NDArray[np.bool_]
    spacing: NDArray[np.float32]

    @classmethod
    def read(cls, result: Result, t: int, confidence: float) -> _Scene:
        depth = result.depth(t)
        motion = result.motion(t) if t < len(result) - 1 else np.zeros((*depth.shape, 3), np.float32)
        focal = result.rig.cameras[0].K[0, 0]
        return cls(
            points=result.points(t),
            motion=np.where(np.isfinite(motion), motion, np.float32(0)),
            colours=result.picture_a(t),
            shown=np.isfinite(depth) & (depth > 0) & (result.confidence(t) >= confidence),
            spacing=(np.where(np.isfinite(depth), depth, 0) / focal).astype(np.float32),
        )
