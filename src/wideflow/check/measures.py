"""All numbers of a check: of each clip, and of both together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideflow.check.agreement import compare_along
from wideflow.check.border import borders
from wideflow.check.camera_motion import CameraMotion, camera_motion
from wideflow.check.light import Light, light
from wideflow.check.moments import Still
from wideflow.check.sharpness import edge_blur
from wideflow.video.read import Video

_LATE = 1.5  # usual times between two frames after which one is missing


@dataclass(frozen=True)
class ClipMeasures:
    """One clip.

    Attributes
    ----------
    size : (int, int)
        Width and height as shown.
    fps, duration : float
    missing : float
        Share of the frames that come late, as if one before them were missing.
    motion : CameraMotion
    light : Light
    blur, worst_blur : float
        Standard deviation of the blur of strong edges, px of pictures at most 960 wide: the median of the
        pictures looked at and the worst of them; NaN without edges.
    border, border_change : float
        Widest black border as a share of the side, and by how much borders change.
    """

    size: tuple[int, int]
    fps: float
    duration: float
    missing: float
    motion: CameraMotion
    light: Light
    blur: float
    worst_blur: float
    border: float
    border_change: float


def measure_clip(video: Video, stills: list[Still]) -> ClipMeasures:
    """Measure one clip by its pictures in the order of time."""
    steps = compare_along(stills)
    gaps = np.diff(video.times)
    blurs = [blur for still in stills if np.isfinite(blur := edge_blur(still.grey))]
    edges = np.array([borders(still.grey) for still in stills])
    return ClipMeasures(
        size=video.size,
        fps=video.fps,
        duration=video.duration,
        missing=float(np.mean(gaps > _LATE / video.fps)) if len(gaps) else 0.0,
        motion=camera_motion(steps),
        light=light(stills, steps),
        blur=float(np.median(blurs)) if blurs else float("nan"),
        worst_blur=max(blurs, default=float("nan")),
        border=float(edges.max()),
        border_change=float(np.ptp(edges, axis=0).max()),
    )
