"""The YAML of OpenCV's calibrations: a map of numbers, lists and matrices. No other YAML is understood.

OpenCV's own parser is not used: on a damaged YAML file it may loop forever, on a nested one it crashes.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

_KEY = re.compile(r"([ \t]*)([A-Za-z_][\w-]*)[ \t]*:(?=\s|$)(.*)")


def yaml_texts(text: str) -> dict[str, str]:
    """Text of every field, and of its parts as "field.part"."""
    texts: dict[str, list[str]] = {}
    field = name = ""
    for line in text.splitlines():
        if line.startswith(("%", "---", "...", "#")):
            continue
        found = _KEY.match(line)
        if found:
            field = field if found[1] else found[2]
            name = f"{field}.{found[2]}" if found[1] else field
        texts.setdefault(name, []).append(found[3] if found else line)
    return {name: " ".join(lines) for name, lines in texts.items()}


def yaml_matrix(name: str, matrix: NDArray[np.float64]) -> list[str]:
    """The lines of a matrix; its numbers read back bit for bit."""
    rows, columns = matrix.shape
    data = ", ".join(map(repr, matrix.ravel().tolist()))
    return [
        f"{name}: !!opencv-matrix",
        f"   rows: {rows}",
        f"   cols: {columns}",
        "   dt: d",
        f"   data: [ {data} ]",
    ]
