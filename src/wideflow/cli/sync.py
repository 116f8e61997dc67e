"""``wideflow sync``: when the second clip started on the clock of the first."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import ConfigFile, Preset, Quiet, Settings, say
from wideflow.config import load_config
from wideflow.progress import show_progress

EXAMPLE = "wideflow sync a.mp4 b.mp4"


def run(
    first: Annotated[Path, Argument(metavar="A", help="First video, or folder of pictures.")],
    second: Annotated[Path, Argument(metavar="B", help="Second video of the same moment.")],
    offset: Annotated[
        float | None, Option(help="Known offset in seconds: nothing is measured, frames are only paired.")
    ] = None,
    fps: Annotated[float | None, Option(help="Pictures per second of folders.")] = None,
    config: ConfigFile = None,
    settings: Settings = None,
    preset: Preset = "default",
    quiet: Quiet = False,
) -> None:
    """Find the time offset between two videos and print it as JSON.

    Above 0, B started later. A confidence below 0.5 means that the answer may
    be wrong; standard error says so as well.
    """
    chosen = load_config(config, settings or (), preset).sync

    from wideflow.sync import synchronise
    from wideflow.video.read import Video

    with warnings.catch_warnings(), show_progress(quiet) as progress:
        warnings.showwarning = say
        videos = [Video(path, fps if path.is_dir() else None) for path in (first, second)]
        found = synchronise(videos[0], videos[1], chosen, offset, progress)
    error = abs(found.pairs.error)
    answer = {
        "offset_seconds": round(found.offset_seconds, 6),
        "rate": round(found.rate, 9),
        "method": found.method,
        "confidence": round(found.confidence, 3),
        "pairs": len(found.pairs.a),
        "pair_error_mean": round(float(error.mean()), 6),
        "pair_error_largest": round(float(error.max()), 6),
        "reasons": list(found.reasons),
    }
    print(json.dumps(answer))
    for note in found.notes:
        print(f"wideflow: {note}", file=sys.stderr)
