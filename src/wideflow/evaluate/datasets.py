"""The data sets by name, each with its reader; ours, the `handheld` layout, among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from wideflow.errors import FileError, InputError
from wideflow.evaluate.carpetball import read_carpetball
from wideflow.evaluate.daimler import read_daimler
from wideflow.evaluate.handheld import HandheldScene, read_handheld
from wideflow.evaluate.kitti import read_kitti
from wideflow.evaluate.middlebury_flow import read_middlebury_flow
from wideflow.evaluate.middlebury_stereo import read_middlebury_stereo
from wideflow.evaluate.sample import Sample, Source, require_folder, require_sources
from wideflow.evaluate.sintel import sintel_samples
from wideflow.files.disk import AnyPath

_KIND = "scenes of the handheld layout, such as 'wideflow synth --suite' writes"


@dataclass(frozen=True)
class Dataset:
    """How a data set is read, and whether KITTI's measures are wanted for it."""

    read: Callable[[AnyPath], list[Source]]
    kitti: bool = False


def handheld_samples(root: AnyPath) -> list[Source]:
    """Every time step of one scene, or of every scene in a folder, that has pictures and ground truth.

    Raises
    ------
    FileError
        No such folder, or no scene with pictures in it.
    """
    folder = require_folder(root, _KIND)
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
    return require_sources(sources, root, _KIND, "scene with pictures cam0_0000.png and ground truth")


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


DATASETS = {
    "handheld": Dataset(handheld_samples),
    "daimler": Dataset(read_daimler),
    "carpetball": Dataset(read_carpetball),
    "kitti": Dataset(read_kitti, kitti=True),
    "sintel": Dataset(sintel_samples),
    "middlebury-flow": Dataset(read_middlebury_flow),
    "middlebury-stereo": Dataset(read_middlebury_stereo),
}


def steps_of(root: AnyPath) -> list[Source]:
    """Samples of four pictures from a folder of any kind that has them: handheld, or Daimler's."""
    folder = require_folder(root, _KIND)
    if handheld_scenes(folder):
        return handheld_samples(root)
    try:
        return read_daimler(root)
    except FileError as error:
        raise InputError(
            f"'{root}' holds neither handheld scenes nor a Daimler set; give a folder that does"
        ) from error
