"""The paper's comparison of variational scene flow with and without matched flows to start from."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from wideflow.config import Config
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.datasets import steps_of
from wideflow.evaluate.datasets.sample import Sample
from wideflow.evaluate.panels import depth_panels, panels
from wideflow.evaluate.run_dataset import mean_rows
from wideflow.evaluate.run_stages import run_stages
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.stage_result import StageResult
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import write_bytes, write_image
from wideflow.files.disk import AnyPath
from wideflow.geometry import fundamental_matrix
from wideflow.geometry.flow_loop import FlowLoop
from wideflow.lift import lift_flows
from wideflow.progress import Progress, silent
from wideflow.refine import refine_flows

_SMALLEST = 8  # px of the shorter side at which the pyramid without a start begins


def evaluate_initialisation(
    root: AnyPath, out: AnyPath, config: Config, progress: Progress = silent
) -> list[Row]:
    """Refine every step of four pictures from the matched and filled flows, and from no flow at all.

    Without matches, the same energy is minimised coarse to fine from a picture of a few pixels on. Writes the
    tables, ``figure.svg`` and a picture per step to ``out``: flows with their errors, and depth; the truth,
    without and with matches.
    """
    sources = steps_of(root)
    folder = open_folder(out)
    rows: list[Row] = []
    for done, source in enumerate(sources):
        progress(done, len(sources), source.name)
        sample = source.load()
        results = [
            without_matches(sample, config),
            replace(run_stages(sample, config, "refine")[0], stage="with"),
        ]
        rows += [{"scene": source.name, "matches": r.stage, **score_sample(sample, r)} for r in results]
        name = source.name.replace(" ", "_")
        write_image(folder / f"{name}.png", panels(sample, results))
        write_image(folder / f"{name}_depth.png", depth_panels(sample, results))
    rows += mean_rows(rows, "matches")
    write_tables(folder, "initialisation", rows)
    write_bytes(folder / "figure.svg", _figure(rows).encode())
    return rows


def without_matches(sample: Sample, config: Config) -> StageResult:
    """Variational scene flow from no flow, over as many levels as the picture can be halved."""
    shape = sample.pictures[0].shape[:2]
    zero = np.zeros((*shape, 2), np.float32)
    every = np.ones(shape, bool)
    start = FlowLoop(zero, zero, zero, every, every, every)
    levels = min(8, 1 + max(0, int(math.log2(min(shape) / _SMALLEST))))
    a, b, a_next, b_next = sample.pictures
    lines = fundamental_matrix(*sample.frames[0].views), fundamental_matrix(*sample.frames[1].views)
    begin = time.perf_counter()
    refined = refine_flows((a, b, a_next, b_next), lines, start, replace(config.refine, levels=levels))
    lifted = lift_flows(sample.frames[0], sample.frames[1], refined.flows)
    return StageResult(
        "without",
        refined.flows.stereo,
        refined.flows.optical,
        refined.flows.loop,
        lifted.depth.astype(np.float32),
        lifted.motion.astype(np.float32),
        seconds=time.perf_counter() - begin,
    )


def _figure(rows: list[Row]) -> str:
    scenes = [str(scene) for scene in dict.fromkeys(row["scene"] for row in rows)]
    charts = []
    for column, title in (("stereo_bad3", "Stereo flow"), ("optical_bad3", "Optical flow")):
        lines = {
            f"{kind} matches": [float(row[column]) for row in rows if row["matches"] == kind]
            for kind in ("without", "with")
        }
        charts.append(Chart(title, "scene", "wrong by > 3 px, %", scenes, lines, bars=True))
    return draw(charts)
