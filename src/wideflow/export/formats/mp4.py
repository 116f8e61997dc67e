"""MP4: a camera that orbits before the moving points, for papers and posts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wideflow.export.moments import require_points
from wideflow.export.options import ExportOptions
from wideflow.export.target import target_file
from wideflow.progress import Progress
from wideflow.storage.result import Result

CONFIDENCE = 0.2  # below, most points are guesses behind edges that fly through the picture


def export_mp4(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write a video that can be played in a loop, its longer side up to 1280 px, 24 pictures a second.

    Points below a confidence of 0.2 are left out unless another one is asked for.
    """
    from wideflow.export.turntable import Turn, turn_pictures
    from wideflow.video.write import write_video

    options = replace(options, confidence=options.confidence or CONFIDENCE)
    require_points(result, options)
    target = target_file(out, (".mp4",))
    turn = Turn(confidence=options.confidence)
    write_video(target, turn_pictures(result, options.moments(result), turn, progress), turn.fps)
