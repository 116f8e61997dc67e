"""What tasks have just given is remembered within bounds, as it would be read, and for one run only."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from faults.machine import spoil
from faults.quick_job import Wish, make_plan, run_quickly, served
from faults.trial import whole
from wideflow.pipeline.step.order import STAGE, handed_on
from wideflow.pipeline.tasks.plan import Plan, Task
from wideflow.pipeline.tasks.recent import RECENT, Recent
from wideflow.storage.lock import Claim
from wideflow.storage.work import Work

NAMES = "uv", "back"


def plan(token: str = "run") -> Plan:
    return replace(make_plan(Wish(), "out"), claim=Claim(1, token))


def flows(value: int = 0) -> dict[str, np.ndarray]:
    return {name: np.full((2, 3, 2), value, np.float32) for name in NAMES}


def test_it_is_bounded_and_lets_go_of_what_was_not_asked_for_longest() -> None:
    size = sum(array.nbytes for array in flows().values())
    recent, here = Recent(3 * size), plan()
    tasks = [Task("match_stereo", t) for t in range(4)]
    for t in range(3):
        recent.add(here, tasks[t], flows(t))
    assert recent.find(here, tasks[0], NAMES) is not None
    recent.add(here, tasks[3], flows(3))
    assert recent.size == 3 * size
    assert [recent.find(here, task, NAMES) is not None for task in tasks] == [True, False, True, True]
    recent.add(here, tasks[0], flows(9))  # in the place of what was there
    found = recent.find(here, tasks[0], NAMES)
    assert found is not None
    assert found["uv"][0, 0, 0] == 9
    assert recent.size == 3 * size
    recent.add(here, tasks[1], {"uv": np.zeros(size, np.float64)})  # too large by itself
    assert recent.size <= 3 * size
    assert recent.find(here, tasks[1], ("uv",)) is None
    recent.add(here, tasks[0], flows())
    recent.drop(here, tasks)
    assert recent.size == 0


def test_it_gives_all_that_is_asked_for_or_nothing_and_only_within_a_run() -> None:
    recent, task = Recent(), Task("match_stereo", 0)
    recent.add(plan(), task, flows())
    assert recent.find(plan(), task, ("uv",)) is not None
    assert recent.find(plan(), task, ("uv", "confidence")) is None
    assert recent.find(plan("another run"), task, NAMES) is None
    assert recent.find(replace(plan(), out="elsewhere"), task, NAMES) is None
    nobody = replace(plan(), claim=None)
    recent.clear()
    recent.add(nobody, task, flows())
    assert recent.size == 0


def test_arrays_are_as_they_would_be_read() -> None:
    recent, here = Recent(), plan()
    large = np.zeros((2, 100, 3, 2), np.float32)
    recent.add(here, Task("match_stereo", 0), {"uv": large[0], "back": large[0].transpose(1, 0, 2)})
    found = recent.find(here, Task("match_stereo", 0), NAMES)
    assert found is not None
    assert all(array.flags.c_contiguous for array in found.values())
    assert not np.shares_memory(found["uv"], large)  # all of it would be kept
    assert found["back"].shape == (3, 100, 2)
    # a result has the types of its schema: others would not come back as they are
    depth = np.zeros((6, 8), np.float64)
    recent.add(here, Task("step", 0), {"depth": depth})
    assert recent.find(here, Task("step", 0), ("depth",)) is None
    recent.add(here, Task("step", 0), {"depth": depth.astype(np.float32)})
    assert recent.find(here, Task("step", 0), ("depth",)) is not None


def test_of_a_stage_is_remembered_what_others_need() -> None:
    assert handed_on(STAGE["steady"]) == ()
    assert set(handed_on(STAGE["step"])) == {"depth", "confidence", "moving", "source"}
    assert {"uv", "back"} <= set(handed_on(STAGE["match_stereo"]))


def test_what_a_run_has_found_it_does_not_read(tmp_path: Path) -> None:
    with patch("wideflow.pipeline.tasks.do._Folder._kept", side_effect=AssertionError("was read")):
        run_quickly(Wish(moments=4), tmp_path / "out")
    assert RECENT.size == 0  # nothing stays when it has ended
    assert served(tmp_path / "out") == whole(Wish(moments=4))


@pytest.mark.parametrize("how", ["flip", "cut", "empty", "remove"])
def test_what_is_damaged_on_the_disk_is_noticed_by_the_next_run(how: str, tmp_path: Path) -> None:
    run_quickly(Wish(), tmp_path / "out")
    spoil(next((tmp_path / "out/work/match_stereo").glob("000001.*.bin")), how, random.Random(1))
    gone: list[Task] = []
    load = Work.load

    def told(self: Work, task: str, number: int, key: str) -> Any:
        found = load(self, task, number, key)
        if found is None:
            gone.append(Task(task, number))
        return found

    with patch.object(Work, "load", told):
        run_quickly(Wish(iterations=2), tmp_path / "out")
    assert gone == [Task("match_stereo", 1)]
    assert served(tmp_path / "out") == whole(Wish(iterations=2))
