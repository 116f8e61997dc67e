"""Calibration with the matcher of this package: stages do not know each other, the pipeline does."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration import Calibration
from wideflow.calibration import calibrate as calibrate_with
from wideflow.calibration.solution import Pairs
from wideflow.config import CalibrateConfig, LevelPasses, MatchConfig, PassesConfig
from wideflow.matching import match
from wideflow.progress import Progress
from wideflow.types import Camera
from wideflow.video.read import Video


def calibrate(
    a: Video,
    b: Video,
    pairs: Pairs,
    intrinsics: tuple[Camera | None, Camera | None] = (None, None),
    config: CalibrateConfig | None = None,
    work: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Find the lens of both cameras and where they were in every pair of frames.

    Parameters
    ----------
    a, b : Video
        The two clips.
    pairs : FramePairs
        Frames filmed at the same time.
    intrinsics : (Camera or None, Camera or None)
        Known lenses; they are not changed.
    config : CalibrateConfig, optional
        Settings.
    work : path, optional
        Folder in which steps are kept, so that another run goes on where this one ends.
    progress : callable, optional
        Called with the work done, all the work, and what comes next.

    Returns
    -------
    Calibration
        Frames whose pose was not found are left out of the rig. The mean distance between the cameras is 1.

    Raises
    ------
    CalibrationError
        Too little that both cameras see, or that stands still.
    """
    seed = (config or CalibrateConfig()).seed
    # where the cameras are unknown a match has less to go by, and keeps more candidates for longer; what
    # planes extrapolate is no evidence of the cameras
    passes = PassesConfig(final=LevelPasses((2, 1), (0.0, 0.3), 2))
    settings = replace(MatchConfig(), seed=seed, planes=False, particles=3, stereo=passes)

    def matcher(
        first: NDArray[np.uint8], second: NDArray[np.uint8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        found = match(first, second, config=settings)
        return found.forward.uv, found.forward.confidence

    return calibrate_with(a, b, pairs, intrinsics, config, work, progress, matcher)
