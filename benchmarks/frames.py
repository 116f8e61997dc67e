"""A time step of a video: time of every stage in DeepFlows and against the paper's, and memory, by size.

Counted is what each further moment of a video costs: its stereo flow, the two optical flows from it, filling,
refinement and lift. The moment at which a video ends costs a stereo flow and its filling more. The stereo
flow is that of the second moment, which the first one proposes to, as to seven of eight moments of a video.

Megabytes are those that a stage must move at least: the arrays that it is given and gives. The last table
that was published stands beside the times; what has become slower is said below.

Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.yardstick import deepflow_seconds
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.stage_result import StageResult
from wideflow.handheld import read_handheld
from wideflow.pipeline.step.in_memory import StagesInMemory
from wideflow.pipeline.step.order import STAGES, kept_order

SIZES = ((480, 270), (960, 540), (1920, 1080))
# seconds of the paper's section 4, one thread of a 3.5 GHz Xeon, 960x540: a flow, filling, refinement
PAPER = {
    "match stereo": 360.0,
    "match optical_a": 360.0,
    "match optical_b": 360.0,
    "fill": 7.0,
    "refine": 96.0,
}
# four pictures are at hand: there is nothing to read, and nothing of other moments
_NOT_HERE = ("read", "evidence", "steady")
CLOCKS = tuple(dict.fromkeys(stage.clock for stage in STAGES if stage.clock not in _NOT_HERE))
COLUMNS = ("size", "stage", "seconds", "time / DeepFlow", "published", "MB", "paper / ours")
PAGE = Path(__file__).parents[1] / "docs" / "evaluation.md"
_ROW = re.compile(r"^\| (\d+x\d+) \| ([a-z_ ]+) \| [\d.]+ \| ([\d.]+) \|", re.MULTILINE)
_SLOWER = 1.15  # times the published figure: machines are noisy
_RUNS = 2


def main() -> None:
    """Print a row per size and stage, and one per size for the whole step with its memory and error."""
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    totals, slower, before = [], [], published(PAGE.read_text(encoding="utf-8"))
    for size in SIZES:
        name = "x".join(map(str, size))
        command = [sys.executable, "-m", "benchmarks.frames", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"| {name} | failed: {done.stderr.strip().splitlines()[-1]} | | | |", flush=True)
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        seconds, unit = found["seconds"], found["deepflow"]
        for stage in CLOCKS:
            # the paper's times are for 960x540; its stages grow with the number of pixels
            paper = PAPER.get(stage, 0) * size[0] * size[1] / (960 * 540)
            ratio = f"{paper / seconds[stage]:.0f}" if paper else ""
            time, then = seconds[stage] / unit, before.get((name, stage))
            if then is not None and time > _SLOWER * then:
                slower.append(f"{stage} at {name}: {time:.2f} instead of {then:.2f}")
            told = f"{seconds[stage]:.2f} | {time:.2f} | {'' if then is None else then}"
            print(f"| {name} | {stage} | {told} | {found['megabytes'][stage]:.1f} | {ratio} |", flush=True)
        whole = sum(seconds.values())
        memory, wrong = f"{found['gigabytes']:.2f}", f"{found['bad3']:.1f} %"
        totals.append(f"| {name} | {whole:.1f} | {whole / unit:.1f} | {memory} | {wrong} |")
    print("\n| size | seconds of a time step | time / DeepFlow | peak memory, GB | stereo wrong by > 3 px |")
    print("|---|---|---|---|---|")
    print("\n".join(totals))
    if slower:
        print(f"\nslower than published: {'; '.join(slower)}")


def published(page: str) -> dict[tuple[str, str], float]:
    """Time / DeepFlow by size and stage, of the table that a page has."""
    return {(size, stage): float(time) for size, stage, time in _ROW.findall(page)}


def moved_megabytes(stages: StagesInMemory) -> dict[str, float]:
    """By clock: all that the stages of the first moment are given and give."""
    total = dict.fromkeys(CLOCKS, 0)
    for stage in STAGES:
        if stage.clock in CLOCKS and stage.view == "a" and 0 in stage.moments(2):
            needs = [stages.get(need.name, t) for need in stage.needs for t in need.moments(0)]
            total[stage.clock] += sum(map(_bytes, [*needs, stages.get(stage.name, 0)]))
    return {clock: size / 1e6 for clock, size in total.items()}


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if is_dataclass(value):
        return sum(_bytes(getattr(value, field.name)) for field in fields(value))
    return 0


def measure(size: tuple[int, int]) -> dict[str, object]:
    """One scene of this size: the best time of each stage, DeepFlow's, and the most memory in use."""
    from wideflow.evaluate.datasets.handheld import handheld_step
    from wideflow.synth import SynthConfig

    with tempfile.TemporaryDirectory() as folder:
        # rendered elsewhere: the renderer's memory is not that of the method
        config = SynthConfig(angle=15, size=size, seed=30)
        code = f"from wideflow.synth import *; render({str(folder)!r}, {config!r})"
        subprocess.run([sys.executable, "-c", code], check=True)
        sample = handheld_step(read_handheld(Path(folder)), 0, "scene")
    a, b, a_next, b_next = sample.pictures
    best: dict[str, float] = {}
    for _ in range(_RUNS):  # the first compiles or loads the kernels
        stages = StagesInMemory([(a, b), (a_next, b_next)], sample.frames)
        for stage, t in kept_order(2):
            stages.get(stage.name, t)
        seconds = stages.seconds[0] | {"match stereo": stages.seconds[1]["match stereo"]}
        best = {stage: min(s, best.get(stage, s)) for stage, s in seconds.items()}
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    errors = score_sample(sample, StageResult("step", stereo=stages.get("step", 0).stereo_flow))
    unit = deepflow_seconds(sample.pictures[0], sample.pictures[1])
    return {
        "seconds": best,
        "megabytes": moved_megabytes(stages),
        "deepflow": unit,
        "gigabytes": gigabytes,
        "bad3": errors["stereo_bad3"],
    }


if __name__ == "__main__":
    width, height = map(int, sys.argv[1].split("x"))
    print(json.dumps(measure((width, height))))
