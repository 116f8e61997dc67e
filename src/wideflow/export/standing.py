"""Cameras with one pose each, and their undistorted videos, for programs whose cameras stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.export.moments import seconds
from wideflow.export.options import ExportOptions
from wideflow.export.target import target_folder
from wideflow.files.calibrated_set import StandingCamera
from wideflow.progress import Progress
from wideflow.storage.result import Result

_SLOWEST, _FASTEST = 1.0, 1000.0  # pictures a second that a video may have


def standing_cameras(result: Result, options: ExportOptions) -> list[StandingCamera]:
    """Cameras "a" and "b" where they stand at the first chosen moment."""
    views = result.frame(options.moments(result)[0]).views
    return [StandingCamera.of_view(view, letter) for letter, view in zip("ab", views, strict=True)]


def write_videos(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``videos/a.mp4`` and ``videos/b.mp4``: the undistorted pictures of the chosen moments.

    H.264 wants even sides: an odd last row or column is repeated, which no other pixel notices.
    """
    from wideflow.video.write import write_video

    moments = options.moments(result)
    folder = target_folder(out, "videos")
    for i, letter in enumerate("ab"):

        def pictures(i: int = i) -> Iterator[NDArray[np.uint8]]:
            for done, t in enumerate(moments):
                progress(i * len(moments) + done, 2 * len(moments), f"pictures of moment {t}")
                picture = result.picture_a(t) if i == 0 else result.picture_b(t)
                height, width = picture.shape[:2]
                yield np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), "edge")

        write_video(folder / f"{letter}.mp4", pictures(), frame_rate(result, moments))


def frame_rate(result: Result, moments: range) -> float:
    """Moments a second, on average, by A's clock; 1 of a single moment."""
    times = seconds(result)[moments]
    rate = (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 1.0
    return float(np.clip(rate, _SLOWEST, _FASTEST))
