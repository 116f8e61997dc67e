"""The handheld benchmark: fixed scenes, one difficulty varied at a time, and the clips of its video track.

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
from wideflow.synth.video_suite import video_suite

_SEEDS = (101, 102, 103)  # a garden, a courtyard and a hall, in whichever order the seeds give them
_BASE = SynthConfig(angle=15, seed=_SEEDS[0])
SIZES = {"scenes": (960, 540), "video": (640, 360)}  # of each suite, unless another is asked for


def suite(size: tuple[int, int] = SIZES["scenes"]) -> dict[str, SynthConfig]:
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
    size: tuple[int, int] | None = None,
    progress: Progress = silent,
    threads: int | None = None,
    name: str = "scenes",
) -> tuple[int, int]:
    """Render what is missing of a suite into ``out``, a folder per scene.

    Parameters
    ----------
    out : path
        Created if need be.
    size : (width, height), optional
        Of the pictures; that of `SIZES` unless given.
    progress : callable
        Told (scenes done, scenes in all, what comes next).
    threads : int, optional
        All cores unless given.
    name : {"scenes", "video"}
        Scenes of two frames, or clips.

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

    scenes = (video_suite if name == "video" else suite)(size or SIZES[name])
    rendered = 0
    for number, (scene, config) in enumerate(scenes.items()):
        progress(number, len(scenes), scene)
        folder = Path(out) / scene
        if not is_finished(folder, config):
            render(folder, config, None, threads)
            rendered += 1
        if config.video and config.path == "tripod":
            write_lenses(folder)
    progress(len(scenes), len(scenes), "done")
    return rendered, len(scenes) - rendered


def write_lenses(folder: Path) -> None:
    """``lens_a.json`` and ``lens_b.json`` of a clip whose cameras stand, and so do not show their lenses."""
    from wideflow.files import read_rig, write_intrinsics  # NumPy, which `--help` does without

    for camera in read_rig(folder / "rig.json").cameras:
        write_intrinsics(folder / f"lens_{camera.name}.json", camera)


def is_finished(folder: Path, config: SynthConfig) -> bool:
    """Whether the folder holds this very scene, down to the file that is written last."""
    last = folder / f"gt1_{config.scored[-1]:04d}.npz"
    try:
        scene = json.loads((folder / "scene.json").read_text(encoding="utf-8"))
        return last.exists() and scene["config"] == json.loads(json.dumps(config.as_json()))
    except (OSError, ValueError, KeyError, TypeError):
        return False
