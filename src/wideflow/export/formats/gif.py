"""GIF: the orbit of `export_mp4`, small, for where no video can be shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wideflow.export.formats.mp4 import CONFIDENCE
from wideflow.export.moments import require_points
from wideflow.export.options import ExportOptions
from wideflow.export.target import target_file
from wideflow.progress import Progress
from wideflow.storage.result import Result


def export_gif(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write a picture that plays in a loop, its longer side up to 480 px, 10 pictures a second.

    Points below a confidence of 0.2 are left out unless another one is asked for.
    """
    from wideflow.export.turntable import Turn, turn_pictures
    from wideflow.video.gif import write_gif

    options = replace(options, confidence=options.confidence or CONFIDENCE)
    require_points(result, options)
    target = target_file(out, (".gif",))
    turn = Turn(longest=480, fps=10.0, confidence=options.confidence)
    write_gif(target, turn_pictures(result, options.moments(result), turn, progress), turn.fps)
