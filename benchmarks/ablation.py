"""What each ingredient of matching is worth: `wideflow evaluate ablation` on two rendered scenes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.yardstick import deepflow_seconds
from wideflow.config import Config
from wideflow.evaluate.ablation import evaluate_ablation
from wideflow.evaluate.handheld import read_handheld
from wideflow.evaluate.table import markdown
from wideflow.synth import SynthConfig, render

SCENES = {15: 60, 25: 61}  # seed of each angle


def main() -> None:
    """Print one row for each scene and ingredient left out."""
    with tempfile.TemporaryDirectory() as folder:
        scenes = Path(folder) / "scenes"
        for angle, seed in SCENES.items():
            render(scenes / f"angle{angle}", SynthConfig(angle=angle, seed=seed))
        scene = read_handheld(scenes / "angle15")
        print(f"one DeepFlow takes {deepflow_seconds(scene.image(0, 0), scene.image(1, 0)):.2f} s\n")
        print(markdown(evaluate_ablation(scenes, Path(folder) / "out", Config())))
