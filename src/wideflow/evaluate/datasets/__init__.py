"""The data sets by name, each with its reader; ours, the `handheld` layout, among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wideflow.errors import FileError, InputError
from wideflow.evaluate.datasets.carpetball import read_carpetball
from wideflow.evaluate.datasets.daimler import read_daimler
from wideflow.evaluate.datasets.handheld import KIND, handheld_samples, handheld_scenes
from wideflow.evaluate.datasets.kitti import read_kitti
from wideflow.evaluate.datasets.middlebury_flow import read_middlebury_flow
from wideflow.evaluate.datasets.middlebury_stereo import read_middlebury_stereo
from wideflow.evaluate.datasets.sample import Source, require_folder
from wideflow.evaluate.datasets.sintel import sintel_samples
from wideflow.files.disk import AnyPath


@dataclass(frozen=True)
class Dataset:
    """How a data set is read, and whether KITTI's measures are wanted for it."""

    read: Callable[[AnyPath], list[Source]]
    kitti: bool = False


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
    folder = require_folder(root, KIND)
    if handheld_scenes(folder):
        return handheld_samples(root)
    try:
        return read_daimler(root)
    except FileError as error:
        raise InputError(
            f"'{root}' holds neither handheld scenes nor a Daimler set; give a folder that does"
        ) from error
