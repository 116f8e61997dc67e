"""The paper's ablation of matching: what each ingredient is worth, seen by leaving it out."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from wideflow.config import Config, MatchConfig, load_config
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.datasets.handheld import handheld_samples
from wideflow.evaluate.panels import panels
from wideflow.evaluate.run_dataset import mean_rows
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.stage_result import StageResult
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import write_bytes, write_image
from wideflow.files.disk import AnyPath
from wideflow.matching import match
from wideflow.progress import Progress, silent

# ingredient: settings that leave it out, in the stage match
WITHOUT: dict[str, dict[str, Any]] = {
    "nothing": {},
    "epipolar term": {"weight_epipolar": 0.0, "search": "random"},
    "search on the line": {"search": "random"},
    "sweep of planes": {"search": "line"},
    "PMBP": {},  # plain PatchMatch: no pairwise weight in any pass
    "colour term": {},  # no weight of colours in any pass
    "colour transform": {"colour_transform": False},  # colours are compared as they are, from the start
    "orientation": {"oriented": False},
    "slant": {"slanted": False},
    "planes": {"planes": False},
    "coarse to fine": {"coarse_to_fine": False},
    "cap": {"descriptor_cap": 2.0},
    "footprint": {"footprint": 0.0},
    "exchange": {"exchange": False},
    "polish": {"polish": False},
}
PRESETS = ("fast", "paper")
_SHOWN = ("nothing", "epipolar term", "PMBP")


def evaluate_ablation(root: AnyPath, out: AnyPath, config: Config, progress: Progress = silent) -> list[Row]:
    """Match the first stereo pair of every handheld scene with one ingredient after the other left out.

    Writes the tables, ``figure.svg`` and a picture per scene to ``out``: the truth, the whole method, the one
    without the epipolar term and the one without PMBP (plain PatchMatch).
    """
    sources = handheld_samples(root)
    folder = open_folder(out)
    variants = {name: without(config.match, name) for name in WITHOUT}
    variants |= {f"(preset {preset})": load_config(preset=preset).match for preset in PRESETS}
    rows: list[Row] = []
    for done, source in enumerate(sources):
        sample = source.load()
        shown = []
        a, b = sample.pictures[:2]
        for number, (name, settings) in enumerate(variants.items()):
            progress(done * len(variants) + number, len(sources) * len(variants), f"{source.name}: {name}")
            start = time.perf_counter()
            found = match(a, b, "stereo", sample.frames[0].views, settings)
            result = StageResult(name, stereo=found.forward.uv, seconds=time.perf_counter() - start)
            rows.append({"scene": source.name, "without": name, **score_sample(sample, result)})
            if name in _SHOWN:
                shown.append(result)
        write_image(folder / f"{source.name.replace(' ', '_')}.png", panels(sample, shown))
    rows += mean_rows(rows, "without")
    write_tables(folder, "ablation", rows)
    write_bytes(folder / "figure.svg", _figure(rows).encode())
    return rows


def without(config: MatchConfig, ingredient: str) -> MatchConfig:
    """The settings with one ingredient of `WITHOUT` left out."""
    if ingredient == "PMBP":
        passes = config.stereo
        plain = {
            name: replace(level, pairwise=(0.0,) * len(level.pairwise))
            for name in ("coarse", "swept", "middle", "final")
            for level in [getattr(passes, name)]
        }
        return replace(config, stereo=replace(passes, **plain))
    if ingredient.startswith("colour"):
        weight = config.stereo.weight_colour if ingredient == "colour transform" else 0.0
        stereo = replace(config.stereo, weight_colour_first=weight, weight_colour=weight)
        return replace(config, stereo=stereo, **WITHOUT[ingredient])
    return replace(config, **WITHOUT[ingredient])


def _figure(rows: list[Row]) -> str:
    names = [name for name in WITHOUT if name != "search on the line"]
    table = {(row["scene"], row["without"]): row for row in rows}
    lines = {
        str(scene): [float(table[scene, name]["stereo_bad3"]) for name in names]
        for scene in dict.fromkeys(row["scene"] for row in rows)
    }
    charts = [
        Chart(
            f"Matching without ... ({scene})",
            "left out",
            "wrong by > 3 px, %",
            names,
            {scene: values},
            bars=True,
        )
        for scene, values in lines.items()
    ]
    return draw(charts, columns=1, width=1000)
