"""``wideflow frames``: scene flow of four pictures with known cameras."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import ConfigFile, MatchSeed, Preset, Proposals, Quiet, Settings, end_with
from wideflow.config import load_config
from wideflow.errors import FileError
from wideflow.progress import show_progress

EXAMPLE = (
    "wideflow frames scene/cam0_0000.png scene/cam1_0000.png scene/cam0_0001.png scene/cam1_0001.png "
    "--rig scene/rig.json -o result"
)


def run(
    a0: Annotated[Path, Argument(metavar="A0", help="Camera A at the first moment.")],
    b0: Annotated[Path, Argument(metavar="B0", help="Camera B at the first moment.")],
    a1: Annotated[Path, Argument(metavar="A1", help="Camera A at the second moment.")],
    b1: Annotated[Path, Argument(metavar="B1", help="Camera B at the second moment.")],
    rig: Annotated[Path, Option(help="Cameras of both moments, frames 0 and 1; one frame if they stand.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder for result.zarr, rig.json and timings.json.")],
    proposals: Proposals = None,
    config: ConfigFile = None,
    settings: Settings = None,
    preset: Preset = "default",
    seed: MatchSeed = None,
    quiet: Quiet = False,
) -> None:
    """Depth and 3D motion of every pixel, from four pictures with known cameras.

    Writes stereo and optical flow, depth, motion, occlusions and confidence
    into OUT/result.zarr, for the pictures of camera A. Pictures of lenses
    with distortion are undistorted first; OUT/rig.json has the cameras that
    the result belongs to. Ends with exit code 3 if the result is not to be
    trusted; standard error and OUT/summary.json say why.
    """
    stages = load_config(config, settings or (), preset)
    if seed is not None:
        stages = replace(stages, match=replace(stages.match, seed=seed))
    if out.exists() and not out.is_dir():
        raise FileError(f"cannot write into '{out}': it is a file; give the name of a folder")

    from wideflow.files import read_image, read_rig

    cameras = read_rig(rig)
    pictures = (read_image(a0), read_image(b0), read_image(a1), read_image(b1))
    with show_progress(quiet) as progress:
        progress(0, 1, "matching (the first run compiles for half a minute)")
        from wideflow.pipeline import compute_step
        from wideflow.pipeline.conclude import conclude
        from wideflow.pipeline.outputs import write_step
        from wideflow.pipeline.step.undistort import ideal_rig
        from wideflow.pipeline.step.voices import open_voice

        voice = None if proposals is None else open_voice(proposals, ideal_rig(cameras).cameras, 2)
        step = compute_step(pictures, (cameras.frame(0), cameras.frame(1)), stages, progress, voice)
    write_step(out, step)
    counts = {"asked": 2, "filmed": 2, "placed": 2, "unmatched": 0}
    result = conclude(out, {"inputs": {"a": a0.name, "b": b0.name}, "moments": counts})
    if not quiet:
        width, height = result.size_a
        print(
            f"{out}/result.zarr: depth and motion of {width}x{height} pixels, {result.shares.trusted[0]:.0%} "
            f"trusted, in {sum(step.seconds.values()):.0f} s"
        )
    end_with(result.verdict, quiet)
