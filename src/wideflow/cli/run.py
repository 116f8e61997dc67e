"""``wideflow run``: two videos in, depth and motion out."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from wideflow.cli.options import (
    ConfigFile,
    MatchSeed,
    Preset,
    Proposals,
    Quiet,
    Settings,
    end_with,
    parse_frames,
    say,
)
from wideflow.cli.scale import Distance, Frame, Length, Points, TagSize, known_scale
from wideflow.config import load_config
from wideflow.errors import FileError, InputError
from wideflow.progress import show_progress

if TYPE_CHECKING:
    from wideflow.storage.result import Result
    from wideflow.types import Camera

EXAMPLE = "wideflow run a.mp4 b.mp4 -o result"


def run(
    first: Annotated[Path, Argument(metavar="A", help="First video, or folder of pictures.")],
    second: Annotated[Path, Argument(metavar="B", help="Second video of the same moment.")],
    out: Annotated[
        str, Option("--out", "-o", help="Folder for the result, or a URL such as s3://bucket/run.")
    ],
    frames: Annotated[
        str | None, Option(metavar="START:STOP", help="Frames of A, all unless given; STOP is left out.")
    ] = None,
    stride: Annotated[int, Option(help="Take every n-th frame of A.", min=1)] = 1,
    size: Annotated[int, Option(help="Longest side of the pictures that are matched, px.", min=64)] = 960,
    intrinsics_a: Annotated[
        Path | None, Option(help="Lens of A: JSON, OpenCV calibration, or intri.yml:NAME, Calib.toml:NAME.")
    ] = None,
    intrinsics_b: Annotated[Path | None, Option(help="Lens of B.")] = None,
    rig: Annotated[
        Path | None, Option(help="Known cameras: rig.json, COLMAP model, EasyMocap folder or Pose2Sim .toml.")
    ] = None,
    offset: Annotated[float | None, Option(help="Known offset in seconds; above 0, B started later.")] = None,
    scale: Distance = None,
    scale_points: Points = None,
    scale_length: Length = None,
    scale_frame: Frame = None,
    tag_size: TagSize = None,
    fps: Annotated[float | None, Option(help="Pictures per second of folders.")] = None,
    workers: Annotated[int | None, Option(help="Worker processes on this machine.", min=1)] = None,
    cluster: Annotated[str | None, Option(help="Dask scheduler, such as tcp://host:8786.")] = None,
    anyway: Annotated[
        bool,
        Option("--anyway", help="Go on with a synchronisation or calibration that is not to be trusted."),
    ] = False,
    keep: Annotated[
        list[str] | None,
        Option(
            metavar="ARRAY",
            help="Store too: loop_flow, covariance, motion_covariance or colour_transform; more than once.",
        ),
    ] = None,
    view: Annotated[
        str, Option(metavar="a|both", help="Depth and motion of A's pictures, or of those of both cameras.")
    ] = "a",
    proposals: Proposals = None,
    discard_work: Annotated[
        bool, Option("--discard-work", help="Remove OUT/work at the end: only resuming needs it.")
    ] = False,
    config: ConfigFile = None,
    settings: Settings = None,
    preset: Preset = "default",
    seed: MatchSeed = None,
    report: Annotated[bool, Option(help="Write OUT/report.html at the end.")] = True,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Show what goes into OUT/log.txt.")] = False,
    quiet: Quiet = False,
) -> None:
    """Turn two videos of one moving scene into depth and 3D motion.

    Synchronises, calibrates, matches, fills, refines and triangulates; writes
    OUT/result.zarr, rig.json, report.html, timings.json and log.txt. A run
    that was ended goes on where it was when it is started again.

    Ends with exit code 0 if the result is to be trusted, 3 if it is not, and 2
    if nothing came of it; standard error says why, and so does the report.
    """
    stages = load_config(config, settings or (), preset)
    if seed is not None:
        stages = replace(
            stages,
            match=replace(stages.match, seed=seed),
            calibrate=replace(stages.calibrate, seed=seed % 2**31),
        )
    chosen = parse_frames(frames, stride)
    if rig is not None and (intrinsics_a or intrinsics_b):
        raise InputError("--rig has the intrinsics already; leave out --intrinsics-a and --intrinsics-b")
    if workers is not None and cluster is not None:
        raise InputError("--workers starts processes here, --cluster takes those of others; give one of them")
    length = known_scale(scale, scale_points, scale_length, scale_frame, tag_size)
    if not out:
        raise InputError("-o is empty; give the name of a folder for the result")
    if "://" not in out and Path(out).exists() and not Path(out).is_dir():
        raise FileError(f"cannot write into '{out}': it is a file; give the name of a folder")

    from wideflow.files import read_rig

    known = None if rig is None else read_rig(rig)
    lenses = _lens(intrinsics_a), _lens(intrinsics_b)
    with _shown(verbose), show_progress(quiet or verbose) as progress:
        progress(0, 1, "opening the videos (the first run compiles for half a minute)")
        from wideflow.pipeline.job import Job
        from wideflow.pipeline.run import run_job

        more = tuple(keep or ()), view, proposals, discard_work
        job = Job(first, second, out, stages, chosen, size, lenses, known, offset, length, fps, anyway, *more)
        result = run_job(job, workers, cluster, report, progress)
    if not quiet:
        print(describe(result))
    end_with(result.verdict, quiet)


def _lens(path: Path | None) -> Camera | None:
    from wideflow.files import read_intrinsics

    return None if path is None else read_intrinsics(path)


@contextmanager
def _shown(verbose: bool) -> Iterator[None]:
    """Warnings as lines of ours, and the log too if wanted."""
    handler, log = logging.StreamHandler(sys.stderr), logging.getLogger("wideflow")
    if verbose:
        log.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = say
            yield
    finally:
        log.removeHandler(handler)


def describe(result: Result) -> str:
    """One line for the end of a run: what there is, and the figures that nothing speaks against."""
    import numpy as np

    from wideflow.verdict.judge import scale_words

    width, height = result.size_a
    summary, trusted = result.summary, float(np.mean(result.shares.trusted))
    words = [f"{result.place}: {len(result)} moments of {width}x{height} pixels, {trusted:.0%} trusted"]
    certain = {finding.topic for finding in result.verdict.findings if finding.grade == "good"}
    if "Synchronisation" in certain:
        offset, method = summary["sync"]["offset_seconds"], summary["sync"]["method"]
        late, early = ("B", "A") if offset >= 0 else ("A", "B")
        words.append(f"{late} started {abs(offset):.3f} s after {early} (by {method})")
    error = summary["calibration"]["reprojection_error"]
    if error is not None and result.verdict.grade == "good":
        words.append(f"cameras known to {error:.2f} px")
    if "scale" in summary["calibration"]:
        words.append(f"scale: {scale_words(summary['calibration'])}")
    return "; ".join(words)
