"""Where the method fails, as the paper tells it: fast motion, wide angles, plain surfaces."""

from __future__ import annotations

from dataclasses import dataclass

from wideflow.config import Config
from wideflow.errors import FileError
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.datasets.handheld import handheld_step
from wideflow.evaluate.datasets.sample import require_folder
from wideflow.evaluate.panels import panels
from wideflow.evaluate.run_stages import run_stages
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import write_bytes, write_image
from wideflow.files.disk import AnyPath
from wideflow.handheld import read_handheld
from wideflow.progress import Progress, silent
from wideflow.synth.suite import suite


@dataclass(frozen=True)
class _Difficulty:
    """A setting of the renderer that is varied, the scenes of the suite that vary it, and what suffers."""

    setting: str
    scenes: tuple[str, ...]
    title: str
    label: str
    columns: tuple[str, ...]


_ANGLES = tuple(f"angle{angle:02d}-{place}" for angle in (5, 15, 25, 35, 45) for place in "abc")
DIFFICULTIES = (
    _Difficulty(
        "speed",
        ("speed0.3", "angle15-a", "speed2", "speed4", "speed8"),
        "Fast motion",
        "speed",
        ("optical_bad3", "stereo_bad3"),
    ),
    _Difficulty(
        "angle", _ANGLES, "Wide angles", "degrees between the cameras", ("stereo_bad3", "optical_bad3")
    ),
    _Difficulty(
        "weak",
        ("angle15-a", "weak20", "weak40", "weak70"),
        "Constant colour",
        "share of the picture",
        ("stereo_bad3", "optical_bad3"),
    ),
)


def evaluate_failures(
    root: AnyPath, out: AnyPath, config: Config, stage: str = "all", progress: Progress = silent
) -> list[Row]:
    """Errors over speed, angle and constant colour, on the scenes of ``wideflow synth --suite``.

    Writes the tables, ``figure.svg`` and a picture of the worst scene of each difficulty to ``out``.
    """
    folder = require_folder(root, "the scenes of 'wideflow synth --suite'")
    configs = suite()
    names = list(dict.fromkeys(name for one in DIFFICULTIES for name in one.scenes))
    for name in names:
        if not (folder / name / "cameras.json").exists():
            raise FileError(f"'{root}' has no scene {name}; render it with 'wideflow synth --suite {root}'")
    target = open_folder(out)
    last = "refine" if stage == "all" else stage
    scores: dict[str, dict[str, float]] = {}
    for done, name in enumerate(names):
        progress(done, len(names), name)
        sample = handheld_step(read_handheld(folder / name), 0, name)
        results = run_stages(sample, config, last)
        scores[name] = score_sample(sample, results[0])
        if name in {one.scenes[-1] for one in DIFFICULTIES}:
            write_image(target / f"{name}.png", panels(sample, results))
    rows: list[Row] = []
    for one in DIFFICULTIES:
        values = [getattr(configs[name], one.setting) for name in one.scenes]
        rows += [
            {"difficulty": one.setting, "scene": name, "level": float(value), **scores[name]}
            for name, value in zip(one.scenes, values, strict=True)
        ]
    write_tables(target, "failures", rows)
    write_bytes(target / "figure.svg", draw([_chart(one, rows) for one in DIFFICULTIES], columns=3).encode())
    return rows


def _chart(one: _Difficulty, rows: list[Row]) -> Chart:
    """Means over the scenes of each level."""
    group = [row for row in rows if row["difficulty"] == one.setting]
    levels = sorted({float(row["level"]) for row in group})
    lines = {}
    for column in one.columns:
        line = []
        for level in levels:
            values = [float(row[column]) for row in group if float(row["level"]) == level]
            line.append(sum(values) / len(values))
        lines[f"{column.split('_')[0]} flow"] = line
    return Chart(one.title, one.label, "wrong by > 3 px, %", levels, lines)
