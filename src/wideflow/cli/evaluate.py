"""``wideflow evaluate``: the paper's experiments against ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import ConfigFile, Preset, Quiet, Settings
from wideflow.config import load_config
from wideflow.errors import InputError
from wideflow.progress import show_progress

EXAMPLE = "wideflow evaluate filling sintel -o filling-out"
EXPERIMENTS = ("filling",)


def run(
    experiment: Annotated[str, Argument(metavar="EXPERIMENT", help="filling: completion of occluded flow.")],
    root: Annotated[Path, Argument(metavar="ROOT", help="Folder with the data: scenes of Sintel.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder for the tables and pictures.")],
    config: ConfigFile = None,
    settings: Settings = None,
    preset: Preset = "default",
    quiet: Quiet = False,
) -> None:
    """Run an experiment of the paper and write its tables and pictures.

    filling: with the true flow outside the occlusions, the error inside them
    after diffusion and after the matting Laplacian.
    """
    if experiment not in EXPERIMENTS:
        raise InputError(f"there is no experiment '{experiment}'; there is {', '.join(EXPERIMENTS)}")
    stages = load_config(config, settings or (), preset)
    with show_progress(quiet) as progress:
        from wideflow.evaluate.filling import evaluate_filling

        scores = evaluate_filling(root, out, stages.fill, progress)
    if not quiet:
        for score in scores:
            print(
                f"{score.scene} {score.render} {score.frame}: {score.laplacian_px:.2f} px, "
                f"{score.ratio:.2f} of diffusion's {score.diffusion_px:.2f} px"
            )
        print(f"{out}/filling.md: {len(scores)} frames")
