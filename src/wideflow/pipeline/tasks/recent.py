"""What tasks have given a moment ago, for the stages of this process that need it next.

They would read it from the result's folder, check every bit of it and decode it, pictures 17 times. What is
remembered has the bits that this would give, and only a run that has its lock remembers: the next one, and
whoever else reads, sees what is on the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.pipeline.step.order import STAGE
from wideflow.pipeline.tasks.plan import Plan, Task
from wideflow.storage.packed import Arrays
from wideflow.storage.schema import spec

_MOST = 64 << 20  # bytes; 144 MB would hold all that is needed again at 960x540, but two lanes need the room


class Recent:
    """Arrays of tasks, at most so many bytes of them; those that were not asked for longest go first."""

    def __init__(self, most: int = _MOST) -> None:
        self._most, self._size, self._lock = most, 0, Lock()
        self._kept: dict[object, Arrays] = {}  # the newest last

    def add(self, plan: Plan, task: Task, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Remember what was kept of a task; nobody may change it from now on."""
        if plan.claim is None or not arrays or not _as_read(plan, task, arrays):
            return
        own, key = {name: _alone(array) for name, array in arrays.items()}, _key(plan, task)
        with self._lock:
            self._drop(key)
            self._kept[key] = own
            self._size += _bytes(own)
            while self._size > self._most:
                self._drop(next(iter(self._kept)))

    def find(self, plan: Plan, task: Task, names: Iterable[str]) -> Arrays | None:
        """These arrays of a task, if all of them are remembered."""
        key = _key(plan, task)
        with self._lock:
            if key not in self._kept:
                return None
            self._kept[key] = found = self._kept.pop(key)
        return {name: found[name] for name in names} if set(names) <= set(found) else None

    def drop(self, plan: Plan, tasks: Iterable[Task]) -> None:
        """Forget tasks that nobody needs any more."""
        with self._lock:
            for task in tasks:
                self._drop(_key(plan, task))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._size = 0

    @property
    def size(self) -> int:
        """Bytes."""
        return self._size

    def _drop(self, key: object) -> None:
        self._size -= _bytes(self._kept.pop(key, {}))


RECENT = Recent()


def _key(plan: Plan, task: Task) -> object:
    return plan.claim, plan.out, task, plan.key(task)


def _as_read(plan: Plan, task: Task, arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether they will be read back as they are: a result has the types and shapes of its schema."""
    if STAGE[task.name].kept != "result":
        return True
    end = "_b" if STAGE[task.name].view == "b" else ""
    sizes = plan.rig.cameras[0].size, plan.rig.cameras[1].size
    told = {name: spec(f"{name}{end}") for name in arrays}
    return all(
        array.dtype == told[name].dtype and array.shape == told[name].shape(1, sizes)[1:]
        for name, array in arrays.items()
    )


def _alone(array: NDArray[Any]) -> NDArray[Any]:
    """In C's order, as it is read back, and no part of a larger one, which it would keep."""
    plain = np.ascontiguousarray(array).reshape(array.shape)
    base = plain.base
    return plain.copy() if isinstance(base, np.ndarray) and base.nbytes > plain.nbytes else plain


def _bytes(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays.values())
