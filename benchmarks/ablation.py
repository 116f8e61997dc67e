"""What each ingredient of matching is worth: the error without it, on two rendered scenes."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.match import HEAD, pair_of, print_scores
from benchmarks.yardstick import deepflow_seconds
from wideflow.config import load_config
from wideflow.evaluate.handheld import read_handheld
from wideflow.matching import match
from wideflow.synth import SynthConfig, render

WITHOUT = {
    "default": [],
    "epipolar term": ["match.weight_epipolar=0", "match.search=random"],
    "search on the line": ["match.search=random"],
    "pairwise term": [
        f"match.stereo.{level}_pairwise={[0.0] * passes}"
        for level, passes in (("coarse", 5), ("middle", 3), ("final", 2))
    ],
    "colour transform": ["match.colour_transform=false"],
    "orientation": ["match.oriented=false"],
    "slant": ["match.slanted=false"],
    "coarse to fine": ["match.coarse_to_fine=false"],
    "cap": ["match.descriptor_cap=2"],
    "exchange": ["match.exchange=false"],
    "polish": ["match.polish=false"],
}
SCENES = {15: 60, 25: 61}  # seed of each angle


def main() -> None:
    """Print one row for each scene and ingredient left out."""
    print(f"| scene, without {HEAD}")
    with tempfile.TemporaryDirectory() as folder:
        for angle, seed in SCENES.items():
            render(Path(folder) / "scene", SynthConfig(angle=angle, seed=seed))
            pair = pair_of(read_handheld(Path(folder) / "scene"), "stereo")
            unit = deepflow_seconds(pair.first, pair.second)
            for preset, without, settings in (
                *(("default", *item) for item in WITHOUT.items()),
                ("fast", "preset fast", []),
                ("paper", "preset paper", []),
            ):
                config = load_config(settings=settings, preset=preset).match
                start = time.perf_counter()
                found = match(pair.first, pair.second, "stereo", pair.views, config)
                ratio = (time.perf_counter() - start) / unit
                print_scores(f"{angle} degrees, {without}", pair, found.forward.uv, ratio)
