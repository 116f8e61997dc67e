"""What each part of a time step is worth, seen by leaving it out: proposals, planes, edges, second order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wideflow.config import Config
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.datasets import steps_of
from wideflow.evaluate.panels import panels
from wideflow.evaluate.run_dataset import mean_rows
from wideflow.evaluate.run_stages import run_stages
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import write_bytes, write_image
from wideflow.files.disk import AnyPath
from wideflow.progress import Progress, silent

# part: settings that leave it out, by their stages
WITHOUT: dict[str, dict[str, dict[str, Any]]] = {
    "nothing": {},
    "sweep of planes": {"match": {"search": "line"}},
    "planes as proposals": {"match": {"planes": False}},
    "all planes": {"match": {"search": "line", "planes": False}, "fill": {"planes": False}},
    "the other direction": {"match": {"exchange": False}},
    "footprints": {"match": {"footprint": 0.0}},
    "planes in filling": {"fill": {"planes": False}},
    "pictures that decide": {"fill": {"pictures_decide": False}},
    "second order": {"refine": {"slope": 0.0}},
    "edges in smoothness": {"refine": {"contrast": 0.0}},
    "held matches": {"refine": {"furthest": 0.0}},
    "static world": {"lift": {"still": 0.0}},
}
_SHOWN = ("nothing", "all planes", "footprints", "second order")


def evaluate_parts(root: AnyPath, out: AnyPath, config: Config, progress: Progress = silent) -> list[Row]:
    """Compute every step of four pictures with one part after the other left out.

    Writes the tables, ``figure.svg`` and a picture per step to ``out``: the truth, the whole method, and
    without planes, footprints and second order.
    """
    sources = steps_of(root)
    folder = open_folder(out)
    rows: list[Row] = []
    for done, source in enumerate(sources):
        sample, shown = source.load(), []
        for number, name in enumerate(WITHOUT):
            progress(done * len(WITHOUT) + number, len(sources) * len(WITHOUT), f"{source.name}: {name}")
            result = run_stages(sample, without(config, name), "refine")[0]
            rows.append({"scene": source.name, "without": name, **score_sample(sample, result)})
            if name in _SHOWN:
                shown.append(replace(result, stage=name))
        write_image(folder / f"{source.name.replace(' ', '_')}.png", panels(sample, shown))
    rows += mean_rows(rows, "without")
    write_tables(folder, "parts", rows)
    write_bytes(folder / "figure.svg", _figure(rows).encode())
    return rows


def without(config: Config, part: str) -> Config:
    """The settings with one part of `WITHOUT` left out."""
    stages = {stage: replace(getattr(config, stage), **values) for stage, values in WITHOUT[part].items()}
    return replace(config, **stages)


def _figure(rows: list[Row]) -> str:
    scenes = [str(scene) for scene in dict.fromkeys(row["scene"] for row in rows)]
    charts = [
        Chart(
            f"{title} without ...",
            "left out",
            unit,
            list(WITHOUT),
            {scene: [float(row[column]) for row in rows if row["scene"] == scene] for scene in scenes},
            bars=True,
        )
        for column, title, unit in (
            ("stereo_bad3", "Stereo flow", "wrong by > 3 px, %"),
            ("motion_median", "3D motion", "median error, mm"),
        )
    ]
    return draw(charts, columns=1, width=1200)
