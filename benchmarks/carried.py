"""What the moment before is worth to the stereo flow of a moment, and what it costs.

Clips of five moments with known cameras, 960x540, the second to fourth scored: visible pixels wrong by more
than 3 px as matched and after refinement, with every moment by itself, with the moment before as a proposal
(what a run does), and with it as a start in place of the search.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from wideflow.config import load_config
from wideflow.evaluate.datasets.handheld import handheld_samples
from wideflow.evaluate.datasets.sample import Sample
from wideflow.evaluate.metrics import flow_scores
from wideflow.matching import match
from wideflow.pipeline.step.carried import carried
from wideflow.pipeline.step.in_memory import StagesInMemory
from wideflow.pipeline.step.values import MatchedFlow
from wideflow.synth import SynthConfig, render

# degrees, seed; the first two were looked at
CLIPS = ((12, 140), (28, 885), (15, 911), (25, 912))
MOMENTS = 5


def main() -> None:
    """Print a row per clip and way."""
    print("| clip | way | as matched, % | refined, % | stereo match, s |\n|---|---|---|---|---|")
    for angle, seed in CLIPS:
        with tempfile.TemporaryDirectory() as folder:
            render(Path(folder), SynthConfig(angle=angle, seed=seed, frames=MOMENTS))
            samples = [source.load() for source in handheld_samples(folder)]
        for way, found in (
            ("by itself", _run(samples, "match.carried=false")),
            ("proposal", _run(samples, "match.carried=true")),
            ("start", _started(samples)),
        ):
            wrong = " | ".join("" if value is None else f"{value:.2f}" for value in found[:2])
            print(f"| {angle} degrees, seed {seed} | {way} | {wrong} | {found[2]:.2f} |", flush=True)


def _wrong(sample: Sample, flow: Any) -> float:
    return flow_scores(flow, sample.stereo, sample.seen("stereo")).visible.bad[3]


def _stages(samples: list[Sample], *settings: str) -> StagesInMemory:
    last = samples[-1]
    pictures = [sample.pictures[:2] for sample in samples] + [last.pictures[2:]]
    frames = [sample.frames[0] for sample in samples] + [last.frames[1]]
    return StagesInMemory(pictures, frames, load_config(settings=settings))


def _run(samples: list[Sample], setting: str) -> tuple[float, float | None, float]:
    """What the stages give; moments before the first count for nothing."""
    stages, scored = _stages(samples, setting), range(1, len(samples))
    for t in range(len(samples)):
        stages.get("step", t)
    matched = [_wrong(samples[t], stages.get("match_stereo", t).uv) for t in scored]
    refined = [_wrong(samples[t], stages.get("step", t).stereo_flow) for t in scored]
    seconds = [stages.seconds[t]["match stereo"] for t in scored]
    return float(np.mean(matched)), float(np.mean(refined)), float(np.mean(seconds))


def _started(samples: list[Sample]) -> tuple[float, float | None, float]:
    """The coarsest level left out: both flows of the moment before, carried on, are where matching starts."""
    stages = _stages(samples)
    before = stages.get("match_stereo", 0)
    wrong, seconds = [], []
    for t in range(1, len(samples)):
        pictures, a, b = (
            stages.get(*each)
            for each in (("pictures", t), ("match_optical_a", t - 1), ("match_optical_b", t - 1))
        )
        begin = time.perf_counter()
        turned = MatchedFlow(
            before.back,
            before.uv,
            before.confidence_back,
            before.confidence,
            before.colours_back,
            before.colours,
        )
        start = tuple(
            _complete(carried(*ways)[0].flow, way.uv)
            for ways, way in (((before, a, b), before), ((turned, b, a), turned))
        )
        found = match(pictures.a, pictures.b, "stereo", samples[t].frames[0].views, start=start)
        seconds.append(time.perf_counter() - begin)
        before = MatchedFlow(
            found.forward.uv,
            found.backward.uv,
            before.confidence,
            before.confidence_back,
            before.colours,
            before.colours_back,
        )
        wrong.append(_wrong(samples[t], found.forward.uv))
    return float(np.mean(wrong)), None, float(np.mean(seconds))


def _complete(flow: Any, before: Any) -> Any:
    """Where nothing was carried, what was there before."""
    return np.where(np.isnan(flow), before, flow)
