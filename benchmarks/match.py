"""Dense matching: error, time as a ratio to DeepFlow, and memory, on scenes rendered by `wideflow synth`.

Scenes of the handheld layout in `handheld`, in the folder that WIDEFLOW_DATA names, are measured too.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.yardstick import deepflow_seconds
from wideflow.config import MatchConfig
from wideflow.evaluate.metrics import flow_scores
from wideflow.geometry import PairGeometry
from wideflow.handheld import HandheldScene, read_handheld
from wideflow.matching.passes import run_passes
from wideflow.pipeline.step.flows import match_film, match_pair
from wideflow.synth import SynthConfig, render
from wideflow.types import View

SIZES = ((480, 270), (960, 540), (1920, 1080))
ANGLES = (8, 15, 25, 40)
_COMPILED: set[str] = set()  # kinds of which a first match has compiled all
HEAD = "| kind | visible > 3 px | mean | median | time / DeepFlow |\n|---|---|---|---|---|---|"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two pictures with true flow."""

    first: np.ndarray
    second: np.ndarray
    kind: str
    views: tuple[View, View] | None
    truth: np.ndarray
    visible: np.ndarray


def main() -> None:
    """Print a table by scene, one by picture size and one by stage."""
    print(f"| scene {HEAD}")
    with tempfile.TemporaryDirectory() as folder:
        for scene in scenes(Path(folder)):
            for kind in ("stereo", "optical"):
                _row(scene.path.name, pair_of(scene, kind))
        print(f"\n| size {HEAD}")
        for size in SIZES:
            render(Path(folder) / "sized", SynthConfig(angle=15, size=size, seed=30))
            sized = read_handheld(Path(folder) / "sized")
            for kind in ("stereo", "optical"):
                _row("x".join(map(str, size)), pair_of(sized, kind))
            if size == SIZES[len(SIZES) // 2]:
                stages = [pair_of(sized, kind) for kind in ("stereo", "optical")]
    print(f"\n| stage {HEAD}")
    for pair in stages:
        _stages(pair)
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def scenes(folder: Path) -> Iterator[HandheldScene]:
    """Those that WIDEFLOW_DATA has, then one of each angle, rendered into ``folder``."""
    root = os.environ.get("WIDEFLOW_DATA")
    if root:
        folders = sorted(Path(root, "handheld").iterdir())
        yield from (read_handheld(path) for path in folders if (path / "cam0_0001.png").exists())
    for seed, angle in enumerate(ANGLES, start=30):
        out = folder / f"synth{angle:02d}"
        render(out, SynthConfig(angle=angle, seed=seed, weak=0.33 if angle == 15 else 0.0))
        yield read_handheld(out)


def pair_of(scene: HandheldScene, kind: str) -> Pair:
    """The first stereo pair of a scene, or the first two pictures of its camera A."""
    truth, flows = scene.truth(0, 0), scene.flows(0, 0)
    if kind == "stereo":
        views, expected, visible = scene.rig.frames[0].views, flows.stereo, truth.stereo_visible
        return Pair(scene.image(0, 0), scene.image(1, 0), kind, views, expected, visible)
    return Pair(scene.image(0, 0), scene.image(0, 1), kind, None, flows.optical, truth.optical_visible)


def _row(name: str, pair: Pair) -> None:
    if pair.kind not in _COMPILED:  # before the clock starts
        _COMPILED.add(pair.kind)
        _match(pair)
    start = time.perf_counter()
    flow = _match(pair)
    seconds = time.perf_counter() - start
    print_scores(name, pair, flow, seconds / deepflow_seconds(pair.first, pair.second))


def _match(pair: Pair) -> np.ndarray:
    """As a time step matches it."""
    if pair.kind == "optical":
        return match_film(MatchConfig(), pair.first, pair.second).uv
    return match_pair(MatchConfig(), pair.first, pair.second, pair.views).uv


def _stages(pair: Pair) -> None:
    """Error of the flow as each level leaves it, enlarged, and of the whole match; time of each."""
    unit = deepflow_seconds(pair.first, pair.second)
    geometry = None if pair.views is None else PairGeometry.from_views(*pair.views)
    total, start = 0.0, time.perf_counter()
    both = pair.kind == "stereo"
    for matches in run_passes((pair.first, pair.second), geometry, MatchConfig(), both=both):
        seconds = time.perf_counter() - start
        small = matches.flows[0]
        step = round(pair.first.shape[1] / small.shape[1])
        large = step * small.repeat(step, axis=0).repeat(step, axis=1)[: pair.truth.shape[0]]
        print_scores(f"level {small.shape[1]}x{small.shape[0]}", pair, large, seconds / unit)
        total, start = total + seconds, time.perf_counter()
    start = time.perf_counter()
    flow = _match(pair)
    seconds = time.perf_counter() - start - total
    print_scores("polish and check", pair, flow, max(seconds, 0) / unit)


def print_scores(name: str, pair: Pair, flow: np.ndarray, ratio: float) -> None:
    """One row of a table."""
    scores = flow_scores(flow, pair.truth, pair.visible).visible
    row = (name, pair.kind, f"{scores.bad[3]:.1f} %", f"{scores.mean:.2f}", f"{scores.median:.2f}")
    print("|", " | ".join(row), f"| {ratio:.1f} |", flush=True)
