"""The paper's experiments by name; each writes its table and its figure."""

from __future__ import annotations

from collections.abc import Callable

from wideflow.config import Config
from wideflow.evaluate.experiments.ablation import evaluate_ablation
from wideflow.evaluate.experiments.camera_motion import evaluate_cameras
from wideflow.evaluate.experiments.contamination import ALLOWED, evaluate_contamination
from wideflow.evaluate.experiments.failures import evaluate_failures
from wideflow.evaluate.experiments.initialisation import evaluate_initialisation
from wideflow.evaluate.experiments.parts import evaluate_parts
from wideflow.evaluate.experiments.sequence import evaluate_sequence, falls
from wideflow.evaluate.table import Row
from wideflow.files.disk import AnyPath
from wideflow.progress import Progress

Experiment = Callable[[AnyPath, AnyPath, Config, str, Progress], list[Row]]

EXPERIMENTS: dict[str, Experiment] = {
    "ablation": lambda root, out, config, stage, progress: evaluate_ablation(root, out, config, progress),
    "parts": lambda root, out, config, stage, progress: evaluate_parts(root, out, config, progress),
    "sequence": lambda root, out, config, stage, progress: evaluate_sequence(root, out, config, progress),
    "initialisation": lambda root, out, config, stage, progress: evaluate_initialisation(
        root, out, config, progress
    ),
    "contamination": evaluate_contamination,
    "cameras": lambda root, out, config, stage, progress: evaluate_cameras(root, out),
    "failures": evaluate_failures,
}


def conclusion(name: str, rows: list[Row]) -> str:
    """What an experiment has shown, in one sentence; empty if its table says it all."""
    if name == "sequence":
        said = "falls from stage to stage" if falls(rows) else "does not fall at every stage"
        return f"the error of the stereo flow (MAE_d) {said}"
    if name == "contamination":
        worst = max(rows, key=lambda row: float(row["ratio"]))
        kept = "within" if float(worst["ratio"]) <= ALLOWED else "beyond"
        return (
            f"worst is '{worst['camera B']}' on {worst['scene']}: {float(worst['ratio']):.2f} times the "
            f"clean share of wrong pixels, {kept} the allowed {ALLOWED:g}"
        )
    if name == "cameras":
        lengths, angles = ([float(row[column]) for row in rows] for column in ("baseline", "angle"))
        return (
            f"the baseline varies by {100 * (max(lengths) - 1):.0f} %, the angle from {min(angles):.1f} to "
            f"{max(angles):.1f} degrees"
        )
    return ""
