"""Middlebury ``.flo``: the flow fields, exact."""

from __future__ import annotations

from pathlib import Path

from wideflow.export.moments import flows
from wideflow.export.options import ExportOptions
from wideflow.export.target import target_folder
from wideflow.files import write_flow
from wideflow.progress import Progress
from wideflow.storage.result import Result


def export_flo(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``stereo/000000.flo`` (A to B), ``optical_a/`` and ``optical_b/`` (to the next moment), ..."""
    moments = options.moments(result)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"flow of moment {t}")
        for name, uv in flows(result, t, options).items():
            write_flow(target_folder(out, name) / f"{t:06d}.flo", uv)
