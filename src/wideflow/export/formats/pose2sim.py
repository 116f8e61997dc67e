"""Pose2Sim: its calibration file and undistorted videos."""

from __future__ import annotations

from pathlib import Path

from wideflow.export.options import ExportOptions
from wideflow.export.standing import standing_cameras, write_videos
from wideflow.export.target import target_folder
from wideflow.files.pose2sim import write_pose2sim
from wideflow.progress import Progress
from wideflow.storage.result import Result


def export_pose2sim(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``videos/a.mp4`` and ``b.mp4``, and ``calibration/Calib.toml``.

    The format has one pose a camera: that of the first chosen moment.
    """
    cameras = standing_cameras(result, options)
    write_videos(result, out, options, progress)
    write_pose2sim(target_folder(out, "calibration") / "Calib.toml", cameras)
