"""``wideflow export``: a result in the format of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import Quiet, parse_frames
from wideflow.export import FORMATS, export_result
from wideflow.progress import show_progress

EXAMPLE = "wideflow export result --to ply -o clouds"


def run(
    result: Annotated[str, Argument(metavar="OUT", help="Folder or URL that 'wideflow run' has written.")],
    format: Annotated[
        str,
        Option("--to", metavar="FORMAT", help="; ".join(f"{name}: {what}" for name, what in FORMATS.items())),
    ],
    out: Annotated[
        Path, Option("--out", "-o", help="Folder; a .usd, .rrd, .mp4 or .gif file for these formats.")
    ],
    frames: Annotated[str, Option(metavar="START:STOP", help="Moments to export, from 0 on.")] = ":",
    stride: Annotated[int, Option(help="Export every so many moments.")] = 1,
    confidence: Annotated[
        float, Option(metavar="MIN", help="Leave out pixels below this confidence, 0 to 1.")
    ] = 0.0,
    view: Annotated[
        str, Option(metavar="a|b", help="Whose pictures: those of B need a run with --view both.")
    ] = "a",
    quiet: Quiet = False,
) -> None:
    """Write a result for other programs to open: Blender, Houdini, Nuke, COLMAP and more."""
    chosen = parse_frames(frames, stride)
    from wideflow.export.options import ExportOptions
    from wideflow.storage.result import Result

    opened = Result(result, view)
    options = ExportOptions(chosen.start, chosen.stop, chosen.step, confidence)
    with show_progress(quiet) as progress:
        export_result(opened, format, out, options, progress)
    if not quiet:
        print(f"{out}: {len(options.moments(opened))} of {len(opened)} moments as {format}")
