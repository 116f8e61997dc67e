"""``wideflow match``: where every pixel of one picture lies in another."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import ConfigFile, MatchSeed, Preset, Quiet, Settings
from wideflow.config import load_config
from wideflow.errors import FileError, InputError
from wideflow.progress import show_progress

EXAMPLE = "wideflow match scene/cam0_0000.png scene/cam1_0000.png --rig scene/rig.json -o stereo.flo"


def run(
    first: Annotated[Path, Argument(metavar="IMG1", help="Picture whose pixels are looked for.")],
    second: Annotated[Path, Argument(metavar="IMG2", help="Picture that they are looked for in.")],
    out: Annotated[Path, Option("--out", "-o", help="Flow to write: .flo, or .png as KITTI has it.")],
    kind: Annotated[
        str, Option(help="stereo: two cameras at one moment; optical: one camera at two.")
    ] = "stereo",
    rig: Annotated[
        Path | None,
        Option(help="Cameras of a stereo pair, A's picture first; estimated from the pictures otherwise."),
    ] = None,
    frame: Annotated[
        int | None, Option(help="Frame of the rig that the pictures show.", show_default="0")
    ] = None,
    mask: Annotated[
        Path | None, Option(help="PNG to write: white where the second picture does not show the pixel.")
    ] = None,
    fill: Annotated[
        bool, Option("--fill", help="Complete the flow where it is occluded or mismatched.")
    ] = False,
    proposal: Annotated[
        Path | None, Option(help="Flow of your own to propose: .flo, KITTI's .png, or a network.onnx.")
    ] = None,
    config: ConfigFile = None,
    settings: Settings = None,
    preset: Preset = "default",
    seed: MatchSeed = None,
    quiet: Quiet = False,
) -> None:
    """Find every pixel of one picture in another: a dense correspondence field.

    With a rig whose lenses distort, both pictures are undistorted first; flow
    and mask are then those of the undistorted pictures. With --fill, pixels that
    the second picture does not show get the flow of what they belong to.
    """
    stages = load_config(config, settings or (), preset)
    matching = stages.match
    if seed is not None:
        matching = replace(matching, seed=seed)
    _check_options(kind, rig, frame)
    _check_output(out, (".flo", ".png"), "flow")
    if mask is not None:
        _check_output(mask, (".png",), "a mask")
        if os.path.realpath(mask) == os.path.realpath(out):
            raise InputError(f"the flow and the mask cannot both go into '{out}'; give the mask another name")

    import numpy as np

    from wideflow.files import read_image, read_rig, write_flow, write_image
    from wideflow.types import Flow

    pictures = read_image(first), read_image(second)
    views = None if rig is None else read_rig(rig).frame(frame or 0).views
    known = np.ones(pictures[0].shape[:2], np.bool_)
    if views is not None and not all(view.camera.is_pinhole for view in views):
        if not quiet:
            print("undistorting both pictures first: the flow is that of the undistorted ones")
        from wideflow.pipeline.step.undistort import undistorted

        one, two = (undistorted(*pair) for pair in zip(pictures, views, strict=True))
        pictures, views, known = (one[0], two[0]), (one[1], two[1]), one[2]
    with show_progress(quiet) as progress:
        progress(0, 1, "matching (the first run compiles for about half a minute)")
        from wideflow.matching import match
        from wideflow.pipeline.step.voices import one_flow

        offered = [] if proposal is None else one_flow(proposal, *pictures)
        found = match(pictures[0], pictures[1], kind, views, matching, progress, proposals=offered)
    flow, occluded = found.forward, found.occluded | ~known
    if fill:
        from wideflow.geometry.picture import checked_picture
        from wideflow.pipeline.step.flows import fill_flow, fill_pair, kept_match

        a, b = (checked_picture(picture) for picture in pictures)
        matched = kept_match(found)
        filled = (
            fill_flow(stages.fill, matched, a, known)
            if views is None
            else fill_pair(stages.fill, matched, (a, b), known, views)
        )
        flow, occluded = Flow(filled.uv, filled.confidence), filled.occluded
    write_flow(out, np.where(known[..., None], flow.uv, np.float32(np.nan)))
    if mask is not None:
        write_image(mask, occluded)
    if not quiet:
        height, width = flow.shape
        completed = " and filled" if fill else ""
        print(f"{out}: flow of {width}x{height} pixels, {occluded.mean():.0%} of them occluded{completed}")


def _check_options(kind: str, rig: Path | None, frame: int | None) -> None:
    if kind not in ("stereo", "optical"):
        raise InputError(f"--kind {kind} is neither stereo nor optical; give one of them")
    if kind == "optical" and rig is not None:
        raise InputError("optical flow needs no cameras; leave out --rig, or use --kind stereo")
    if frame is not None and rig is None:
        raise InputError(f"--frame {frame} is a frame of a rig; give the rig with --rig")


def _check_output(path: Path, suffixes: tuple[str, ...], what: str) -> None:
    """Refuse now what could not be written after a long computation."""
    if path.suffix.lower() not in suffixes:
        raise FileError(f"cannot write '{path}': {what} goes into {' or '.join(suffixes)}; rename it")
    if path.is_dir():
        raise FileError(f"cannot write '{path}': it is a directory; give the name of a file")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileError(f"cannot write '{path}': its directory does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise FileError(f"cannot write '{path}': writing there is not permitted; choose another place")
