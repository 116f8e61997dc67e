"""What a run has done so far: for each task a file named after all that its result depends on.

A task is done when its note is there, and the note is written last, so that a process may be killed at any
moment. A task whose inputs or settings have changed has another key: its old files are then removed.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files.place import Place

Arrays = dict[str, NDArray[Any]]
_ROUND = 256  # flows are kept to this fraction of a pixel: it halves their files


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
        name = _name(task, number, key)
        if not self.place.exists(f"{name}.json"):
            return None
        return dict(json.loads(self.place.read(f"{name}.json")))

    def save(
        self, task: str, number: int, key: str, note: dict[str, Any], arrays: Arrays | None = None
    ) -> None:
        """Keep the result of a task, then note that it is done; what it had with another key goes."""
        folder, name = f"work/{task}", _name(task, number, key)
        old = [each for each in self.place.names(folder) if each.startswith(f"{number:06d}.")]
        if arrays is not None:
            self.place.write(f"{name}.bin", pack(arrays))
        self.place.write(f"{name}.json", json.dumps(note).encode())
        for each in old:
            if key not in each:
                self.place.remove(f"{folder}/{each}")

    def load(self, task: str, number: int, key: str) -> Arrays:
        """The arrays of a task that is done."""
        name = f"{_name(task, number, key)}.bin"
        return unpack(self.place.read(name), f"{self.place}/{name}")

    def forget(self, task: str, first: int = 0) -> None:
        """Take the tasks of this name from number ``first`` on for not done."""
        for name in self.place.names(f"work/{task}"):
            if name.endswith(".json") and int(name.split(".")[0]) >= first:
                self.place.remove(f"work/{task}/{name}")


def _name(task: str, number: int, key: str) -> str:
    return f"work/{task}/{number:06d}.{key}"


def pack(arrays: Arrays) -> bytes:
    """Arrays as one compressed file; floats are rounded to 1/256."""
    from numcodecs.blosc import Blosc

    codec = Blosc("zstd", 3, Blosc.BITSHUFFLE)
    heads, bodies = [], []
    for name, array in arrays.items():
        rounded = np.rint(array * _ROUND) / np.float32(_ROUND) if array.dtype == np.float32 else array
        body = bytes(codec.encode(np.ascontiguousarray(rounded, array.dtype)))
        heads.append([name, array.dtype.str, array.shape, len(body)])
        bodies.append(body)
    head = json.dumps(heads).encode()
    return b"".join([len(head).to_bytes(4, "little"), head, *bodies])


def unpack(data: bytes, name: str) -> Arrays:
    """The arrays of `pack`; ``name`` is for messages."""
    from numcodecs.blosc import Blosc

    codec, arrays = Blosc(), {}
    try:
        start = 4 + int.from_bytes(data[:4], "little")
        for array, dtype, shape, size in json.loads(data[4:start]):
            if start + size > len(data):
                raise ValueError("cut short")
            body = codec.decode(data[start : start + size])
            arrays[array] = np.frombuffer(body, dtype).reshape(shape).copy()
            start += size
    except (ValueError, RuntimeError, TypeError) as error:
        raise FileError(f"'{name}' is damaged; remove it and start the run again") from error
    return arrays
