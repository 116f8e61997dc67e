"""What a run has done so far: for each task a file named after all that its result depends on.

A task is done when its note is there, and the note is written last, so that a process may be killed at any
moment. A task whose inputs, settings or algorithm have changed has another key: its old files are then
removed. What is damaged is taken for not done; so nothing here waits for the disk.
"""

from __future__ import annotations

import logging
from typing import Any

from wideflow.errors import FileError
from wideflow.storage.lock import Claim
from wideflow.storage.packed import Arrays, is_whole, pack, unpack
from wideflow.storage.place import Place
from wideflow.storage.sealed import seal, unseal

LOG = logging.getLogger("wideflow")
SMALL = ("sync", "check", "calibration")  # tasks whose files are notes alone
STEPS = "calibration_steps"  # folders of arrays, see `Parts`


class Work:
    """The folder ``work`` of a result.

    Parameters
    ----------
    place : Place
        Where the result lies.
    claim : Claim, optional
        Of who writes: nothing is noted if another has taken over.
    """

    def __init__(self, place: Place, claim: Claim | None = None) -> None:
        self.place, self._claim = place, claim

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
            self.place.write(f"{name}.bin", pack(arrays), wait=False)
        if self._claim is not None:
            self._claim.check(self.place)
        self.place.write(f"{name}.json", seal(note), wait=False)
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

    def problems(self) -> list[str]:
        """A line for each file that is damaged or gone, every byte of which is read."""
        found = []
        for task in self.place.names("work"):
            names = self.place.names(f"work/{task}")
            for name in names:
                path = f"work/{task}/{name}"
                if task == STEPS:
                    found += [
                        f"{path}/{each}"
                        for each in self.place.names(path)
                        if not self._whole(f"{path}/{each}")
                    ]
                elif not self._whole(path) or (
                    task not in SMALL and name.endswith(".json") and self._lacks_arrays(path, names)
                ):
                    found.append(path)
        return [f"{path} is damaged or lacks its arrays" for path in found]

    def _whole(self, path: str) -> bool:
        content = self.place.find(path) or b""
        return is_whole(content) if path.endswith(".bin") else unseal(content) is not None

    def _lacks_arrays(self, path: str, names: list[str]) -> bool:
        """Whether a note tells of arrays that are gone; one that says why nothing was found has none."""
        note = unseal(self.place.find(path)) or {}
        return "unknown" not in note and f"{path.rsplit('/', 1)[1][:-5]}.bin" not in names

    def discard(self) -> None:
        """Remove what only a run that goes on needs; what sync and calibration found is small and stays."""
        for task in self.place.names("work"):
            if task not in SMALL:
                self.place.remove(f"work/{task}")


def _name(task: str, number: int, key: str) -> str:
    return f"work/{task}/{number:06d}.{key}"
