"""The paper's figure of camera motion: baselines and angles between the cameras over time."""

from __future__ import annotations

import math
from pathlib import Path

from wideflow.errors import InputError
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import read_rig, write_bytes
from wideflow.files.disk import AnyPath
from wideflow.geometry import baseline, optical_axis_angle


def evaluate_cameras(root: AnyPath, out: AnyPath) -> list[Row]:
    """Baseline (smallest = 1) and angle between the viewing directions, for every frame of a rig.

    ``root`` is a rig (``rig.json``, a COLMAP model) or a folder with ``rig.json``. Writes the tables and
    ``figure.svg`` to ``out``.
    """
    path = Path(root)
    rig = read_rig(path / "rig.json" if (path / "rig.json").exists() else path)
    lengths = [baseline(*frame.views) for frame in rig.frames]
    if not min(lengths) > 0:
        raise InputError(f"'{root}': both cameras stand in one place, so there is no baseline")
    rows: list[Row] = [
        {
            "scene": str(frame.index),
            "baseline": length / min(lengths),
            "baseline_world": length,
            "angle": math.degrees(optical_axis_angle(*frame.views)),
        }
        for frame, length in zip(rig.frames, lengths, strict=True)
    ]
    folder = open_folder(out)
    write_tables(folder, "cameras", rows)
    frames = [float(frame.index) for frame in rig.frames]
    charts = [
        Chart(title, "frame", unit, frames, {"": [float(row[column]) for row in rows]}, zero=False)
        for column, title, unit in (
            ("baseline", "Baseline", "smallest = 1"),
            ("angle", "Angle between the cameras", "degrees"),
        )
    ]
    write_bytes(folder / "figure.svg", draw(charts).encode())
    return rows
