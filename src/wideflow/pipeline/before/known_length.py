"""The unit of length from something in the picture whose length is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.config import MatchConfig
from wideflow.errors import InputError
from wideflow.geometry import ideal_camera, inside_picture, project, triangulate, unproject
from wideflow.matching import match
from wideflow.pipeline.step.undistort import undistorted
from wideflow.progress import Progress, silent
from wideflow.types import View


@dataclass(frozen=True, eq=False)
class Length:
    """Two points of the scene and what is between them.

    Attributes
    ----------
    x, y : (2, 2) float64
        Ideal pixels of both in A and in B.
    length, distance : float
        Between them, and of their middle from A, in the unit of the cameras.
    error : float
        Relative deviation of the length if every coordinate of both ends is off by 1 px.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    length: float
    distance: float
    error: float

    def of(self, views: tuple[View, View]) -> float:
        """The length if the cameras were these."""
        ideal = [View(ideal_camera(view.camera), view.cam_from_world) for view in views]
        ends = triangulate(ideal[0], ideal[1], self.x, self.y).points
        return float(np.linalg.norm(ends[1] - ends[0]))


def measure_length(
    pictures: tuple[NDArray[np.float32], NDArray[np.float32]],
    views: tuple[View, View],
    points: Sequence[tuple[float, float]],
    config: MatchConfig | None = None,
    progress: Progress | None = None,
) -> Length:
    """Distance between two points of the scene, in the unit of the cameras.

    Parameters
    ----------
    pictures : (H, W, 3) float32 each
        Of A and B at the same time.
    views : (View, View)
        With or without distortion.
    points : two (x, y)
        Pixels of A's picture.
    config : MatchConfig, optional
        Settings of the dense match that finds the points in B.
    progress : callable, optional
        Called with the steps done, all steps, and what comes next.

    Raises
    ------
    InputError
        A point lies outside the picture, or B does not show it.
    """
    xy = np.asarray(points, np.float64)
    if not inside_picture(views[0].camera, xy).all():
        width, height = views[0].camera.size
        raise InputError(
            f"a point of --scale-points lies outside A's picture of {width} x {height}; pick another"
        )
    (one, view_a, _), (two, view_b, _) = (undistorted(*pair) for pair in zip(pictures, views, strict=True))
    found = match(one, two, "stereo", (view_a, view_b), config, progress or silent)
    ideal = project(view_a.camera, unproject(views[0].camera, xy))
    rows = np.clip(np.round(ideal[:, ::-1]), 0, np.array(found.occluded.shape) - 1).astype(np.int64)
    if found.occluded[rows[:, 0], rows[:, 1]].any():
        raise InputError(
            "a point of --scale-points was not found in B's picture; pick points on texture that both "
            "cameras see, or give the distance between the cameras with --scale"
        )
    flow = found.forward.uv[rows[:, 0], rows[:, 1]].astype(np.float64)
    found_ends = triangulate(view_a, view_b, ideal, ideal + flow)
    ends = found_ends.points
    length = float(np.linalg.norm(ends[1] - ends[0]))
    if not (np.isfinite(length) and length > 0):
        raise InputError("the two points of --scale-points are the same; pick two places some way apart")
    away = float(np.linalg.norm(ends.mean(axis=0) - view_a.centre))
    along = (ends[1] - ends[0]) / length
    variance = float(along @ found_ends.covariance.sum(axis=0) @ along)
    return Length(ideal, ideal + flow, length, away, float(np.sqrt(variance)) / length)
