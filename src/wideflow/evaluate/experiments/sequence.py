"""The paper's ground-truth evaluation: errors of each stage, frame by frame."""

from __future__ import annotations

from wideflow.config import Config
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.datasets import steps_of
from wideflow.evaluate.panels import panels
from wideflow.evaluate.run_dataset import mean_rows
from wideflow.evaluate.run_stages import MEASURED, run_stages
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import write_bytes, write_image
from wideflow.files.disk import AnyPath
from wideflow.progress import Progress, silent

_TITLES = {"mae_d": "MAE of stereo flow", "rmse": "RMSE of scene flow", "aae": "AAE of scene flow"}
_UNITS = {"mae_d": "px", "rmse": "px", "aae": "degrees"}


def evaluate_sequence(root: AnyPath, out: AnyPath, config: Config, progress: Progress = silent) -> list[Row]:
    """MAE_d, RMSE and AAE after matching, filling and refinement of every time step of a sequence.

    ``root`` is a handheld scene of several frames, a folder of scenes, or a Daimler set. Writes the
    tables, ``figure.svg`` (one line per stage over the frames) and the picture of the first step to ``out``.
    """
    sources = steps_of(root)
    folder = open_folder(out)
    rows: list[Row] = []
    for done, source in enumerate(sources):
        progress(done, len(sources), source.name)
        sample = source.load()
        results = run_stages(sample, config)
        rows += [{"scene": source.name, "stage": r.stage, **score_sample(sample, r)} for r in results]
        if not done:
            write_image(folder / "first.png", panels(sample, results))
    few = len(sources) < 3
    charts = [
        Chart(
            title,
            "step",
            _UNITS[column],
            [source.name for source in sources] if few else [float(i) for i in range(len(sources))],
            {stage: [float(row[column]) for row in rows if row["stage"] == stage] for stage in MEASURED},
            bars=few,
        )
        for column, title in _TITLES.items()
    ]
    rows += mean_rows(rows, "stage")
    write_tables(folder, "sequence", rows)
    write_bytes(folder / "figure.svg", draw(charts, columns=3).encode())
    return rows


def falls(rows: list[Row], column: str = "mae_d") -> bool:
    """Whether the error of each stage is below that of the one before, on average over the rows."""
    means = []
    for stage in MEASURED:
        values = [float(row[column]) for row in rows if row["stage"] == stage and row["scene"] != "mean"]
        means.append(sum(values) / len(values))
    return means[0] > means[1] > means[2]
