"""JSON files with checked fields: every complaint names the file and the field."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files.disk import AnyPath, read_bytes

_MAX_JSON_BYTES = 2**28


def read_json(path: AnyPath, kind: str) -> Fields:
    """The object at the top of a JSON file."""
    return parse_json(read_bytes(path, kind, limit=_MAX_JSON_BYTES), path, kind)


def parse_json(data: bytes, path: AnyPath, kind: str) -> Fields:
    """The object at the top of the contents of a JSON file."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FileError(f"'{path}' is not valid JSON ({reason}); it should be a {kind}") from error
    return Fields(value, "", path)


class Fields:
    """A JSON object under inspection: each method returns a field of the named type or raises.

    Parameters
    ----------
    value : object
        What the parser returned; must be a JSON object.
    where : str
        Place of the object in the file: "cameras[0].", or "" at the top.
    path : path
    """

    def __init__(self, value: object, where: str, path: AnyPath) -> None:
        self._where = where
        self.path = path
        if not isinstance(value, dict):
            raise self._wrong(where.rstrip(".") or "the whole file", "an object {...}")
        self._value = value

    def _wrong(self, field: str, wanted: str) -> FileError:
        return FileError(f"'{self.path}': {field} must be {wanted}; correct it in the file")

    @property
    def where(self) -> str:
        """Place of the object in the file, for a message."""
        return self._where.rstrip(".") or "the file"

    def texts(self) -> dict[str, str]:
        """Text of every field, and of its parts as "field.part"."""
        texts: dict[str, str] = {}
        for name, value in self._value.items():
            parts = value if isinstance(value, dict) else {}
            texts |= {f"{name}.{part}": _text(item) for part, item in parts.items()}
            texts[name] = "" if parts else _text(value)
        return texts

    def has(self, name: str) -> bool:
        return name in self._value

    def has_list(self, name: str) -> bool:
        return isinstance(self._value.get(name), list)

    def _get(self, name: str) -> Any:
        if name not in self._value:
            raise FileError(f"'{self.path}' lacks the field {self._where}{name}; add it to the file")
        return self._value[name]

    def text(self, name: str) -> str:
        value = self._get(name)
        if not isinstance(value, str):
            raise self._wrong(self._where + name, "a string")
        return value

    def integer(self, name: str) -> int:
        value = self._get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(self._where + name, "a whole number")
        return value

    def numbers(self, name: str, *shape: int) -> NDArray[np.float64]:
        """Nested lists of finite numbers as an array of this shape."""
        return np.array(self._flatten(self._get(name), shape, self._where + name)).reshape(shape)

    def _flatten(self, value: object, shape: tuple[int, ...], field: str) -> list[float]:
        if not shape:
            if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
                raise self._wrong(field, "a finite number")
            return [float(value)]
        if not isinstance(value, list) or len(value) != shape[0]:
            raise self._wrong(field, f"a list of {shape[0]}")
        return [x for i, item in enumerate(value) for x in self._flatten(item, shape[1:], f"{field}[{i}]")]

    def objects(self, name: str) -> list[Fields]:
        """The objects of the list ``name``."""
        value = self._get(name)
        if not isinstance(value, list):
            raise self._wrong(self._where + name, "a list of objects")
        return [Fields(item, f"{self._where}{name}[{i}].", self.path) for i, item in enumerate(value)]


def _text(value: object) -> str:
    """Numbers of a list, or of a list of lists, one after the other."""
    items = value if isinstance(value, list) else [value]
    return " ".join(" ".join(map(str, item)) if isinstance(item, list) else str(item) for item in items)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False
