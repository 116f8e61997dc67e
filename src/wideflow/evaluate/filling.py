"""The paper's experiment on filling: true flow outside the occlusions, how wrong is it inside?"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.config import FillConfig
from wideflow.errors import FileError
from wideflow.evaluate.metrics import angular_error, endpoint_error
from wideflow.evaluate.sintel import SintelFrame, read_sintel
from wideflow.files import write_bytes, write_image
from wideflow.files.disk import AnyPath
from wideflow.filling import fill
from wideflow.progress import Progress
from wideflow.report import flow_colours

METHODS = ("diffusion", "laplacian")


@dataclass(frozen=True)
class FillingScore:
    """Errors inside the occlusions of one frame: mean endpoint error in px, mean angular error in degrees."""

    scene: str
    render: str
    frame: int
    occluded_percent: float
    diffusion_px: float
    laplacian_px: float
    ratio: float
    diffusion_degrees: float
    laplacian_degrees: float


def evaluate_filling(
    root: AnyPath, out: AnyPath, config: FillConfig | None = None, progress: Progress = lambda *_: None
) -> list[FillingScore]:
    """Fill the occlusions of every frame below ``root`` with both methods.

    Writes ``filling.md``, ``filling.csv`` and one picture a frame to the folder ``out``: the frame, the
    truth, its known part, and what diffusion and the matting Laplacian make of it.

    Raises
    ------
    FileError
        Frames that cannot be read or results that cannot be written.
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create the folder '{out}': {(error.strerror or '').lower()}") from error
    config = FillConfig() if config is None else config
    scores: list[FillingScore] = []
    for frame in read_sintel(root):
        progress(len(scores), len(scores) + 1, f"{frame.scene} {frame.render} {frame.number}")
        unknown = frame.occluded | frame.invalid
        if not (frame.occluded & ~frame.invalid).any() or unknown.all():
            continue  # nothing hidden to judge, or nothing left to fill from
        filled = {
            method: fill(frame.picture, frame.flow, unknown, replace(config, method=method)).uv
            for method in METHODS
        }
        scores.append(_score(frame, filled))
        name = f"{frame.scene}_{frame.render}_{frame.number:04d}.png"
        write_image(folder / name, _panels(frame, unknown, filled))
    write_bytes(folder / "filling.md", _markdown(scores).encode())
    write_bytes(folder / "filling.csv", _csv(scores).encode())
    return scores


def _score(frame: SintelFrame, filled: dict[str, NDArray[np.float32]]) -> FillingScore:
    judged = frame.occluded & ~frame.invalid
    pixels = {m: float(endpoint_error(filled[m], frame.flow)[judged].mean()) for m in METHODS}
    degrees = {m: float(angular_error(filled[m], frame.flow)[judged].mean()) for m in METHODS}
    ratio = pixels["laplacian"] / pixels["diffusion"] if pixels["diffusion"] else float("nan")
    return FillingScore(
        frame.scene,
        frame.render,
        frame.number,
        100 * float(frame.occluded.mean()),
        pixels["diffusion"],
        pixels["laplacian"],
        ratio,
        degrees["diffusion"],
        degrees["laplacian"],
    )


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


def _markdown(scores: Sequence[FillingScore]) -> str:
    names = [field.name for field in fields(FillingScore)]
    lines = [names, ["---"] * len(names)]
    lines += [[f"{v:.3f}" if isinstance(v, float) else str(v) for v in astuple(score)] for score in scores]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _csv(scores: Sequence[FillingScore]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(FillingScore))
    writer.writerows(astuple(score) for score in scores)
    return text.getvalue()
