"""Dense matching: error, time as a ratio to DeepFlow, and memory, on scenes rendered by `wideflow synth`.

Scenes of the handheld layout in the folder that WIDEFLOW_HANDHELD names are measured too.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

from wideflow.config import load_config
from wideflow.evaluate.handheld import HandheldScene, read_handheld
from wideflow.evaluate.metrics import flow_scores
from wideflow.matching import match
from wideflow.synth import SynthConfig, render

SIZES = ((480, 270), (960, 540), (1920, 1080))
ANGLES = (8, 15, 25, 40)
HEAD = "| kind | visible > 3 px | mean | median | time / DeepFlow |\n|---|---|---|---|---|---|"


def main() -> None:
    """Print one table by scene and one by picture size."""
    print(f"| scene {HEAD}")
    with tempfile.TemporaryDirectory() as folder:
        for scene in _scenes(Path(folder)):
            for kind in ("stereo", "optical"):
                _row(scene, kind)
        print(
            "\n| size | kind | visible > 3 px | mean | median | time / DeepFlow |\n|---|---|---|---|---|---|"
        )
        for size in SIZES:
            render(Path(folder) / "sized", SynthConfig(angle=15, size=size, seed=30))
            scene = read_handheld(Path(folder) / "sized")
            for kind in ("stereo", "optical"):
                _row(scene, kind, name="x".join(map(str, size)))
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def _scenes(folder: Path):
    root = os.environ.get("WIDEFLOW_HANDHELD")
    if root:
        yield from (
            read_handheld(path) for path in sorted(Path(root).iterdir()) if (path / "cam0_0001.png").exists()
        )
    for seed, angle in enumerate(ANGLES, start=30):
        out = folder / f"synth{angle:02d}"
        render(out, SynthConfig(angle=angle, seed=seed, weak=0.33 if angle == 15 else 0.0))
        yield read_handheld(out)


def _row(scene: HandheldScene, kind: str, name: str | None = None) -> None:
    frame, truth, flows = scene.rig.frames[0], scene.truth(0, 0), scene.flows(0, 0)
    if kind == "stereo":
        first, second, views = scene.image(0, 0), scene.image(1, 0), frame.views
        expected, visible = flows.stereo, truth.stereo_visible
    else:
        first, second, views = scene.image(0, 0), scene.image(0, 1), None
        expected, visible = flows.optical, truth.optical_visible
    config = load_config().match
    match(first[:64, :64], first[:64, :64], "optical", config=config)  # compiled before the clock starts
    start = time.perf_counter()
    found = match(first, second, kind, views, config)
    seconds = time.perf_counter() - start
    scores = flow_scores(found.forward.uv, expected, visible).visible
    ratio = seconds / _deepflow_seconds(first, second)
    row = (
        name or scene.path.name,
        kind,
        f"{scores.bad[3]:.1f} %",
        f"{scores.mean:.2f}",
        f"{scores.median:.2f}",
    )
    print("|", " | ".join(row), f"| {ratio:.1f} |", flush=True)


def _deepflow_seconds(first: np.ndarray, second: np.ndarray) -> float:
    grey = [(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) * 255).astype(np.uint8) for picture in (first, second)]
    algorithm = cv2.optflow.createOptFlow_DeepFlow()
    times = []
    for _ in range(2):
        start = time.perf_counter()
        algorithm.calc(grey[0], grey[1], None)
        times.append(time.perf_counter() - start)
    return min(times)
