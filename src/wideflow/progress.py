"""How far the work has come: a bar on a terminal, plain lines anywhere else, nothing if quiet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeAlias

# steps done, steps in all, what comes next
Progress: TypeAlias = Callable[[int, int, str], None]


def silent(done: int, total: int, text: str) -> None:
    """The progress of work that nobody watches."""


@contextmanager
def show_progress(quiet: bool = False) -> Iterator[Progress]:
    """Give a function to call with (steps done, steps in all, what comes next); it writes to stderr."""
    if quiet:
        yield silent
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _bar() as report:
            yield report
    else:
        yield _lines(sys.stderr)


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text)


def _lines(stream: TextIO) -> Progress:
    """One line whenever another tenth is done; work that begins anew is counted anew."""
    last = -1

    def report(done: int, total: int, text: str) -> None:
        nonlocal last
        tenth = 10 * done // max(total, 1)
        if tenth != last:
            last = tenth
            print(f"{100 * done // max(total, 1):3d} %  {text}", file=stream, flush=True)

    return report
