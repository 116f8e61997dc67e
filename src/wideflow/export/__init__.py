"""Results in the formats of other programs, one module each; docs/export.md says what goes where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wideflow.errors import FileError, InputError
from wideflow.export.colmap import export_colmap
from wideflow.export.exr import export_exr
from wideflow.export.flo import export_flo
from wideflow.export.kitti import export_kitti
from wideflow.export.mp4 import export_mp4
from wideflow.export.nerfstudio import export_nerfstudio
from wideflow.export.options import ExportOptions
from wideflow.export.ply import export_ply
from wideflow.export.rerun import export_rerun
from wideflow.export.usd import export_usd
from wideflow.files.disk import AnyPath
from wideflow.progress import Progress, show_progress
from wideflow.storage.result import Result

__all__ = ["FORMATS", "ExportOptions", "export_result"]

Exporter = Callable[[Result, Path, ExportOptions, Progress], None]

FORMATS: dict[str, Exporter] = {
    "ply": export_ply,
    "flo": export_flo,
    "kitti": export_kitti,
    "exr": export_exr,
    "colmap": export_colmap,
    "nerfstudio": export_nerfstudio,
    "usd": export_usd,
    "rerun": export_rerun,
    "mp4": export_mp4,
}


def export_result(
    result: Result | AnyPath,
    format: str,
    out: AnyPath,
    options: ExportOptions | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a result in another program's format.

    Every file is written whole or not at all. In a folder that exists, files of the same names are replaced
    and nothing else is touched.

    Parameters
    ----------
    result : Result or path
        What `wideflow run` has written.
    format : str
        A name in `FORMATS`.
    out : path
        A file for usd (.usd, .usdc, .usda), rerun (.rrd) and mp4, a folder for the others.
    options : ExportOptions, optional
        Which moments and pixels; all unless given.
    progress : callable, optional
        Called with steps done, steps in all and what comes next.

    Raises
    ------
    InputError
        An unknown format, no such moments, nothing to export, a camera that the format cannot express.
    MissingExtraError
        The package for this format is not installed.
    FileError
        No result there, or ``out`` cannot be written.
    """
    if format not in FORMATS:
        raise InputError(f"there is no format '{format}' to export to; choose one of {', '.join(FORMATS)}")
    if "://" in str(out):
        raise FileError(f"cannot export to '{out}': exports go to this computer's disk; give a path")
    opened = result if isinstance(result, Result) else Result(result)
    with show_progress(quiet=True) as silent:
        report = progress or silent
        FORMATS[format](opened, Path(out), options or ExportOptions(), report)
        report(1, 1, "done")
