"""``wideflow demo``: the whole job on two clips that ship with the package."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from wideflow.cli.options import Quiet, end_with
from wideflow.config import load_config
from wideflow.demo import CLIPS
from wideflow.progress import show_progress

if TYPE_CHECKING:
    from wideflow.demo.score import DemoScore

EXAMPLE = "wideflow demo -o demo-out"
_FRAMES = slice(16, 22, 1)
_SIZE = 640


def run(
    out: Annotated[Path, Option("--out", "-o", help="Folder to write to.")] = Path("demo-out"),
    quiet: Quiet = False,
) -> None:
    """Turn two short clips into depth and motion, and compare with the truth.

    Two phones, 12 degrees apart, with unlike lenses and colours, started at
    different times; nothing but their videos is used. Takes two or three
    minutes on two cores, half of it for compiling, which happens once.
    Ends with exit code 3 if the result is not to be trusted.
    """
    with show_progress(quiet) as progress:
        progress(0, 1, "opening the videos (the first run compiles for half a minute)")
        from wideflow.demo.score import score_demo
        from wideflow.pipeline.run import run as run_job
        from wideflow.report.write import write_report
        from wideflow.storage.checked_files import write_files

        result = run_job(
            CLIPS / "a.mp4",
            CLIPS / "b.mp4",
            out,
            load_config(None, (), "default"),
            frames=_FRAMES,
            size=_SIZE,
            report=False,
            progress=progress,
        )
        score = score_demo(result, CLIPS)
        told = json.dumps({**result.summary, "truth": asdict(score)}, indent=1).encode()
        write_files(result.place, {"summary.json": told})
        report = write_report(out, progress)
    if not quiet:
        print(_told(score))
        print(f"Open {report} in a browser, or run: wideflow view {out}")
    end_with(result.verdict, quiet)


def _told(score: DemoScore) -> str:
    a, b = score.focal_percent
    return "\n".join(
        [
            "Two phones filmed one scene, 12 degrees apart. From their videos alone, against the truth:",
            f"  synchronisation  {score.sync_milliseconds:+.1f} ms",
            f"  calibration      {score.rotation_degrees:.2f} degrees between the cameras, focal lengths "
            f"{a:+.1f} % and {b:+.1f} %",
            f"  depth            median {score.depth_percent:.2f} %, off by more than 1 % at "
            f"{score.depth_off_by_1_percent:.0f} % of the pixels that both see",
            f"  motion           median {1000 * score.motion_median:.1f} mm",
            f"  trusted          {score.trusted_percent:.0f} % of the picture, of which "
            f"{score.trusted_off_by_1_percent:.0f} % are off by more than 1 %",
        ]
    )
