"""How much disk a run will need, told before it begins."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

import numpy as np

from wideflow.errors import FileError
from wideflow.pipeline.step.order import STAGE
from wideflow.pipeline.tasks.do import noted
from wideflow.pipeline.tasks.plan import Plan, Task
from wideflow.progress import Progress
from wideflow.storage.place import Place
from wideflow.storage.schema import spec

# of real pictures, compressed: arrays of a result have 0.82 of their size, kept flows 4 to 7 bytes a pixel
_COMPRESSED = 0.9
_KEPT_FLOW = 7
LOG = logging.getLogger("wideflow")


def forecast(plan: Plan, tasks: Sequence[Task]) -> int:
    """Bytes that these tasks will write, about, and rather too many than too few."""
    sizes = plan.rig.cameras[0].size, plan.rig.cameras[1].size
    total = 0.0
    for task in tasks:
        if STAGE[task.name].kept == "work":
            total += _KEPT_FLOW * math.prod(sizes[task.name.endswith("_b")])
        for name in plan.arrays(task):
            described = spec(name)
            values = math.prod(described.shape(1, sizes)[1:])
            total += _COMPRESSED * values * np.dtype(described.dtype).itemsize
    return int(total)


def require_space(place: Place, plan: Plan, tasks: Sequence[Task], progress: Progress) -> None:
    """Tell how much disk the tasks need, and refuse to begin if it is not there.

    Raises
    ------
    FileError
        There is less.
    """
    undone = [task for task in tasks if noted(plan, task) is None]
    needed, free = forecast(plan, undone), place.free()
    if free is not None and needed > free:
        raise FileError(
            f"'{place}' needs about {_words(needed)} more, but the disk has {_words(free)} left; free some "
            "space, choose another place, fewer --frames or a smaller --size"
        )
    if undone:
        text = f"the result needs about {_words(needed)} of disk"
        LOG.info("%s", text)
        progress(0, len(tasks), text)


def _words(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{max(count / 1e6, 0.1):.1f} MB"
