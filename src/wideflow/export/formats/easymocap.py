"""EasyMocap: its calibration files and undistorted videos."""

from __future__ import annotations

from pathlib import Path

from wideflow.export.options import ExportOptions
from wideflow.export.standing import standing_cameras, write_videos
from wideflow.export.target import target_folder
from wideflow.files.easymocap import write_easymocap
from wideflow.progress import Progress
from wideflow.storage.result import Result


def export_easymocap(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``videos/a.mp4`` and ``b.mp4``, ``intri.yml`` and ``extri.yml``.

    The format has one pose a camera: that of the first chosen moment.
    """
    cameras = standing_cameras(result, options)
    write_videos(result, out, options, progress)
    write_easymocap(target_folder(out), cameras)
