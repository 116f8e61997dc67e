"""Scene flow of four frames: error after each stage, time as a ratio to DeepFlow, and memory.

Scenes are rendered by `wideflow synth`; those in `handheld` in the folder that WIDEFLOW_DATA names are
measured too. Depth and motion are judged where all four pictures see the pixel, edges within 5 px
of a true depth edge.
"""

from __future__ import annotations

import os
import resource
import tempfile
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from benchmarks.yardstick import deepflow_seconds
from wideflow.config import Config, load_config
from wideflow.evaluate.datasets.handheld import handheld_step
from wideflow.evaluate.metrics import depth_scores, flow_scores, motion_scores
from wideflow.evaluate.run_stages import step_in_memory, step_results
from wideflow.evaluate.stage_result import StageResult
from wideflow.geometry.flow_loop import FlowLoop
from wideflow.handheld import HandheldScene, read_handheld
from wideflow.lift import lift_flows
from wideflow.pipeline.step.in_memory import StagesInMemory
from wideflow.pipeline.step.order import STAGE
from wideflow.pipeline.step.stage import compute
from wideflow.synth import SynthConfig, render

ANGLES = (8, 15, 25)
COLUMNS = (
    "scene", "stage", "stereo > 3 px", "depth > 1 %", "motion, median mm", "optical, mean px",
    "edges: stereo > 3 px", "edges: depth > 1 %", "time / DeepFlow",
)  # fmt: skip


def main() -> None:
    """Print one row a scene and stage, and how the confidence sorts the errors."""
    print("|", " | ".join(COLUMNS), "|\n|" + "---|" * len(COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        for scene in _scenes(Path(folder)):
            _measure(scene)
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def _scenes(folder: Path):
    root = os.environ.get("WIDEFLOW_DATA")
    if root:
        paths = sorted(path for path in Path(root, "handheld").iterdir() if (path / "cam0_0001.png").exists())
        yield from map(read_handheld, paths)
    for seed, angle in enumerate(ANGLES, start=60):
        render(folder / f"synth{angle:02d}", SynthConfig(angle=angle, seed=seed))
        yield read_handheld(folder / f"synth{angle:02d}")


def _measure(scene: HandheldScene) -> None:
    config = Config()
    sample = handheld_step(scene, 0, scene.path.name)
    stages = step_in_memory(sample, config)
    match, filled, refined = step_results(stages, config)
    unit = deepflow_seconds(sample.pictures[0], sample.pictures[2])
    _row(scene, match)
    _row(scene, filled)
    _row(scene, refined, _timed(stages, config)[1] / unit)
    flows, seconds = _timed(stages, replace(config, refine=load_config(preset="paper").refine))
    lifted = lift_flows(*sample.frames, flows)
    paper = StageResult(
        "refine, paper", flows.stereo, flows.optical, depth=lifted.depth, motion=lifted.motion
    )
    _row(scene, paper, seconds / unit)
    found = stages.get("step", 0)
    _confidence(scene, found.depth, found.confidence)


def _timed(stages: StagesInMemory, config: Config) -> tuple[FlowLoop, float]:
    """Refinement alone: the better of two runs, the first of which may compile."""
    times = []
    for _ in range(2):
        seconds: dict[str, float] = {}
        refined = compute(STAGE["refined"], 0, stages.get, config, seconds)
        times.append(seconds["refine"])
    return refined.flows, min(times)


def _row(scene: HandheldScene, result: StageResult, ratio: float | None = None) -> None:
    truth, expected = scene.truth(0, 0), scene.flows(0, 0)
    seen = truth.stereo_visible
    four = seen & truth.optical_visible & truth.loop_visible
    edge = _near_depth_edges(truth.depth) & seen
    cells = [
        f"{flow_scores(result.stereo, expected.stereo, seen).visible.bad[3]:.1f} %",
        f"{depth_scores(result.depth, truth.depth, four).visible.bad[1]:.1f} %",
        f"{1000 * motion_scores(result.motion, truth.motion, four, (0.05,)).visible.median:.2f}",
        f"{flow_scores(result.optical, expected.optical, truth.optical_visible).visible.mean:.2f}",
        f"{flow_scores(result.stereo, expected.stereo, edge).visible.bad[3]:.1f} %",
        f"{depth_scores(result.depth, truth.depth, edge).visible.bad[1]:.1f} %",
        "" if ratio is None else f"{ratio:.1f}",
    ]
    print("|", " | ".join([scene.path.name, result.stage, *cells]), "|", flush=True)


def _near_depth_edges(depth: np.ndarray) -> np.ndarray:
    """Within 5 px of where the true depth jumps by more than 5 %."""
    z = np.where(np.isfinite(depth), depth, 1e6).astype(np.float32)
    low = cv2.erode(z, np.ones((3, 3)))
    jump = (cv2.dilate(z, np.ones((3, 3))) > 1.05 * low).astype(np.uint8)
    return cv2.dilate(jump, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (11, 11))) > 0


def _confidence(scene: HandheldScene, depth: np.ndarray, confidence: np.ndarray) -> None:
    true = scene.truth(0, 0).depth
    known = np.isfinite(true)
    wrong = ~(np.abs(depth - true) <= 0.01 * true)[known]
    sure = confidence[known] >= np.median(confidence[known])
    share = 100 * np.count_nonzero(wrong & sure) / np.count_nonzero(wrong)
    print(f"| {scene.path.name} | confidence | {share:.1f} % of all wrong depths in the surer half |||||||")
