"""The handheld benchmark: a fixed set of scenes, one difficulty varied at a time.

Rendering it again gives the same bits on the same machine. A scene that is finished is skipped, so an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from wideflow.progress import Progress, silent
from wideflow.synth.config import SynthConfig

_SEEDS = (101, 102, 103)  # a garden, a courtyard and a hall, in whichever order the seeds give them
_BASE = SynthConfig(angle=15, seed=_SEEDS[0])


def suite(size: tuple[int, int] = (960, 540)) -> dict[str, SynthConfig]:
    """Name and configuration of every scene, at a picture size."""
    scenes: dict[str, SynthConfig] = {}
    for place, seed in enumerate(_SEEDS):
        for angle in (5, 15, 25, 35, 45):
            scenes[f"angle{angle:02d}-{'abc'[place]}"] = replace(_BASE, angle=angle, seed=seed)
    scenes |= {
        "photometric-off": replace(_BASE, photometric="off"),
        "photometric-strong": replace(_BASE, photometric="strong"),
        "photometric-strong-25": replace(_BASE, photometric="strong", angle=25, seed=_SEEDS[1]),
        "speed0.3": replace(_BASE, speed=0.3),
        "speed2": replace(_BASE, speed=2.0),
        "speed4": replace(_BASE, speed=4.0),
        "speed8": replace(_BASE, speed=8.0),
        "weak20": replace(_BASE, weak=0.2),
        "weak40": replace(_BASE, weak=0.4),
        "weak70": replace(_BASE, weak=0.7),
        "overexposed20": replace(_BASE, overexpose=0.2, seed=_SEEDS[1]),
        "blur": replace(_BASE, motion_blur=0.5, speed=2.0),
        "rolling-shutter": replace(_BASE, rolling_shutter=0.02, speed=2.0),
    }
    return {name: replace(config, size=size) for name, config in scenes.items()}


def render_suite(
    out: str | os.PathLike[str],
    size: tuple[int, int],
    progress: Progress = silent,
    threads: int | None = None,
) -> tuple[int, int]:
    """Render what is missing of the suite into ``out``, a folder per scene.

    Returns
    -------
    rendered, skipped : int
        Scenes rendered now, and scenes that were there.

    Raises
    ------
    FileError
        A file cannot be written.
    MissingExtraError
        The ray tracer is not installed.
    """
    from wideflow.synth import render

    scenes = suite(size)
    rendered = 0
    for number, (name, config) in enumerate(scenes.items()):
        progress(number, len(scenes), name)
        folder = Path(out) / name
        if not is_finished(folder, config):
            render(folder, config, None, threads)
            rendered += 1
    progress(len(scenes), len(scenes), "done")
    return rendered, len(scenes) - rendered


def is_finished(folder: Path, config: SynthConfig) -> bool:
    """Whether the folder holds this very scene, down to the file that is written last."""
    last = folder / f"gt1_{config.scored[-1]:04d}.npz"
    try:
        scene = json.loads((folder / "scene.json").read_text(encoding="utf-8"))
        return last.exists() and scene["config"] == json.loads(json.dumps(config.as_json()))
    except (OSError, ValueError, KeyError, TypeError):
        return False
