"""Scenes of the `handheld` layout: rendered ones, such as the benchmark's."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from wideflow.evaluate.datasets.sample import Sample, Source, require_folder, require_sources
from wideflow.files.disk import AnyPath
from wideflow.handheld import HandheldScene, read_handheld

KIND = "scenes of the handheld layout, such as 'wideflow synth --suite' writes"


def handheld_samples(root: AnyPath) -> list[Source]:
    """Every time step of one scene, or of every scene in a folder, that has pictures and ground truth.

    Raises
    ------
    FileError
        No such folder, or no scene with pictures in it.
    """
    folder = require_folder(root, KIND)
    sources = []
    for path in handheld_scenes(folder):
        scene = read_handheld(path)
        steps = [
            t
            for t in scene.times(0)
            if all((path / f"cam{c}_{s:04d}.png").exists() for c in (0, 1) for s in (t, t + 1))
        ]
        for t in steps:
            name = path.resolve().name if len(steps) == 1 else f"{path.resolve().name} {t}"
            sources.append(Source(name, partial(handheld_step, scene, t, name)))
    return require_sources(sources, root, KIND, "scene with pictures cam0_0000.png and ground truth")


def handheld_scenes(folder: Path) -> list[Path]:
    """The folder itself if it is a scene, or the scenes in it."""
    return [
        path
        for path in (folder, *sorted(folder.iterdir()))
        if (path / "cameras.json").exists() and (path / "cam0_0000.png").exists()
    ]


def handheld_step(scene: HandheldScene, time: int, name: str) -> Sample:
    """The step from ``time`` to the next picture, seen from camera A."""
    pictures = tuple(scene.image(c, t) for t in (time, time + 1) for c in (0, 1))
    truth, flows = scene.truth(0, time), scene.flows(0, time)
    return Sample(
        name,
        pictures,
        (scene.rig.frame(time), scene.rig.frame(time + 1)),
        flows.stereo,
        flows.optical,
        flows.loop,
        truth.depth,
        truth.motion,
        {"stereo": truth.stereo_visible, "optical": truth.optical_visible, "loop": truth.loop_visible},
    )
