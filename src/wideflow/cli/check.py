"""``wideflow check``: whether two clips are worth a run, in some seconds."""

from __future__ import annotations

import json
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from wideflow.cli.options import ConfigFile, Preset, Quiet, Settings, say
from wideflow.config import load_config
from wideflow.progress import show_progress

if TYPE_CHECKING:
    from wideflow.check import ClipCheck

EXAMPLE = "wideflow check a.mp4 b.mp4"
_NOT_WORTH_IT = 3  # exit code: the answer is there, and it is no
_WIDTH = 100


def run(
    first: Annotated[Path, Argument(metavar="A", help="First video, or folder of pictures.")],
    second: Annotated[Path, Argument(metavar="B", help="Second video of the same moment.")],
    offset: Annotated[float | None, Option(help="Known offset in seconds; above 0, B started later.")] = None,
    fps: Annotated[float | None, Option(help="Pictures per second of folders.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print all numbers and findings as JSON.")] = False,
    config: ConfigFile = None,
    settings: Settings = None,
    preset: Preset = "default",
    quiet: Quiet = False,
) -> None:
    """Say in some seconds whether two videos are worth a run.

    Looks at overlap in time and view, the angle between the cameras, their
    motion, blur and exposure, and gives advice for the next take. Exit code 0:
    worth a run; 3: a run would not be trusted.
    """
    chosen = load_config(config, settings or (), preset).sync

    from wideflow.check import check_clips
    from wideflow.video.read import Video

    with warnings.catch_warnings(), show_progress(quiet) as progress:
        warnings.showwarning = say
        a, b = (Video(path, fps if path.is_dir() else None) for path in (first, second))
        with a, b:
            found = check_clips(a, b, config=chosen, offset=offset, progress=progress)
    if as_json:
        print(json.dumps(found.as_json()))
    elif not quiet:
        print(describe(found))
    if not found.worth_a_run:
        raise Exit(_NOT_WORTH_IT)


def describe(check: ClipCheck) -> str:
    """A line for each finding, its advice below it, and the answer at the end."""
    lines = []
    for finding in check.findings:
        head = f"{finding.grade:<5} {finding.topic}: "
        lines += textwrap.wrap(head + finding.sentence, _WIDTH, subsequent_indent="      ")
        if finding.remedy:
            lines += textwrap.wrap(
                finding.remedy, _WIDTH, initial_indent="      -> ", subsequent_indent=" " * 9
            )
    doubts = [finding.topic.lower() for finding in check.findings if finding.grade == "poor"]
    if doubts:
        lines.append(f"A run on these clips would not be trusted, because of: {', '.join(doubts)}.")
    elif check.grade == "weak":
        lines.append("Worth a run, with weak spots.")
    else:
        lines.append("Worth a run.")
    return "\n".join(lines)
