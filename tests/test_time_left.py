"""How long a run says that it still takes, held against a clock of its own."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from wideflow.pipeline.step.order import STAGE
from wideflow.pipeline.tasks import schedule
from wideflow.pipeline.tasks.plan import Plan, Task

STAGES = ("match_optical_a", "match_optical_b")  # of one effort


def test_two_tasks_that_end_together_both_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lanes, 10 s a pair of tasks: of twenty moments, eight are done, so that twelve take 120 s."""
    now = [0.0]
    monkeypatch.setattr(schedule, "time", SimpleNamespace(monotonic=lambda: now[0]))
    tasks = [Task(name, t) for t in range(20) for name in STAGES]
    assert STAGE[STAGES[0]].effort == STAGE[STAGES[1]].effort
    clock = schedule._Clock(tasks)
    for t in range(8):
        pair = [Task(name, t) for name in STAGES]
        for task in pair:
            clock.begin(task)
        now[0] += 10
        for task in pair:
            clock.add(task)
            now[0] += 0.001
    plan = cast(Plan, cast(Any, range(20)))
    assert clock.text(Task(STAGES[0], 8), plan).endswith("about 2 min left")


def test_tasks_that_were_done_before_say_nothing_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(schedule, "time", SimpleNamespace(monotonic=lambda: now[0]))
    tasks = [Task(name, t) for t in range(20) for name in STAGES]
    clock = schedule._Clock(tasks)
    plan = cast(Plan, cast(Any, range(20)))
    for task in tasks[:20]:  # of the first half
        clock.begin(task)
        clock.add(task)
    assert "left" not in clock.text(tasks[20], plan)
    for task in tasks[20:30]:
        clock.begin(task)
        now[0] += 5
        clock.add(task)
    assert clock.text(tasks[30], plan).endswith("about 50 s left")
