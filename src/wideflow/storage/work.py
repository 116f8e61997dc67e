"""What a run has done so far: for each task a file named after all that its result depends on.

A task is done when its note is there, and the note is written last, so that a process may be killed at any
moment. A task whose inputs, settings or algorithm have changed has another key: its old files are then
removed. What is damaged is taken for not done.
"""

from __future__ import annotations

import logging
from typing import Any

from wideflow.errors import FileError
from wideflow.storage.packed import Arrays, pack, unpack
from wideflow.storage.place import Place
from wideflow.storage.sealed import seal, unseal

LOG = logging.getLogger("wideflow")
SMALL = ("sync", "check", "calibration")  # tasks whose files are notes alone


class Work:
    """The folder ``work`` of a result.

    Parameters
    ----------
    place : Place
        Where the result lies.
    """

    def __init__(self, place: Place) -> None:
        self.place = place

    def note(self, task: str, number: int, key: str) -> dict[str, Any] | None:
        """What was noted when the task was done; None if it is yet to do."""
        content = self.place.find(f"{_name(task, number, key)}.json")
        if content is None:
            return None
        note = unseal(content)
        if note is None:
            LOG.warning("%s %d: what was noted of it is damaged; it is computed again", task, number)
        return note

    def save(
        self, task: str, number: int, key: str, note: dict[str, Any], arrays: Arrays | None = None
    ) -> None:
        """Keep the result of a task, then note that it is done; what it had with another key goes."""
        folder, name = f"work/{task}", _name(task, number, key)
        old = [each for each in self.place.names(folder) if each.startswith(f"{number:06d}.")]
        if arrays is not None:
            self.place.write(f"{name}.bin", pack(arrays))
        self.place.write(f"{name}.json", seal(note))
        for each in old:
            if key not in each:
                self.place.remove(f"{folder}/{each}")

    def load(self, task: str, number: int, key: str) -> Arrays | None:
        """The arrays of a task that is done; None if they are damaged or gone, and then it is not done."""
        name = f"{_name(task, number, key)}.bin"
        content = self.place.find(name)
        try:
            if content is not None:
                return unpack(content, f"{self.place}/{name}")
            LOG.warning("'%s/%s' is gone; it is computed again", self.place, name)
        except FileError as error:
            LOG.warning("%s", error)
        self.place.remove(f"{_name(task, number, key)}.json")
        return None

    def discard(self) -> None:
        """Remove what only a run that goes on needs; what sync and calibration found is small and stays."""
        for task in self.place.names("work"):
            if task not in SMALL:
                self.place.remove(f"work/{task}")


def _name(task: str, number: int, key: str) -> str:
    return f"work/{task}/{number:06d}.{key}"
