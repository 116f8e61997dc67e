"""Which pixels are followed: a grid of a moment, those of a file, or those that were named."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import FileError, InputError
from wideflow.files.disk import AnyPath, read_bytes

_MOST = 10_000_000  # points of a file


def grid_queries(size: tuple[int, int], spacing: int, t: int) -> NDArray[np.float64]:
    """(N, 3) x, y, t: every ``spacing``-th pixel of a picture in x and y, row by row."""
    if spacing < 1:
        raise InputError(f"a grid of every {spacing}th pixel is none; give a number from 1 on")
    x = np.arange(spacing // 2, max(size[0], spacing // 2 + 1), spacing)
    y = np.arange(spacing // 2, max(size[1], spacing // 2 + 1), spacing)
    u, v = np.meshgrid(x[x < size[0]], y[y < size[1]])
    return np.stack([u.ravel(), v.ravel(), np.full(u.size, t)], axis=1).astype(np.float64)


def read_queries(path: AnyPath) -> NDArray[np.float64]:
    """(N, 3) x, y, t of a text file: a point a line, apart by commas or blanks; ``#`` begins a remark.

    Raises
    ------
    FileError
        It cannot be read, or a line is not three numbers.
    """
    text = read_bytes(path, "list of points").decode("utf-8", "replace")
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = [word for word in re.split(r"[,;\s]+", line.split("#")[0].strip()) if word]
        if not words or (number == 1 and words == ["x", "y", "t"]):
            continue
        try:
            row = [float(word) for word in words]
        except ValueError:
            row = []
        if len(row) != 3 or len(rows) >= _MOST:
            raise FileError(f"line {number} of '{path}' is not a point; write x,y,t such as 120,80,0")
        rows.append(row)
    if not rows:
        raise FileError(f"'{path}' names no point; write a line x,y,t for each, such as 120,80,0")
    return np.array(rows)


def checked_queries(points: ArrayLike, size: tuple[int, int], moments: int) -> NDArray[np.float64]:
    """(N, 3) x, y, t, each inside a picture of a moment.

    Raises
    ------
    InputError
        One is not.
    """
    try:
        queries = np.atleast_2d(np.asarray(points, np.float64))
    except (TypeError, ValueError):
        queries = np.zeros((0, 0))
    if queries.ndim != 2 or queries.shape[1:] != (3,) or not len(queries):
        raise InputError("points to follow are rows of three numbers: x, y and the moment")
    with np.errstate(invalid="ignore"):
        inside = (queries[:, :2] >= -0.5).all(axis=1) & (queries[:, :2] < np.array(size) - 0.5).all(axis=1)
        timely = (queries[:, 2] >= 0) & (queries[:, 2] < moments) & (queries[:, 2] % 1 == 0)
    for row, fits, right in zip(queries, np.asarray(inside), np.asarray(timely), strict=True):
        if not fits:
            raise InputError(
                f"({row[0]:g}, {row[1]:g}) is no pixel of a picture of {size[0]} x {size[1]}; mend it"
            )
        if not right:
            raise InputError(f"there is no moment {row[2]:g}; the result has 0 to {moments - 1}")
    return np.clip(queries, 0, [size[0] - 1, size[1] - 1, moments - 1])


def parse_query(text: str) -> list[float]:
    """x, y and t of ``120,80,0``."""
    words = text.split(",")
    try:
        row = [float(word) for word in words]
    except ValueError:
        row = []
    if len(row) != 3:
        raise InputError(f"--at {text} is not a point; write x,y,t such as 120,80,0")
    return row
