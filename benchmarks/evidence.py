"""Evidence over time: time as a ratio to DeepFlow, memory and error on a scene of `wideflow synth`.

The first moment of a run describes all the pictures that it looks at; later ones share most of them.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.yardstick import deepflow_seconds
from wideflow.config import EvidenceConfig
from wideflow.evidence import Glimpse, choose_views, depth_over_time
from wideflow.handheld import HandheldScene, read_handheld
from wideflow.synth import SynthConfig, render

SIZES = ((960, 540),)
FRAMES = 12


def main() -> None:
    """Print one row for each size."""
    print("| size | moment | off by > 1, 5, 10 % of what stands still | time / DeepFlow |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            render(
                Path(folder) / "scene", SynthConfig(angle=12, size=size, seed=33, frames=FRAMES, path="walk")
            )
            scene = read_handheld(Path(folder) / "scene")
            deepflow = deepflow_seconds(scene.image(0, 0), scene.image(1, 0))
            shots = [_glimpse(scene, t) for t in range(FRAMES)]
            tiny = [_glimpse(scene, t, 8) for t in range(FRAMES)]
            _measured(scene, tiny, 5)  # compiles
            for what, t in (("first", 5), ("next", 6)):
                seconds, off = _measured(scene, shots, t)
                row = ("x".join(map(str, size)), what, off, f"{seconds / deepflow:.2f}")
                print("|", " | ".join(row), "|", flush=True)
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def _glimpse(scene: HandheldScene, t: int, smaller: int = 1) -> Glimpse:
    picture = (255 * scene.image(0, t).mean(axis=2)).astype(np.uint8)[::smaller, ::smaller]
    whole = Glimpse(np.ascontiguousarray(picture), scene.rig.frame(t).views[0])
    return Glimpse(whole.grey, whole.at((picture.shape[0], picture.shape[1])))


def _measured(scene: HandheldScene, shots: list[Glimpse], t: int) -> tuple[float, str]:
    """Seconds of a moment, and how much of it is off."""
    truth = scene.truth(0, t)
    near, far = np.nanquantile(truth.depth, [0.005, 0.995])
    start = time.perf_counter()
    others = [shot for i, shot in enumerate(shots) if i != t]
    views = [shot.view for shot in others]
    chosen = choose_views(shots[t].view, views, near / 1.5, 2 * far, EvidenceConfig().views)
    found = depth_over_time(shots[t], [others[i] for i in sorted(chosen)], near / 1.5, 2 * far)
    seconds = time.perf_counter() - start
    if found.inverse.shape != truth.depth.shape:
        return seconds, ""
    stands = np.isfinite(truth.depth) & (np.linalg.norm(truth.motion, axis=2) < 1e-6)
    error = np.abs(1 / found.inverse / truth.depth - 1)[stands]
    return seconds, " / ".join(f"{100 * np.mean(~(error <= limit)):.1f}" for limit in (0.01, 0.05, 0.1))
