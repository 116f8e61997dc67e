"""What safety costs: the share of a run that goes into checksums and into waiting for the disk.

Clocks inside the run, around the operations themselves: others on the machine make both the run and the
waiting longer, so the share is nearly the same on a busy one.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from wideflow.config import Config
from wideflow.demo import CLIPS
from wideflow.pipeline.run import run
from wideflow.storage import checked_files, packed, store, work
from wideflow.storage.disk import Disk
from wideflow.storage.lock import Claim

_FUNCTIONS = {
    "waiting for the disk": ((Disk, "sync"), (Disk, "sync_folder")),
    "checksums": (
        (store, "checksum"),
        (checked_files, "checksum"),
        (packed, "digest"),
        *((module, name) for module in (store, checked_files, work) for name in ("seal", "unseal")),
    ),
    "looking at the lock": ((Claim, "check"),),
}


def main() -> None:
    spent: Counter[str] = Counter()
    busy = threading.local()

    def clocked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*values: Any, **named: Any) -> Any:
            if getattr(busy, "inside", False):  # one inside another counts once
                return function(*values, **named)
            busy.inside, begun = True, time.perf_counter()
            try:
                return function(*values, **named)
            finally:
                spent[name] += time.perf_counter() - begun
                busy.inside = False

        return timed

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, ExitStack() as stack:
        for what, functions in _FUNCTIONS.items():
            for owner, name in functions:
                stack.enter_context(patch.object(owner, name, clocked(what, getattr(owner, name))))
        begun, computing = time.perf_counter(), time.process_time()
        run(
            CLIPS / "a.mp4",
            CLIPS / "b.mp4",
            Path(folder) / "out",
            Config(),
            frames=slice(16, 22, 1),
            size=640,
            report=False,
            anyway=True,
        )
        seconds, computing = time.perf_counter() - begun, time.process_time() - computing
    for what, duration in spent.most_common():
        print(f"{what}: {duration:.2f} s, {100 * duration / seconds:.2f} % of the run")
    total = sum(spent.values())
    print(
        f"in all {100 * total / seconds:.2f} % of {seconds:.0f} s, "
        f"{100 * total / computing:.2f} % of its computing"
    )
