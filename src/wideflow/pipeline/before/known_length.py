"""The unit of length from something in the picture whose length is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wideflow.config import MatchConfig
from wideflow.errors import InputError
from wideflow.geometry import inside_picture, project, triangulate, unproject
from wideflow.matching import match
from wideflow.pipeline.step.undistort import undistorted
from wideflow.progress import Progress, silent
from wideflow.types import View


def measure_length(
    pictures: tuple[NDArray[np.float32], NDArray[np.float32]],
    views: tuple[View, View],
    points: Sequence[tuple[float, float]],
    config: MatchConfig | None = None,
    progress: Progress | None = None,
) -> float:
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
    ends = triangulate(view_a, view_b, ideal, ideal + flow).points
    length = float(np.linalg.norm(ends[1] - ends[0]))
    if not (np.isfinite(length) and length > 0):
        raise InputError("the two points of --scale-points are the same; pick two places some way apart")
    return length
