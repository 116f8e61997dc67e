"""Run the stages on every sample of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wideflow.config import Config
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.datasets import DATASETS
from wideflow.evaluate.panels import panels
from wideflow.evaluate.run_stages import run_stages
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import write_bytes, write_image
from wideflow.files.disk import AnyPath
from wideflow.progress import Progress, silent

_HEADLINES = ("stereo_bad3", "optical_bad3")


def evaluate_dataset(
    name: str,
    root: AnyPath,
    out: AnyPath,
    config: Config,
    stage: str = "all",
    progress: Progress = silent,
) -> list[Row]:
    """Score every sample below ``root`` after each stage.

    Writes ``table.csv``, ``table.md``, ``results.json``, ``figure.svg`` and one picture a sample to ``out``.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    root, out : path
        The data, and the folder for what is written.
    config : Config
        Settings of all stages.
    stage : "match", "fill", "refine" or "all"
        Whose results are scored.
    progress : callable
        Told (samples done, samples in all, what comes next).

    Returns
    -------
    list of dict
        A row per sample and stage, and the means over all samples at the end.
    """
    dataset = DATASETS[name]
    sources = dataset.read(root)
    folder = open_folder(out)
    rows: list[Row] = []
    for done, source in enumerate(sources):
        progress(done, len(sources), source.name)
        sample = source.load()
        results = run_stages(sample, config, stage)
        rows += [
            {"scene": source.name, "stage": result.stage, **score_sample(sample, result, dataset.kitti)}
            for result in results
        ]
        write_image(folder / f"{source.name.replace(' ', '_')}.png", panels(sample, results))
    rows += mean_rows(rows, "stage")
    write_tables(folder, name, rows)
    write_headlines(folder, rows, "stage", name)
    progress(len(sources), len(sources), "done")
    return rows


def mean_rows(rows: Sequence[Row], by: str) -> list[Row]:
    """The mean of every column over all scenes, for each value of the column ``by``."""
    if len({row["scene"] for row in rows}) < 2:
        return []
    means: list[Row] = []
    for kind in dict.fromkeys(row[by] for row in rows):
        group = [row for row in rows if row[by] == kind]
        mean: Row = {"scene": "mean", by: kind}
        for name in dict.fromkeys(name for row in group for name in row):
            values = [value for row in group if isinstance(value := row.get(name), int | float)]
            finite = [value for value in values if value == value]
            if values and finite:
                mean[name] = sum(finite) / len(finite)
        means.append(mean)
    return means


def write_headlines(folder: Path, rows: Sequence[Row], by: str, title: str) -> None:
    """``figure.svg``: bars of the share of wrong pixels, one group a scene, one colour a value of ``by``."""
    scenes = [str(scene) for scene in dict.fromkeys(row["scene"] for row in rows)]
    kinds = [str(kind) for kind in dict.fromkeys(row[by] for row in rows)]
    table = {(row["scene"], row[by]): row for row in rows}
    charts = []
    for column in _HEADLINES:
        lines = {
            kind: [float(table.get((scene, kind), {}).get(column, "nan")) for scene in scenes]
            for kind in kinds
        }
        lines = {kind: values for kind, values in lines.items() if any(v == v for v in values)}
        if lines:
            flow = column.split("_")[0]
            charts.append(
                Chart(f"{title}: {flow} flow", "scene", "wrong by > 3 px, %", scenes, lines, bars=True)
            )
    if charts:
        many = len(scenes) >= 8
        write_bytes(folder / "figure.svg", draw(charts, *((1, 1000.0) if many else ())).encode())
