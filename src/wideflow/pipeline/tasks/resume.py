"""What an earlier run has left to do, and why what it had done is done again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from wideflow.pipeline.step.order import STAGE
from wideflow.pipeline.tasks.do import noted
from wideflow.pipeline.tasks.plan import Plan, Task
from wideflow.storage.schema import ARRAYS
from wideflow.storage.store import Store

# causes that lie in what the user asks for; all others are news to them
_OTHER_PLAN, _MORE_ARRAYS = (
    "the settings, the frames or the cameras have changed",
    "more arrays are asked for",
)


class Reason(NamedTuple):
    """Why moments that were there are computed again, as a sentence, and whether the user asked for that."""

    words: str
    asked: bool


@dataclass(frozen=True)
class Survey:
    """State of a result before a run.

    Attributes
    ----------
    tasks : tuple of Task
        To do, in the order of the plan.
    reasons : tuple of Reason
        One for each cause for which moments that were there are computed again.
    """

    tasks: tuple[Task, ...]
    reasons: tuple[Reason, ...]


def survey(plan: Plan, store: Store | None) -> Survey:
    """Look through all that a store holds, every byte of it, for what the plan can use.

    Whatever it cannot use is taken for missing from now on: a reader never sees moments of two plans.
    """
    targets = [task for task in plan.tasks() if STAGE[task.name].kept == "result"]
    causes: dict[str, list[int]] = {}
    pending: set[Task] = set()
    for task in targets:
        cause = "" if store is None else _cause(plan, task, store)
        if cause is None:
            continue
        pending.add(task)
        if cause and store is not None:
            store.forget(plan.slot(task), task.t)
            causes.setdefault(cause, []).append(task.t)
    chosen: set[Task] = set()
    for task in pending:
        _gather(plan, task, chosen)
    reasons = (
        Reason(f"{_moments(set(times))} computed again: {cause}", cause in (_OTHER_PLAN, _MORE_ARRAYS))
        for cause, times in causes.items()
    )
    return Survey(tuple(task for task in plan.tasks() if task in chosen), tuple(reasons))


def _gather(plan: Plan, task: Task, chosen: set[Task]) -> None:
    """Add a task, and of the work that it needs what is not done."""
    chosen.add(task)
    for need in plan.needs(task):
        if need not in chosen and STAGE[need.name].kept == "work" and noted(plan, need) is None:
            _gather(plan, need, chosen)


def _cause(plan: Plan, task: Task, store: Store) -> str | None:
    """Why a moment is to be done: empty if it never was; None if it is done and whole."""
    slot, t = plan.slot(task), task.t
    noted = store.noted(slot, t)
    if noted is None:
        wrong = store.damage(slot, t)
        return "" if wrong == "missing" else wrong
    if noted["key"] != plan.key(task):
        made = noted["note"].get("made", {})
        newer = [stage for stage, number in plan.made(task).items() if made.get(stage, number) != number]
        if newer:
            gives = "gives" if len(newer) == 1 else "give"
            return f"{' and '.join(newer)} of this version {gives} other values"
        return _OTHER_PLAN
    more = [name for name in plan.arrays(task) if name not in noted["arrays"]]
    if more:
        new = [name for name in more if name in ARRAYS]
        return f"this version stores {' and '.join(new)} too" if new else _MORE_ARRAYS
    return store.damage(slot, t)


def _moments(times: Iterable[int]) -> str:
    """ "moment 3 is", "moments 0 to 4 and 7 are"."""
    parts: list[list[int]] = []
    for t in sorted(times):
        if parts and parts[-1][-1] == t - 1:
            parts[-1][1:] = [t]
        else:
            parts.append([t])
    texts = [" to ".join(map(str, part)) for part in parts]
    if texts == [str(parts[0][0])]:
        return f"moment {texts[0]} is"
    words = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    return f"moments {words} are"
