"""Run the method on a sample and keep what each stage leaves behind."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.config import Config
from wideflow.errors import InputError
from wideflow.evaluate.datasets.sample import Field, Mask, Sample
from wideflow.geometry.flow_loop import close_loop
from wideflow.lift import lift_flows
from wideflow.matching import match
from wideflow.pipeline.moment import FilledFlow, Moment, StepFlows
from wideflow.pipeline.step import fill_match, find_seen, ideal_moment, join_flows, match_loop

STAGES = ("match", "fill", "refine")


@dataclass(frozen=True, eq=False)
class StageResult:
    """What one stage leaves.

    Attributes
    ----------
    stage : str
    stereo, optical, loop : (H, W, 2) float32, optional
        Flow of every pixel of A to B at t, to A and to B at t + 1, px.
    depth, motion : (H, W) and (H, W, 3) float32, optional
    occluded : (H, W) bool, optional
        What the method believes to be hidden in the second picture of the pair, or in B at t.
    seconds : float
        From the start of the method to here.
    """

    stage: str
    stereo: Field | None = None
    optical: Field | None = None
    loop: Field | None = None
    depth: Field | None = None
    motion: Field | None = None
    occluded: Mask | None = None
    seconds: float = 0.0


def run_stages(sample: Sample, config: Config, stage: str = "all") -> list[StageResult]:
    """Results of every stage up to ``stage``, or of ``stage`` alone.

    Parameters
    ----------
    sample : Sample
        A pair has no refinement, which needs four pictures.
    config : Config
        Settings of all stages.
    stage : "match", "fill", "refine" or "all"
        Which results are wanted; what comes before is computed all the same.
    """
    if stage not in (*STAGES, "all"):
        raise InputError(f"there is no stage '{stage}'; there are {', '.join(STAGES)} and all")
    if sample.is_step:
        results = _run_step(sample, config, stage)
    elif stage == "refine":
        raise InputError(
            f"'{sample.name}' is a pair, and refinement needs four pictures; choose --stage match or fill"
        )
    else:
        results = _run_pair(sample, config, stage)
    return results if stage == "all" else results[-1:]


def _run_pair(sample: Sample, config: Config, stage: str) -> list[StageResult]:
    first, second = sample.pictures
    kind = "optical" if sample.stereo is None else "stereo"
    views = sample.frames[0].views if sample.frames else None
    start = time.perf_counter()
    found = match(first, second, kind, views, config.match)
    seconds = time.perf_counter() - start
    known = np.ones(first.shape[:2], bool)
    seen = find_seen(found.forward, found.backward.uv, known, config)
    results = [_pair_result("match", kind, found.forward.uv, seen.occluded, seconds)]
    if stage != "match":
        filled = fill_match(first, found.forward, found.backward.uv, known, config)
        seconds = time.perf_counter() - start
        results.append(_pair_result("fill", kind, filled.uv, seen.occluded, seconds))
    return results


def _pair_result(stage: str, kind: str, uv: Field, occluded: Mask, seconds: float) -> StageResult:
    if kind == "stereo":
        return StageResult(stage, stereo=uv, occluded=occluded, seconds=seconds)
    return StageResult(stage, optical=uv, occluded=occluded, seconds=seconds)


def _run_step(sample: Sample, config: Config, stage: str) -> list[StageResult]:
    now = ideal_moment((sample.pictures[0], sample.pictures[1]), sample.frames[0], "t")
    after = ideal_moment((sample.pictures[2], sample.pictures[3]), sample.frames[1], "t + 1")
    a, b = now.pictures
    start = time.perf_counter()
    found = match_loop(now, after, config, {}, lambda *_: None)
    known = {name: (after if name == "stereo_next" else now).known[name == "optical_b"] for name in found}
    seen = {name: find_seen(one.forward, one.backward.uv, known[name], config) for name, one in found.items()}
    results = [_loop_result("match", StepFlows(**seen), now, after, time.perf_counter() - start)]
    if stage == "match":
        return results
    filled = {
        name: fill_match(picture, found[name].forward, found[name].backward.uv, known[name], config)
        for name, picture in (("optical_a", a), ("stereo", a), ("optical_b", b))
    }
    flows = StepFlows(**filled, stereo_next=seen["stereo_next"])
    results.append(_loop_result("fill", flows, now, after, time.perf_counter() - start))
    if stage == "fill":
        return results
    scene = join_flows(now, after, flows, found["stereo"].colours, config, {})
    results.append(
        StageResult(
            "refine",
            scene.stereo_flow,
            scene.optical_flow_a,
            scene.loop_flow,
            scene.depth,
            scene.motion,
            scene.occluded,
            time.perf_counter() - start,
        )
    )
    return results


def _loop_result(stage: str, flows: StepFlows, now: Moment, after: Moment, seconds: float) -> StageResult:
    """The flows so far, with the depth and motion that they would give."""

    def part(name: str) -> tuple[Field, ...]:
        return tuple(getattr(flow, name) for flow in flows)

    loop, _ = close_loop(*part("uv"), *part("occluded"))  # type: ignore[arg-type]
    lifted = lift_flows(now.frame, after.frame, loop)
    hidden: FilledFlow = flows.stereo
    return StageResult(
        stage,
        loop.stereo,
        loop.optical,
        loop.loop,
        _single(lifted.depth),
        _single(lifted.motion),
        hidden.occluded,
        seconds,
    )


def _single(values: NDArray[np.floating]) -> Field:
    return np.asarray(values, np.float32)
