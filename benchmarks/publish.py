"""``python -m benchmarks.publish RESULTS``: tables, figures and pictures of experiments into docs/.

A page has a comment ``<!-- table NAME: column, column -->`` where the table of the experiment NAME goes, up
to the next ``<!-- end -->``; ``table NAME scene=mean: ...`` takes some rows, and
``<!-- pivot NAME: rows, columns, value -->`` makes a table of two ways. Figures become
``docs/results/NAME.svg``; pictures that a page shows become ``docs/results/NAME--PICTURE.jpg``.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import cv2

from wideflow.evaluate.table import Row, markdown, read_results

DOCS = Path(__file__).parents[1] / "docs"
_TABLE = re.compile(
    r"(<!-- (table|pivot) ([\w-]+)(?: (\w+)=(\w+))?: ([^>]*?) -->\n)(.*?)(<!-- end -->)", re.DOTALL
)
_SIZE = re.compile(r"(<!-- size -->).*?(<!-- end -->)")
_PICTURE = re.compile(r"\(results/([\w-]+?)--([\w.-]+)\.jpg\)")


def publish(results: Path, docs: Path = DOCS, size: str = "") -> None:
    """Bring every page of ``docs`` up to date with what ``results`` has; the rest stays.

    ``size`` is that of the rendered pictures; pages name it between ``<!-- size -->`` and ``<!-- end -->``.
    """
    target = docs / "results"
    target.mkdir(exist_ok=True)
    for folder in sorted(path.parent for path in results.glob("*/results.json")):
        if (folder / "figure.svg").exists():
            shutil.copyfile(folder / "figure.svg", target / f"{folder.name}.svg")
    for page in sorted(docs.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = _TABLE.sub(lambda match: _filled(match, results), text)
        if size:
            new = _SIZE.sub(rf"\g<1>{size}\g<2>", new)
        if new != text:
            page.write_text(new, encoding="utf-8")
        for name, picture in _PICTURE.findall(text):
            source = results / name / f"{picture}.png"
            if source.exists():
                _shrink(source, target / f"{name}--{picture}.jpg")


def _filled(match: re.Match[str], results: Path) -> str:
    head, kind, name, key, value, columns, _, end = match.groups()
    path = results / name / "results.json"
    if not path.exists():
        return match[0]
    rows = [row for row in read_results(path) if key is None or row.get(key) == value]
    names = [column.strip() for column in columns.split(",")]
    text = table(rows, names) if kind == "table" else pivot(rows, *names)
    return f"{head}\n{text}\n{end}"  # a table needs empty lines around it


def table(rows: list[Row], columns: list[str]) -> str:
    """These columns of the rows, in this order."""
    chosen = [{name: row[name] for name in columns if name in row} for row in rows]
    return markdown(chosen)


def pivot(rows: list[Row], down: str, across: str, value: str) -> str:
    """One value of every row: a line for each ``down``, a column for each ``across``."""
    lines: dict[str, Row] = {}
    for row in rows:
        if value in row:
            lines.setdefault(str(row[down]), {down: row[down]})[str(row[across])] = row[value]
    return markdown(list(lines.values()))


def _shrink(source: Path, target: Path) -> None:
    """A JPEG of at most 1200 px width."""
    picture = cv2.imread(str(source))
    scale = min(1.0, 1200 / picture.shape[1])
    small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(target), small, [cv2.IMWRITE_JPEG_QUALITY, 85])


if __name__ == "__main__":
    publish(Path(sys.argv[1]))
