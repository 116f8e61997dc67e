"""Scene flow of four frames: error after each stage, time as a ratio to DeepFlow, and memory.

Scenes are rendered by `wideflow synth`; those in `handheld` in the folder that WIDEFLOW_DATA names are
measured too. Depth and motion are judged where all four pictures see the pixel, edges within 5 px
of a true depth edge.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

from benchmarks.yardstick import deepflow_seconds
from wideflow.config import RefineConfig, load_config
from wideflow.evaluate.metrics import depth_scores, flow_scores, motion_scores
from wideflow.filling import fill, find_occluded
from wideflow.geometry import fundamental_matrix
from wideflow.geometry.flow_loop import FlowLoop, close_loop
from wideflow.handheld import HandheldScene, read_handheld
from wideflow.lift import Evidence, lift_flows, match_noise
from wideflow.matching import match
from wideflow.refine import Refinement, refine_flows
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
    a, b, a_next, b_next = (scene.image(camera, t) for t in (0, 1) for camera in (0, 1))
    frames = scene.rig.frame(0), scene.rig.frame(1)
    pairs = {
        "optical_a": (a, a_next, "optical", None),
        "stereo": (a, b, "stereo", frames[0].views),
        "optical_b": (b, b_next, "optical", None),
        "stereo_next": (a_next, b_next, "stereo", frames[1].views),
    }
    found = {name: match(*pair) for name, pair in pairs.items()}
    hidden = {name: find_occluded(m.forward.uv, m.backward.uv) for name, m in found.items()}
    raw = {name: m.forward.uv for name, m in found.items()}
    filled = {name: fill(pairs[name][0], m.forward, hidden[name]).uv for name, m in found.items()}
    _row(scene, "match", close_loop(*raw.values(), *hidden.values())[0])
    start, loop_error = close_loop(*filled.values(), *hidden.values())
    _row(scene, "fill", start)
    change = found["stereo"].colours
    pictures = change(a), b, change(a_next), b_next
    fundamental = [fundamental_matrix(*frame.views) for frame in frames]
    unit = deepflow_seconds(a, a_next)
    for name, config in (("refine", RefineConfig()), ("refine, paper", load_config(preset="paper").refine)):
        result, seconds = _timed(pictures, fundamental, start, config)
        _row(scene, name, result.flows, seconds / unit)
        if name == "refine":
            evidence = Evidence(
                ~hidden["stereo"],
                found["stereo"].forward.confidence,
                loop_error,
                np.linalg.norm(result.flows.stereo - start.stereo, axis=2),
                match_noise(a, b, frames[0], result.flows.stereo),
            )
            lifted = lift_flows(*frames, result.flows, evidence)
    _confidence(scene, lifted.depth, lifted.confidence)


def _timed(pictures, fundamental, start: FlowLoop, config: RefineConfig) -> tuple[Refinement, float]:
    """The better of two runs, the first of which may compile."""
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        result = refine_flows(pictures, fundamental, start, config)
        times.append(time.perf_counter() - begin)
    return result, min(times)


def _row(scene: HandheldScene, stage: str, flows: FlowLoop, ratio: float | None = None) -> None:
    truth, expected = scene.truth(0, 0), scene.flows(0, 0)
    lifted = lift_flows(scene.rig.frame(0), scene.rig.frame(1), flows)
    seen = truth.stereo_visible
    four = seen & truth.optical_visible & truth.loop_visible
    edge = _near_depth_edges(truth.depth) & seen
    cells = [
        f"{flow_scores(flows.stereo, expected.stereo, seen).visible.bad[3]:.1f} %",
        f"{depth_scores(lifted.depth, truth.depth, four).visible.bad[1]:.1f} %",
        f"{1000 * motion_scores(lifted.motion, truth.motion, four, (0.05,)).visible.median:.2f}",
        f"{flow_scores(flows.optical, expected.optical, truth.optical_visible).visible.mean:.2f}",
        f"{flow_scores(flows.stereo, expected.stereo, edge).visible.bad[3]:.1f} %",
        f"{depth_scores(lifted.depth, truth.depth, edge).visible.bad[1]:.1f} %",
        "" if ratio is None else f"{ratio:.1f}",
    ]
    print("|", " | ".join([scene.path.name, stage, *cells]), "|", flush=True)


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
