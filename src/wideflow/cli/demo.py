"""``wideflow demo``: something to look at in a minute or two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from wideflow.cli.options import Quiet
from wideflow.cli.synth import render_with_progress
from wideflow.synth import SynthConfig

EXAMPLE = "wideflow demo -o demo-out"
CLIPS = SynthConfig(angle=15, frames=24, fps=24, size=(640, 360), seed=1, offset=0.217, video=True)


def run(
    out: Annotated[Path, Option("--out", "-o", help="Folder to write to.")] = Path("demo-out"),
    quiet: Quiet = False,
) -> None:
    """Render what two phones film of one moving scene, with ground truth.

    Takes a minute or two on two cores, then says what is where.
    """
    render_with_progress(out, CLIPS, None, quiet)
    if quiet:
        return
    print(f"Two phones, {CLIPS.angle:g} degrees apart, filmed one scene; B started {CLIPS.offset:g} s later.")
    for name, meaning in (
        ("a.mp4", "what phone A recorded; play both: lens, colours, noise, shake and sound differ"),
        ("b.mp4", "what phone B recorded"),
        ("rig.json", "where both were when A took each of its pictures"),
        ("gt0_*.npz", "exact depth, 3D motion and visibility of every pixel in A; gt1_*.npz in B"),
    ):
        print(f"  {out / name}  {meaning}")
