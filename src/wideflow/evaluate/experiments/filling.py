"""The paper's experiment on filling: true flow outside the occlusions, how wrong is it inside?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wideflow.config import FillConfig
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.datasets.sintel import SintelFrame, find_frames, read_frame
from wideflow.evaluate.metrics import angular_error, endpoint_error
from wideflow.evaluate.run_dataset import mean_rows
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import write_bytes, write_image
from wideflow.files.disk import AnyPath
from wideflow.filling import fill
from wideflow.progress import Progress, silent
from wideflow.report import flow_colours

METHODS = ("diffusion", "laplacian")


def evaluate_filling(
    root: AnyPath, out: AnyPath, config: FillConfig | None = None, progress: Progress = silent
) -> list[Row]:
    """Fill the occlusions of every frame below ``root`` with both methods.

    Writes the tables, ``figure.svg`` and one picture a frame to the folder ``out``: the frame, the
    truth, its known part, and what diffusion and the matting Laplacian make of it.

    Raises
    ------
    FileError
        Frames that cannot be read or results that cannot be written.
    """
    files = find_frames(root)
    folder = open_folder(out)
    config = FillConfig() if config is None else config
    rows: list[Row] = []
    for done, file in enumerate(files):
        progress(done, len(files), file.name)
        frame = read_frame(file)
        unknown = frame.occluded | frame.invalid
        if not (frame.occluded & ~frame.invalid).any() or unknown.all():
            continue  # nothing hidden to judge, or nothing left to fill from
        filled = {
            method: fill(frame.picture, frame.flow, unknown, replace(config, method=method)).uv
            for method in METHODS
        }
        rows.append(_score(frame, filled))
        name = f"{frame.scene}_{frame.render}_{frame.number:04d}.png"
        write_image(folder / name, _panels(frame, unknown, filled))
    write_bytes(folder / "figure.svg", _figure(rows).encode())
    rows += mean_rows(rows, "render")
    write_tables(folder, "filling", rows)
    return rows


def _score(frame: SintelFrame, filled: dict[str, NDArray[np.float32]]) -> Row:
    """Errors inside the occlusions of one frame."""
    judged = frame.occluded & ~frame.invalid
    pixels = {m: float(endpoint_error(filled[m], frame.flow)[judged].mean()) for m in METHODS}
    degrees = {m: float(angular_error(filled[m], frame.flow)[judged].mean()) for m in METHODS}
    return {
        "scene": frame.scene,
        "render": frame.render,
        "frame": str(frame.number),
        "occluded_percent": 100 * float(frame.occluded.mean()),
        "diffusion_px": pixels["diffusion"],
        "laplacian_px": pixels["laplacian"],
        "ratio": pixels["laplacian"] / pixels["diffusion"] if pixels["diffusion"] else float("nan"),
        "diffusion_degrees": degrees["diffusion"],
        "laplacian_degrees": degrees["laplacian"],
    }


def _figure(rows: list[Row]) -> str:
    names = [f"{row['scene']} {row['render']} {row['frame']}" for row in rows]
    x = names if len(names) < 9 else [float(number) for number in range(len(names))]
    charts = [
        Chart(title, "frame", unit, x, lines, bars=len(names) < 9)
        for title, unit, suffix in (
            ("Error inside occlusions", "px", "px"),
            ("Angular error", "degrees", "degrees"),
        )
        if (lines := {method: [float(row[f"{method}_{suffix}"]) for row in rows] for method in METHODS})
    ]
    return draw(charts)


def _panels(
    frame: SintelFrame, unknown: NDArray[np.bool_], filled: dict[str, NDArray[np.float32]]
) -> NDArray[np.uint8]:
    """Picture, truth and known part above; diffusion, Laplacian and the difference of their errors below."""
    top = float(np.percentile(np.linalg.norm(frame.flow, axis=2), 99)) or 1.0
    known = np.where(unknown[..., None], np.float32(np.nan), frame.flow)
    flows = [flow_colours(uv, top) for uv in (frame.flow, known, *(filled[m] for m in METHODS))]
    errors = [np.linalg.norm(filled[m] - frame.flow, axis=2) for m in METHODS]
    better = np.clip((errors[0] - errors[1]) / 5, -1, 1)  # green: Laplacian nearer by 5 px, red: diffusion
    judged = np.stack([-better, better, np.zeros_like(better)], axis=2).clip(0, 1)
    picture = np.rint(np.clip(frame.picture, 0, 1) * 255).astype(np.uint8)
    rows = [picture, flows[0], flows[1]], [flows[2], flows[3], np.rint(judged * 255).astype(np.uint8)]
    return np.vstack([np.hstack(row) for row in rows])
