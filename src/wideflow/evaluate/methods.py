"""Methods that the handheld benchmark compares: ours, OpenCV's, and anyone's results from files."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import Config
from wideflow.errors import FileError, InputError
from wideflow.evaluate.datasets.sample import Field, Picture, Sample, require_folder
from wideflow.evaluate.rectify import rectify
from wideflow.evaluate.run_stages import run_stages
from wideflow.evaluate.stage_result import StageResult
from wideflow.files import read_flow
from wideflow.files.disk import AnyPath
from wideflow.geometry import pixel_grid
from wideflow.lift import MatchEvidence, lift_stereo
from wideflow.pipeline.step.voices import open_voice
from wideflow.storage.result import Result

Grey = NDArray[np.uint8]
Method = Callable[[Sample], StageResult]
_BLOCK = 5  # px of SGBM's window; P1 and P2 are what OpenCV's documentation recommends for it
_ROOM = 0.1  # added to the range of true disparities on both sides


def wideflow(config: Config) -> Method:
    """The whole method of this package."""
    return lambda sample: replace(run_stages(sample, config, "refine")[0], stage="wideflow")


def with_proposals(config: Config, flows: AnyPath) -> Method:
    """Ours, with flows proposed that lie in files, a folder per scene, named as for `wideflow frames`."""
    folder = require_folder(flows, "a folder of flows for each scene")

    def run(sample: Sample) -> StageResult:
        views = sample.frames[0].views
        cameras = views[0].camera, views[1].camera
        voice = open_voice(folder / sample.name.partition(" ")[0], cameras, 2)
        found = run_stages(sample, config, "refine", voice)[0]
        return replace(found, stage=f"wideflow with {folder.resolve().name}")

    return run


def dis(sample: Sample) -> StageResult:
    """OpenCV's dense inverse search, preset medium, on both pairs."""
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    return _flows(sample, "dis", lambda one, two: search.calc(one, two, None))


def deepflow(sample: Sample) -> StageResult:
    """OpenCV's DeepFlow on both pairs."""
    algorithm = cv2.optflow.createOptFlow_DeepFlow()
    return _flows(sample, "deepflow", lambda one, two: algorithm.calc(one, two, None))


def sgbm(sample: Sample) -> StageResult:
    """OpenCV's semi-global block matching on the pair rectified with the true cameras; stereo only.

    It is told the range of the true disparities, which no other method is.
    """
    if sample.stereo is None or not sample.frames:
        raise InputError(f"'{sample.name}' has no cameras and true stereo flow, which SGBM needs")
    start = time.perf_counter()
    pair = rectify(*sample.frames[0].views)
    true = pair.disparity_of(sample.stereo)
    low, high = np.nanquantile(true, [0.005, 0.995])
    spare = _ROOM * (high - low)
    least = int(np.floor(low - spare))
    count = int(16 * np.ceil((high + spare - least + 1) / 16))
    matcher = cv2.StereoSGBM.create(
        minDisparity=least,
        numDisparities=count,
        blockSize=_BLOCK,
        P1=8 * 3 * _BLOCK**2,
        P2=32 * 3 * _BLOCK**2,
        disp12MaxDiff=1,
        uniquenessRatio=10,
        speckleWindowSize=100,
        speckleRange=2,
    )
    pictures = [np.rint(pair.warp(sample.pictures[c], c) * 255).astype(np.uint8) for c in (0, 1)]
    # OpenCV leaves a margin of as many columns as there are disparities without an answer
    margins = max(0, least + count), max(0, -least)
    wide = [cv2.copyMakeBorder(p, 0, 0, *margins, cv2.BORDER_REPLICATE) for p in pictures]
    raw = matcher.compute(wide[0], wide[1])[:, margins[0] : margins[0] + pair.size[0]]
    disparity = np.where(raw >= 16 * least, raw / 16, np.nan).astype(np.float32)
    height, width = sample.pictures[0].shape[:2]
    flow = pair.flow_from(disparity, width, height)
    return StageResult("sgbm", stereo=flow, seconds=time.perf_counter() - start)


def stored(results: AnyPath) -> Method:
    """Results that lie in files, a folder per scene: ``result.zarr``, or ``stereo0_0000.flo`` and so on."""
    folder = require_folder(results, "a folder of results for each scene")
    return partial(_read_stored, folder)


def _read_stored(folder: Path, sample: Sample) -> StageResult:
    scene, _, number = sample.name.partition(" ")
    t = int(number or 0)
    place, name = folder / scene, folder.resolve().name
    if (place / "result.zarr").is_dir():
        result = Result(place)
        return StageResult(
            name,
            result.stereo_flow(t),
            result.optical_flow_a(t),
            depth=result.depth(t),
            motion=result.motion(t),
            occluded=result.occluded(t),
        )
    flows = {
        kind: read_flow(place / f"{kind}0_{t:04d}.flo")
        for kind in ("stereo", "optical")
        if (place / f"{kind}0_{t:04d}.flo").exists()
    }
    if not flows:
        raise FileError(
            f"'{place}' holds neither result.zarr nor stereo0_{t:04d}.flo nor optical0_{t:04d}.flo; "
            "write one of them for every scene"
        )
    for kind, flow in flows.items():
        if flow.shape[:2] != sample.pictures[0].shape[:2]:
            raise FileError(f"'{place}/{kind}0_{t:04d}.flo' is not of the size of its picture; write it anew")
    return StageResult(name, flows.get("stereo"), flows.get("optical"))


METHODS: dict[str, Method] = {"dis": dis, "deepflow": deepflow, "sgbm": sgbm}


def method(name: str, config: Config) -> Method:
    """The method of this name."""
    if name == "wideflow":
        return wideflow(config)
    if name not in METHODS:
        raise InputError(f"there is no method '{name}'; there are wideflow, {', '.join(METHODS)}")
    return METHODS[name]


def with_depth(sample: Sample, result: StageResult) -> StageResult:
    """The result with the depth that its stereo flow gives, if it has none of its own."""
    if result.depth is not None or result.stereo is None or not sample.frames:
        return result
    seen = np.asarray(np.isfinite(result.stereo).all(axis=2))
    return replace(result, depth=lift_stereo(sample.frames[0], result.stereo, MatchEvidence(seen)).depth)


def _flows(sample: Sample, name: str, flow: Callable[[Grey, Grey], Field]) -> StageResult:
    start = time.perf_counter()
    a, b, a_next = (_grey(picture) for picture in sample.pictures[:3])
    # these methods want pictures of one size
    scale = np.array([b.shape[1] / a.shape[1], b.shape[0] / a.shape[0]], np.float32)
    here = pixel_grid(a.shape[1], a.shape[0]).astype(np.float32)
    there = here + flow(a, cv2.resize(b, a.shape[::-1], interpolation=cv2.INTER_AREA))
    stereo, optical = (there + 0.5) * scale - 0.5 - here, flow(a, a_next)
    return StageResult(name, stereo, optical, seconds=time.perf_counter() - start)


def _grey(picture: Picture) -> Grey:
    return np.rint(255 * cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)).astype(np.uint8)
