"""Rows of numbers: as CSV, as Markdown, as JSON, and compared with an earlier run."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from wideflow import __version__
from wideflow.errors import FileError
from wideflow.evaluate.score_sample import COLUMNS, MORE_IS_BETTER, NOT_COMPARED
from wideflow.files import write_bytes
from wideflow.files.disk import AnyPath, read_bytes

Value: TypeAlias = str | int | float
Row: TypeAlias = dict[str, Value]
TOLERANCE = 0.02  # change of a row's errors that counts as none: a share
_FLOOR = 0.05  # per cent, px or degrees: errors below it are as good as none


@dataclass(frozen=True)
class Verdict:
    """How a row compares with the one of the same name in an earlier run.

    Attributes
    ----------
    name : str
        What the row is about: its texts, joined.
    verdict : "better", "worse", "same", "new" or "gone"
    change : float
        Geometric mean over the row's errors of new / old, minus 1; NaN where there is nothing to compare.
    column : str
        The error that changed most.
    """

    name: str
    verdict: str
    change: float
    column: str


def open_folder(out: AnyPath) -> Path:
    """The folder for results, created if need be."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create the folder '{out}': {(error.strerror or '').lower()}") from error
    return folder


def write_tables(folder: Path, experiment: str, rows: Sequence[Row]) -> None:
    """Write ``table.csv``, ``table.md`` and ``results.json``."""
    names = columns(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    write_bytes(folder / "table.csv", text.getvalue().encode())
    write_bytes(folder / "table.md", (markdown(rows) + "\n" + legend(names)).encode())
    content = {"version": 1, "wideflow": __version__, "experiment": experiment, "rows": _plain(rows)}
    write_bytes(folder / "results.json", json.dumps(content, indent=1).encode())


def columns(rows: Iterable[Row]) -> list[str]:
    """Names of all columns, texts first, then numbers in the order in which they are known."""
    found = list(dict.fromkeys(name for row in rows for name in row))
    order = {name: number for number, name in enumerate(COLUMNS)}
    return sorted(found, key=lambda name: order.get(name, -1))


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table."""
    names = columns(rows)
    lines = [names, ["---"] * len(names)]
    lines += [[_cell(row.get(name, "")) for name in names] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def legend(names: Iterable[str]) -> str:
    """What the columns mean, one line each."""
    return "".join(f"- `{name}`: {COLUMNS[name]}\n" for name in names if name in COLUMNS)


def _cell(value: Value) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _plain(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """JSON knows no NaN."""
    return [
        {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()} for row in rows
    ]


def read_results(path: AnyPath) -> list[Row]:
    """The rows of a ``results.json``.

    Raises
    ------
    FileError
        Missing, damaged, or no results.
    """
    data = read_bytes(path, "results.json of 'wideflow evaluate'", limit=2**28)
    try:
        rows = json.loads(data.decode())["rows"]
        return [{k: math.nan if v is None else v for k, v in row.items()} for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"'{path}' is not a results.json of 'wideflow evaluate'; check the path") from error


def compare(rows: Sequence[Row], before: Sequence[Row]) -> list[Verdict]:
    """Judge every row by the errors that it shares with the row of the same texts in an earlier run.

    A row is better or worse if the geometric mean of new over old of its errors leaves 1 by more than 2 %.
    """
    old = {_name(row): row for row in before}
    verdicts = []
    for row in rows:
        name = _name(row)
        if name not in old:
            verdicts.append(Verdict(name, "new", math.nan, ""))
            continue
        verdicts.append(_verdict(name, row, old[name]))
    here = {_name(row) for row in rows}
    return verdicts + [Verdict(name, "gone", math.nan, "") for name in old if name not in here]


def write_comparison(folder: Path, verdicts: Sequence[Verdict]) -> None:
    """Write ``comparison.md``."""
    lines = [("row", "verdict", "change of its errors", "most changed"), ("---",) * 4]
    for one in verdicts:
        change = "" if math.isnan(one.change) else f"{100 * one.change:+.1f} %"
        lines.append((one.name, one.verdict, change, one.column))
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    note = f"\nA change of at most {TOLERANCE:.0%}, up or down, counts as the same.\n"
    write_bytes(folder / "comparison.md", (text + note).encode())


def _name(row: Row) -> str:
    return " ".join(str(value) for value in row.values() if isinstance(value, str))


def _verdict(name: str, new: Row, old: Row) -> Verdict:
    logs = {}
    for column, value in new.items():
        before = old.get(column)
        if column in NOT_COMPARED or column not in COLUMNS or isinstance(value, str):
            continue
        if before is None or isinstance(before, str) or math.isnan(before):
            continue
        ratio = math.inf if math.isnan(value) else _error(column, value) / _error(column, before)
        logs[column] = math.log(ratio) if math.isfinite(ratio) else math.log(1e6)
    if not logs:
        return Verdict(name, "same", math.nan, "")
    mean = sum(logs.values()) / len(logs)
    word = "worse" if mean > math.log1p(TOLERANCE) else "better" if mean < -math.log1p(TOLERANCE) else "same"
    return Verdict(name, word, math.expm1(mean), max(logs, key=lambda column: abs(logs[column])))


def _error(column: str, value: float) -> float:
    """The number as an error that falls to a floor as the result gets perfect."""
    return _FLOOR + (100 - value if column in MORE_IS_BETTER else value)
