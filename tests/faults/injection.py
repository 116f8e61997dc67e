"""A layer over the disk and over object storage that lets the n-th operation fail, and what follows it.

A process that is killed does nothing more to its files: so from the moment of a "kill" on, every operation
ends with `Killed`, also those of blocks that clean up.
"""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from wideflow.storage import lock, place
from wideflow.storage.disk import Disk

FAULTS = ("kill", "torn", "fail", "full", "late", "short")


class Killed(BaseException):
    """The process has ended here."""


@dataclass
class Fault:
    """What happens at which operation.

    Attributes
    ----------
    kind : str
        "kill" before the operation; "torn": kill in the middle of it; "fail": it fails once with an
        input/output error; "full": from now on nothing can be written; "late": it takes longer; "short":
        half of what is written is lost, and nobody is told.
    at : int
        Number of the operation, from 0.
    """

    kind: str = ""
    at: int = -1
    count: int = 0
    dead: bool = False
    happened: str = ""
    guard: Any = field(default_factory=threading.Lock)

    def before(self, name: str, writes: bool) -> str:
        """Count an operation; what is to happen to it beyond what this does itself."""
        with self.guard:
            number, self.count = self.count, self.count + 1
        if self.dead:
            raise Killed
        if number == self.at:
            self.happened = name
        if number < self.at or not self.kind:
            return ""
        if self.kind == "full" and writes:
            raise OSError(errno.ENOSPC, "No space left on device")
        if number != self.at:
            return ""
        if self.kind == "kill" or (self.kind == "torn" and not writes):
            self.dead = True
            raise Killed
        if self.kind == "fail":
            raise OSError(errno.EIO, "Input/output error")
        if self.kind == "late":
            time.sleep(0.01)
        return self.kind


class FaultyDisk(Disk):
    """The disk with a fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault

    def write(self, path: Path, content: bytes) -> None:
        what = self.fault.before("write", True)
        if what in ("torn", "short"):
            content = content[: len(content) // 2]
        super().write(path, content)
        if what == "torn":
            self.fault.dead = True
            raise Killed


def _counted(name: str, writes: bool) -> Any:
    def operation(self: FaultyDisk, *values: Any) -> Any:
        what = self.fault.before(name, writes)
        found = getattr(Disk, name)(self, *values)
        if what == "torn":
            self.fault.dead = True
            raise Killed
        return found

    return operation


for _name in ("is_file", "is_folder", "read", "names"):
    setattr(FaultyDisk, _name, _counted(_name, False))
for _name in ("make_folder", "sync", "rename", "sync_folder"):
    setattr(FaultyDisk, _name, _counted(_name, True))
for _name in ("remove_file", "remove_folder"):
    setattr(FaultyDisk, _name, _counted(_name, False))


class FaultyFiles:
    """A file system of fsspec with a fault."""

    def __init__(self, inner: Any, fault: Fault) -> None:
        self._inner, self._fault = inner, fault

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._inner, name)
        if name not in ("cat_file", "pipe_file", "exists", "ls", "rm"):
            return inner

        def operation(*values: Any, **named: Any) -> Any:
            what = self._fault.before(name, name == "pipe_file")
            if what == "short" and name == "pipe_file":
                values = (values[0], values[1][: len(values[1]) // 2], *values[2:])
            found = inner(*values, **named)
            if what == "torn":  # a service writes an object whole or not at all
                self._fault.dead = True
                raise Killed
            return found

        return operation


@contextmanager
def injected(kind: str = "", at: int = -1) -> Iterator[Fault]:
    """Everything that storage does goes through a fault while the block runs."""
    fault = Fault(kind, at)
    connect = place._connect

    def faulty(url: str) -> tuple[Any, str]:
        files, root = connect(url)
        return FaultyFiles(files, fault), root

    with (
        patch.object(place, "DISK", FaultyDisk(fault)),
        patch.object(place, "_connect", faulty),
        patch.object(lock, "PATIENCE", 0.05),
        patch.object(lock, "BEAT", 3600.0),
    ):
        yield fault
