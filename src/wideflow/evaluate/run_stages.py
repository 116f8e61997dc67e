"""Run the method on a sample and keep what each stage leaves behind."""

from __future__ import annotations

import numpy as np

from wideflow.config import Config
from wideflow.errors import InputError
from wideflow.evaluate.datasets.sample import Field, Mask, Sample
from wideflow.evaluate.rolled import as_rolled, rolls
from wideflow.evaluate.stage_result import StageResult
from wideflow.lift import lift_flows
from wideflow.pipeline.step.flows import fill_flow, fill_pair, find_hidden, match_film, match_pair
from wideflow.pipeline.step.in_memory import StagesInMemory
from wideflow.pipeline.step.lifting import first_loop
from wideflow.pipeline.step.timings import Seconds, clock, total
from wideflow.pipeline.step.values import FilledFlow, MatchedFlow
from wideflow.pipeline.step.voices import Voice
from wideflow.types import SceneFlow

MEASURED = ("match", "fill", "refine")
_LOOP = (("stereo", 0), ("optical_a", 0), ("optical_b", 0), ("stereo", 1))  # flows, and their moments


def run_stages(
    sample: Sample, config: Config, stage: str = "all", voice: Voice | None = None
) -> list[StageResult]:
    """Results of every stage up to ``stage``, or of ``stage`` alone.

    Parameters
    ----------
    sample : Sample
        A pair has no refinement, which needs four pictures.
    config : Config
        Settings of all stages.
    stage : "match", "fill", "refine" or "all"
        Which results are wanted; what comes before is computed all the same.
    voice : Voice, optional
        Who proposes flows to the matches of a step.
    """
    if stage not in (*MEASURED, "all"):
        raise InputError(f"there is no stage '{stage}'; there are {', '.join(MEASURED)} and all")
    if sample.is_step:
        results = step_results(step_in_memory(sample, config, voice), config, stage)
        if rolls(sample):
            results = [as_rolled(sample, result) for result in results]
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
    seconds: Seconds = {}
    with clock(seconds, "match"):
        if kind == "optical":
            matched = match_film(config.match, first, second)
        else:
            matched = match_pair(config.match, first, second, views)
    known = np.ones(first.shape[:2], bool)
    hidden = find_hidden(config.fill, matched, known, views)
    results = [_pair_result("match", kind, matched.uv, hidden, seconds)]
    if stage != "match":
        with clock(seconds, "fill"):
            if views is None:
                filled = fill_flow(config.fill, matched, first, known)
            else:
                filled = fill_pair(config.fill, matched, (first, second), known, views)
        results.append(_pair_result("fill", kind, filled.uv, filled.occluded, seconds))
    return results


def _pair_result(stage: str, kind: str, uv: Field, occluded: Mask, seconds: Seconds) -> StageResult:
    spent = sum(seconds.values())
    if kind == "stereo":
        return StageResult(stage, stereo=uv, occluded=occluded, seconds=spent)
    return StageResult(stage, optical=uv, occluded=occluded, seconds=spent)


def step_in_memory(sample: Sample, config: Config, voice: Voice | None = None) -> StagesInMemory:
    """The pipeline's own stages on the four pictures of a sample."""
    a, b, a_next, b_next = sample.pictures
    return StagesInMemory([(a, b), (a_next, b_next)], sample.frames, config, voice)


def step_results(stages: StagesInMemory, config: Config, stage: str = "all") -> list[StageResult]:
    """What the stages leave up to ``stage``.

    Their time is counted by the pipeline, without what is computed here only to be measured.
    """
    matched = {each: stages.get(f"match_{each[0]}", each[1]) for each in _LOOP}
    flows = [_unfilled(each, match, stages, config) for each, match in matched.items()]
    results = [_unrefined("match", flows, stages)]
    if stage != "match":
        results.append(_unrefined("fill", [stages.get(*each) for each in _LOOP], stages))
    if stage in ("refine", "all"):
        results.append(_refined(stages))
    return results


def _refined(stages: StagesInMemory) -> StageResult:
    scene: SceneFlow = stages.get("step", 0)
    return StageResult(
        "refine",
        scene.stereo_flow,
        scene.optical_flow_a,
        scene.loop_flow,
        scene.depth,
        scene.motion,
        scene.occluded,
        _spent(stages),
    )


def _unfilled(
    each: tuple[str, int], matched: MatchedFlow, stages: StagesInMemory, config: Config
) -> FilledFlow:
    """A flow as it was matched, and where it is a guess."""
    flow, t = each
    lens = stages.get("lenses", t)[flow == "optical_b"]
    views = stages.rig.frames[t].views if flow == "stereo" else None
    hidden = find_hidden(config.fill, matched, lens.known, views)
    return FilledFlow(matched.uv, matched.confidence, hidden, matched.colours)


def _unrefined(stage: str, flows: list[FilledFlow], stages: StagesInMemory) -> StageResult:
    """The flows so far, with the depth and motion that they would give."""
    seconds = _spent(stages)
    loop, _ = first_loop(*flows)
    lifted = lift_flows(stages.get("cameras", 0), stages.get("cameras", 1), loop)
    return StageResult(
        stage,
        loop.stereo,
        loop.optical,
        loop.loop,
        np.asarray(lifted.depth, np.float32),
        np.asarray(lifted.motion, np.float32),
        flows[0].occluded,
        seconds,
    )


def _spent(stages: StagesInMemory) -> float:
    return sum(total(*stages.seconds.values()).values())
