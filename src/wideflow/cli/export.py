"""``wideflow export``: a result in the format of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import Quiet, parse_frames
from wideflow.progress import show_progress

EXAMPLE = "wideflow export result --to ply -o clouds"


def run(
    result: Annotated[str, Argument(metavar="OUT", help="Folder or URL that 'wideflow run' has written.")],
    format: Annotated[
        str,
        Option("--to", metavar="FORMAT", help="ply, flo, kitti, exr, colmap, nerfstudio, usd, rerun or mp4."),
    ],
    out: Annotated[Path, Option("--out", "-o", help="Folder; a .usd, .rrd or .mp4 file for these formats.")],
    frames: Annotated[str, Option(metavar="START:STOP", help="Moments to export, from 0 on.")] = ":",
    stride: Annotated[int, Option(help="Export every so many moments.")] = 1,
    confidence: Annotated[
        float, Option(metavar="MIN", help="Leave out pixels below this confidence, 0 to 1.")
    ] = 0.0,
    quiet: Quiet = False,
) -> None:
    """Write a result for other programs to open.

    ply: point clouds with colour and velocity. exr: depth, flow and motion
    channels for Nuke and Blender. flo, kitti: flow files. colmap, nerfstudio:
    cameras with undistorted pictures. usd: moving points and cameras.
    rerun: a recording for its viewer. mp4: a camera swings around the points.
    """
    chosen = parse_frames(frames, stride)
    from wideflow.export import ExportOptions, export_result
    from wideflow.storage.result import Result

    opened = Result(result)
    options = ExportOptions(chosen.start, chosen.stop, chosen.step, confidence)
    with show_progress(quiet) as progress:
        export_result(opened, format, out, options, progress)
    if not quiet:
        print(f"{out}: {len(options.moments(opened))} of {len(opened)} moments as {format}")
