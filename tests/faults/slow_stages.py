"""The quick job in processes of its own; its stages take a while, so that a kill meets them at work.

As a program it is the run; workers of a cluster load it with ``--preload`` and have the same stages then.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from faults.quick_job import Wish, quick_stages, run_quickly
from wideflow.errors import WideflowError
from wideflow.pipeline.step import order

WISH = Wish()
_SECONDS = 0.05
_PATCHES = ExitStack()  # they last as long as the worker


def dask_setup(worker: Any) -> None:
    """What Dask calls in a worker that preloads this."""
    _PATCHES.enter_context(quick_stages(WISH))
    for name, stage in list(order.STAGE.items()):
        slow = replace(stage, function=_after_a_while(stage.function))
        _PATCHES.enter_context(patch.dict(order.STAGE, {name: slow}))


def _after_a_while(function: Any) -> Any:
    def slow(*values: Any) -> Any:
        time.sleep(_SECONDS)
        return function(*values)

    return slow


if __name__ == "__main__":
    try:
        run_quickly(WISH, sys.argv[1], sys.argv[2] or None)
    except WideflowError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
