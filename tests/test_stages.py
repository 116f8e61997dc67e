"""The list of stages: consistent with itself, and all that follows from it: order, needs and keys."""

from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import pytest

from wideflow.config import Config
from wideflow.pipeline.step import order
from wideflow.pipeline.step.in_memory import StagesInMemory
from wideflow.pipeline.step.order import SOURCES, STAGE, STAGES
from wideflow.pipeline.step.stage import Need, Stage
from wideflow.pipeline.step.voices import FlowFiles
from wideflow.pipeline.tasks.plan import Plan, Task
from wideflow.storage.schema import OF_B
from wideflow.types import Camera, Rig, RigFrame, View

CAMERAS = tuple(Camera(name, 16, 12, np.diag([10.0, 10.0, 1.0])) for name in "ab")


def rig(moments: int) -> Rig:
    a, b = (View(camera, np.eye(3, 4)) for camera in CAMERAS)
    return Rig((CAMERAS[0], CAMERAS[1]), tuple(RigFrame(t, (t, t), (a, b)) for t in range(moments)))


def plan(moments: int = 4, **changes: Any) -> Plan:
    frames = tuple((t, t) for t in range(moments))
    known = Plan("out", ("a", "b"), None, ("1", "2"), frames, rig(moments), rig(moments), Config())
    return replace(known, **changes)


def test_every_stage_gets_what_it_declares_from_stages_before_it() -> None:
    known = set(SOURCES)
    for stage in STAGES:
        # what the moment before gave is there, also of the stage itself
        assert {need.name for need in stage.needs if not need.block} <= known, stage.name
        assert all(need.ahead < 0 for need in stage.needs if need.block)
        parameters = list(signature(stage.function).parameters)
        assert len(parameters) == bool(stage.settings) + len(stage.needs), stage.name
        assert not stage.settings or hasattr(Config(), stage.settings)
        known |= {stage.name, stage.slot}


def test_a_flow_of_the_users_own_is_heard_by_its_match_and_by_what_that_is_carried_to() -> None:
    voice = FlowFiles("flows", {"optical_a/000002.flo": "hash"})
    asked = [task for task in plan().tasks() if plan().key(task) != plan(voice=voice).key(task)]
    matches = [task for task in asked if task.name.startswith("match")]
    assert matches == [Task("match_optical_a", 2), Task("match_stereo", 3)]
    assert not changed(plan(voice=voice), plan(voice=replace(voice, folder="elsewhere")))
    assert changed(plan(voice=voice), plan(voice=FlowFiles("flows", {"optical_a/000002.flo": "other"})))


@pytest.mark.parametrize("moments", [2, 3, 5])
def test_tasks_come_after_what_they_need(moments: int) -> None:
    done: list[Task] = []
    for task in plan(moments).tasks():
        assert set(plan(moments).needs(task)) <= set(done), task
        done.append(task)
    assert len(done) == len(set(done)) == 5 * moments + 5 * (moments - 1) + 1
    step = plan(moments).needs(Task("step", 0))
    assert {Task("stereo", 0), Task("stereo", 1), Task("optical_a", 0), Task("optical_b", 0)} <= set(step)


def changed(before: Plan, after: Plan) -> set[str]:
    """Names of the tasks that have another key."""
    return {task.name for task in before.tasks() if before.key(task) != after.key(task)}


def test_a_raised_version_makes_anew_what_depends_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, dependent in (
        ("refined", {"step", "steady"}),
        ("optical_b", {"optical_b", "step", "steady"}),
        # what B shows is brought to the time of A along B's flow before they are matched
        (
            "match_optical_b",
            {"match_optical_b", "optical_b", "match_stereo", "stereo", "step", "last", "steady"},
        ),
        ("match_stereo", {"match_stereo", "stereo", "step", "last", "steady"}),
        ("over_time", {"over_time", "match_stereo", "stereo", "step", "last", "steady"}),
    ):
        with monkeypatch.context() as patch:
            before = plan()
            assert all(before.key(task) for task in before.tasks())
            patch.setitem(STAGE, name, replace(STAGE[name], version=STAGE[name].version + 1))
            assert changed(before, plan()) == dependent


def test_keys_change_with_what_a_stage_sees_and_with_nothing_else() -> None:
    config = Config()
    seed = replace(config, match=replace(config.match, seed=9))
    matches = {"match_stereo", "match_optical_a", "match_optical_b"}
    flows = {"stereo", "optical_a", "optical_b"}
    lifted = {"step", "last", "steady"}
    assert changed(plan(), plan(config=seed)) == matches | flows | lifted
    filled = replace(config, fill=replace(config.fill, reweighted=0))
    assert changed(plan(), plan(config=filled)) == flows | lifted
    assert changed(plan(), plan(alternatives=(rig(4),))) == lifted
    moved = View(CAMERAS[1], np.column_stack([np.eye(3), [1.0, 0, 0]]))
    other = Rig(
        rig(4).cameras, tuple(replace(frame, views=(frame.views[0], moved)) for frame in rig(4).frames)
    )
    assert changed(plan(), plan(rig=other)) == {"match_stereo", "over_time", "stereo"} | lifted
    for keep, views in (((), "a"), (tuple(OF_B), "ab")):
        everything = {stage.name for stage in STAGES if stage.kept and stage.view in views}
        assert changed(plan(keep=keep), plan(keep=keep, contents=("1", "3"))) == everything


def test_a_further_stage_is_a_further_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    def brighter(now: Any, after: Any) -> Any:
        return after.a.mean() - now.a.mean()

    needs = (Need("pictures"), Need("pictures", 1))
    extra = Stage("brighter", brighter, needs, float, 1, at="step", clock="brighter")
    monkeypatch.setattr(order, "STAGES", (*STAGES, extra))
    monkeypatch.setitem(STAGE, "brighter", extra)
    assert [task.t for task in plan(3).tasks() if task.name == "brighter"] == [0, 1]
    grey = [np.full((12, 16, 3), value, np.uint8) for value in (51, 102)]
    stages = StagesInMemory([(grey[0], grey[0]), (grey[1], grey[0])], rig(2).frames)
    assert stages.get("brighter", 0) == pytest.approx(0.2)
    assert stages.seconds[0]["brighter"] > 0
    assert set(stages.seconds[1]) == {"read"}
