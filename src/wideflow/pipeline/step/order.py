"""The stages of a time step in their order, with what each needs and gives: written here and nowhere else.

A run, `wideflow frames`, evaluation and benchmarks compute them with `compute`; tasks, their keys and their
timings follow from the list. A further stage is a further entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache

from wideflow.lift import FoundDepth
from wideflow.pipeline.step.carried import BLOCK
from wideflow.pipeline.step.flows import (
    fill_a,
    fill_b,
    fill_stereo,
    ideal_pictures,
    match_optical_a,
    match_optical_b,
    match_stereo,
    refute,
)
from wideflow.pipeline.step.lifting import lift_last, lift_step, refine_step, steady_moment
from wideflow.pipeline.step.mirror import mirror
from wideflow.pipeline.step.one_time import OneTime, find_one_time
from wideflow.pipeline.step.over_time import look_over_time
from wideflow.pipeline.step.stage import Need, Stage
from wideflow.pipeline.step.values import (
    FilledFlow,
    LastMoment,
    MatchedFlow,
    Pictures,
    RefinedFlows,
    SteadyDepth,
)
from wideflow.pipeline.step.voices import HEARD
from wideflow.storage.versions import VERSIONS
from wideflow.types import DepthOverTime, SceneFlow

# what is given from outside, at each moment
SOURCES = (
    "film",  # reads the pictures as both cameras filmed them
    "lenses",  # takes the lens out of them
    "cameras",  # the ideal ones
    "doubt",  # what calibration does not know of them
    "around",  # what camera A saw before and after
    "around_b",  # and what B saw
    *HEARD,  # flows that the user brings along
)
_STEADY = 2  # moments before and after that steady depth
_FIRST = 3  # moments from which on all are alike
_NOW, _NEXT = Need("pictures"), Need("pictures", 1)

_OF_A = (
    Stage(
        "pictures",
        ideal_pictures,
        (Need("film"), Need("lenses")),
        Pictures,
        VERSIONS["pictures"],
        kept="result",
        clock="read",
        doing="reading",
    ),
    Stage(
        "over_time",
        look_over_time,
        (_NOW, Need("cameras"), Need("around")),
        DepthOverTime,
        VERSIONS["evidence"],
        settings="evidence",
        clock="evidence",
        doing="looking over time",
        effort=0.5,
    ),
    Stage(
        "match_optical_a",
        match_optical_a,
        (_NOW, _NEXT, Need("heard_optical_a")),
        MatchedFlow,
        VERSIONS["match"],
        settings="match",
        at="step",
        clock="match optical_a",
        doing="matching optical a",
        effort=0.4,
    ),
    Stage(
        "optical_a",
        fill_a,
        (Need("match_optical_a"), _NOW, Need("lenses")),
        FilledFlow,
        VERSIONS["fill"],
        settings="fill",
        at="step",
        clock="fill",
        doing="filling optical a",
        effort=0.05,
    ),
    Stage(
        "match_optical_b",
        match_optical_b,
        (_NOW, _NEXT, Need("heard_optical_b")),
        MatchedFlow,
        VERSIONS["match"],
        settings="match",
        at="step",
        clock="match optical_b",
        doing="matching optical b",
        effort=0.4,
    ),
    Stage(
        "optical_b",
        fill_b,
        (Need("match_optical_b"), _NOW, Need("lenses")),
        FilledFlow,
        VERSIONS["fill"],
        settings="fill",
        at="step",
        clock="fill",
        doing="filling optical b",
        effort=0.05,
    ),
    Stage(
        "one_time",
        find_one_time,
        # of the step that leads to the moment, so that nothing changes if the clip goes on
        (
            Need("cameras"),
            Need("cameras", -1, least=1),
            Need("cameras", least=1),
            Need("match_optical_b", -1, least=1),
        ),
        OneTime,
        VERSIONS["one time"],
        kept="",
        clock="meet",
    ),
    Stage(
        "match_stereo",
        match_stereo,
        (
            _NOW,
            Need("cameras"),
            Need("over_time"),
            Need("heard_stereo"),
            Need("one_time"),
            *(Need(f"match_{name}", -1, -1, block=BLOCK) for name in ("stereo", "optical_a", "optical_b")),
        ),
        MatchedFlow,
        VERSIONS["match"],
        settings="match",
        clock="match stereo",
        doing="matching stereo",
        effort=1.5,
    ),
    Stage(
        "believed",
        refute,
        (Need("match_stereo"), Need("cameras"), Need("over_time")),
        DepthOverTime,
        VERSIONS["refute"],
        kept="",
        clock="evidence",
    ),
    Stage(
        "stereo",
        fill_stereo,
        (Need("match_stereo"), _NOW, Need("lenses"), Need("cameras"), Need("believed"), Need("one_time")),
        FilledFlow,
        VERSIONS["fill"],
        settings="fill",
        clock="fill",
        doing="filling stereo",
        effort=0.4,
    ),
    Stage(
        "refined",
        refine_step,
        (
            _NOW,
            _NEXT,
            Need("cameras"),
            Need("cameras", 1),
            Need("stereo"),
            Need("optical_a"),
            Need("optical_b"),
            Need("stereo", 1),
        ),
        RefinedFlows,
        VERSIONS["refine"],
        settings="refine",
        at="step",
        kept="",
        clock="refine",
    ),
    Stage(
        "step",
        lift_step,
        (
            _NOW,
            Need("cameras"),
            Need("cameras", 1),
            Need("lenses"),
            Need("doubt"),
            Need("stereo"),
            Need("optical_b"),
            Need("refined"),
            Need("believed"),
        ),
        SceneFlow,
        VERSIONS["lift"],
        settings="lift",
        at="step",
        kept="result",
        slot="moment",
        clock="lift",
        doing="refining and lifting",
        effort=0.75,
    ),
    Stage(
        "last",
        lift_last,
        (
            _NOW,
            Need("cameras"),
            Need("lenses"),
            Need("doubt"),
            Need("stereo"),
            Need("believed"),
            Need("one_time"),
        ),
        LastMoment,
        VERSIONS["lift"],
        at="last",
        kept="result",
        slot="moment",
        clock="lift",
        doing="lifting",
    ),
    Stage(
        "steady",
        steady_moment,
        (
            *(Need(name, -_STEADY, _STEADY) for name in ("cameras", "pictures", "moment")),
            Need("optical_a", -_STEADY, _STEADY - 1),
        ),
        SteadyDepth,
        VERSIONS["steady"],
        kept="result",
        slot="steady",
        clock="steady",
        doing="steadying",
        effort=0.05,
    ),
)
_OF_B = ("over_time", "one_time", "believed", "stereo", "refined", "step", "last", "steady")
# what all stages of a slot give that others need
_IN_COMMON = {"moment": FoundDepth, "moment_b": FoundDepth}
STAGES = (*_OF_A, *(mirror(stage) for stage in _OF_A if stage.name in _OF_B))
STAGE = {stage.name: stage for stage in STAGES}


def giver(name: str, t: int, moments: int) -> Stage | None:
    """The stage that a need means: that of this name, or the one that fills this slot at moment t.

    None outside of the clip, and where the stage has nothing to give.
    """
    if not 0 <= t < moments:
        return None
    if name in STAGE:
        return STAGE[name] if t in STAGE[name].moments(moments) else None
    (filling,) = (stage.name for stage in STAGES if stage.slot == name and t in stage.moments(moments))
    return STAGE[filling]


def given_as(name: str, stage: Stage) -> type:
    """The dataclass that whoever needs ``name`` gets from a stage."""
    return stage.gives if name == stage.name else _IN_COMMON[name]


@cache
def handed_on(stage: Stage) -> tuple[str, ...]:
    """The fields of what a stage gives that others need."""
    needed = {need.name for other in STAGES for need in other.needs}
    wanted = [given_as(name, stage) for name in (stage.name, stage.slot) if name in needed]
    return tuple(dict.fromkeys(field.name for gives in wanted for field in fields(gives)))


def stages_before(stage: Stage, t: int, moments: int) -> Iterator[tuple[Stage, int]]:
    """Stages that one at moment t needs itself, kept or not, each with its moment."""
    for need in stage.needs:
        for each in need.moments(t) if need.name not in SOURCES else ():
            before = giver(need.name, each, moments)
            if before is not None:
                yield before, each


def kept_before(stage: Stage, t: int, moments: int) -> list[tuple[Stage, int]]:
    """Kept stages that must be done before one at moment t, each with its moment."""
    found: dict[tuple[Stage, int], None] = {}
    for need in stages_before(stage, t, moments):
        found |= dict.fromkeys([need] if need[0].kept else kept_before(*need, moments))
    return list(found)


def last_seen(name: str, t: int) -> int:
    """The last moment that a stage at moment t, or the slowest that fills a slot, must see."""
    if name in SOURCES or t < 0:
        return t
    stages = [STAGE[name]] if name in STAGE else [stage for stage in STAGES if stage.slot == name]
    needs = [need for stage in stages for need in stage.needs]
    return max(last_seen(need.name, need.moments(t)[-1]) for need in needs)


def kept_order(moments: int, views: str = "a") -> list[tuple[Stage, int]]:
    """Every stage that is kept with its moment, each after what it needs, all of a moment close together.

    ``views`` are "a" or "ab".
    """
    every = [
        (stage, t) for stage in STAGES if stage.kept and stage.view in views for t in stage.moments(moments)
    ]
    # the first moments see further than others
    reach = {(stage.name, t): last_seen(stage.name, t) - t for stage in STAGES for t in range(_FIRST + 1)}
    return sorted(
        every, key=lambda each: min(each[1] + reach[each[0].name, min(each[1], _FIRST)], moments - 1)
    )
