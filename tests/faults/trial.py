"""One fault, and what became of a result: same bits or said to be missing, and the next run mends it."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from faults.injection import Killed, injected
from faults.quick_job import Wish, run_quickly, served
from wideflow.errors import WideflowError
from wideflow.storage.result import Result
from wideflow.storage.schema import OF_B, OPTIONAL


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory if there is one: waiting for a disk is no part of the test."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="wideflow-faults-", dir=base)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=64)
def whole(wish: Wish) -> dict[str, bytes]:
    """What an uninterrupted run serves."""
    with scratch() as folder:
        run_quickly(wish, folder / "out")
        return served(folder / "out")


def operations(wish: Wish, out: Path | str, workers: str | None = None) -> int:
    """How many a run needs."""
    with injected() as fault:
        run_quickly(wish, out, workers)
    return fault.count


def suffer(wish: Wish, out: Path | str, kind: str, at: int, workers: str | None = None) -> str:
    """Run into a fault; how that ended: "done", "killed", or the sentence that was said."""
    with injected(kind, at), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run_quickly(wish, out, workers)
        except Killed:
            return "killed"
        except WideflowError as error:
            return str(error)
    return "done"


def check_served(out: Path | str, *wishes: Wish) -> None:
    """All that is served is what an uninterrupted run of one and the same wish serves."""
    found = served(out)
    every = [whole(replace(wish, keep=(*OPTIONAL, *OF_B))) for wish in wishes]
    wrong = [[name for name, content in found.items() if right.get(name) != content] for right in every]
    assert any(names == [] for names in wrong), f"silently wrong: {min(wrong, key=len)}"


def mend(wish: Wish, out: Path | str, workers: str | None = None) -> None:
    """Run again without a fault: everything is there, with the same bits, and nothing is left behind."""
    with injected(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_quickly(wish, out, workers)
    kept = Result(str(out)).kept  # what was asked for once is kept
    assert set(wish.keep) <= set(kept)
    assert served(out) == whole(replace(wish, keep=kept))
    if isinstance(out, Path):
        left = [path.name for path in out.rglob(".*") if path.name != ".lock"]
        assert left == [], "temporary files are left behind"


def fault_and_mend(wish: Wish, out: Path | str, kind: str, at: int, workers: str | None = None) -> str:
    """The whole trial."""
    end = suffer(wish, out, kind, at, workers)
    assert end in ("done", "killed") or "\n" not in end
    check_served(out, wish)
    mend(wish, out, workers)
    return end
