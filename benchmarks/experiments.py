"""``python -m benchmarks.experiments [--size 960x540] OUT``: every experiment of the documentation.

Renders what it needs into OUT, skips what is there, runs one `wideflow evaluate` after the other, and puts
tables and figures into docs/. Data sets of others are measured where WIDEFLOW_DATA names their folder.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.publish import publish
from wideflow.cli import main as wideflow

# name, options of the renderer; sizes but that of the cameras are those of the whole run
SCENES = {
    "pairs/angle15": "--angle 15 --seed 60",
    "pairs/angle25": "--angle 25 --seed 61",
    "sequence": "--angle 12 --seed 140 --frames 9",
    "shake": "--angle 12 --seed 141 --frames 90 --size 64x36",
}
# experiment, data below OUT, name of its result
RENDERED = (
    ("handheld", "suite --methods wideflow,dis,deepflow,sgbm", "handheld"),
    ("ablation", "pairs", "ablation"),
    ("parts", "pairs", "parts"),
    ("sequence", "sequence", "sequence"),
    ("initialisation", "pairs", "initialisation"),
    ("contamination", "pairs/angle15", "contamination"),
    ("cameras", "shake", "cameras"),
    ("failures", "suite", "failures"),
)
# the same for data below WIDEFLOW_DATA
OTHERS = (
    ("filling", "sintel", "filling"),
    ("sequence", "sceneflow/Daimler", "daimler"),
    ("carpetball", "sceneflow/CarpetBall", "carpetball"),
    ("handheld", "handheld", "handheld-shared"),
    ("contamination", "handheld/scene15", "contamination-scene15"),
    ("middlebury-flow", "flow", "middlebury-flow"),
    ("middlebury-stereo", "stereo", "middlebury-stereo"),
)


def run(out: Path, size: str) -> None:
    """Render, measure, publish; a result that is there is kept."""
    for name, options in SCENES.items():
        if not (out / name / "rig.json").exists():
            words = options.split() if "--size" in options else [*options.split(), "--size", size]
            _wideflow("synth", str(out / name), *words)
    _wideflow("synth", "--suite", str(out / "suite"), "--size", size)
    data = os.environ.get("WIDEFLOW_DATA")
    sources = [(out, RENDERED)] + ([(Path(data), OTHERS)] if data else [])
    for root, experiments in sources:
        for experiment, words, name in experiments:
            place, *options = words.split()
            if not (out / "results" / name / "results.json").exists():
                where = str(out / "results" / name)
                _wideflow("evaluate", experiment, str(root / place), *options, "-o", where)
    publish(out / "results", size=size)


def _wideflow(*words: str) -> None:
    print("wideflow", *words, flush=True)
    if wideflow(list(words)):
        sys.exit(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="960x540")
    arguments = parser.parse_args()
    run(arguments.out, arguments.size)
