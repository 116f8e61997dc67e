"""Depth of photographs: scenes of `wideflow synth` that stand still, seen from twelve places, against truth.

Each scene is rendered, its COLMAP model is made of features that are triangulated with the true cameras, and
`wideflow depth` does its job. Time is that of a picture as a ratio to DeepFlow on a pair of the same size.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.photo_models import triangulated
from benchmarks.yardstick import deepflow_seconds
from wideflow.files import read_image, read_pfm, write_colmap
from wideflow.geometry import inside_picture, project, world_to_camera
from wideflow.handheld import HandheldScene, read_handheld
from wideflow.photos import DepthSettings, dense_depth
from wideflow.photos.agreement import world_points
from wideflow.photos.kept import KeptPlanes
from wideflow.photos.look import LOOKS
from wideflow.synth import SynthConfig, render
from wideflow.types import View

SCENES = (("courtyard", 3), ("hall", 12), ("garden", 11))  # settings were chosen on the first
SIZE = (640, 360)
FRAMES = 6  # of each of two cameras, a second apart: some five degrees
LIMITS = (0.005, 0.01, 0.02, 0.05)
Depth = NDArray[np.float32]


def main() -> None:
    """Print one row for each scene."""
    print("| scene | all pixels within 0.5, 1, 2, 5 % | seen by three or more | kept | of these | time / D |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for place, seed in SCENES:
            print(row(Path(folder) / f"{place}-{seed}", place, seed), flush=True)


def row(folder: Path, place: str, seed: int) -> str:
    """Render, compute and score one scene, or what of it is there already."""
    if not (folder / "rig.json").exists():
        render(
            folder,
            SynthConfig(
                angle=25, size=SIZE, seed=seed, frames=FRAMES, fps=1.0, speed=0.0, path="walk", place=place
            ),
        )
    scene = read_handheld(folder)
    keys = [(camera, t) for camera in (0, 1) for t in range(FRAMES)]
    names = [f"cam{camera}_{t:04d}.png" for camera, t in keys]
    views = [scene.rig.frame(t).views[camera] for camera, t in keys]
    if not (folder / "model").exists():
        pictures = [scene.image(camera, t) for camera, t in keys]
        write_colmap(folder / "model", triangulated(names, pictures, views), binary=True)
    start = time.perf_counter()
    dense_depth(folder / "model", folder, folder / "dense", DepthSettings())
    seconds = (time.perf_counter() - start) / len(keys)
    deepflow = deepflow_seconds(read_image(folder / names[0]), read_image(folder / names[1]))
    told = scores(scene, folder / "dense", keys, names, views)
    return f"| {place}-{seed} | {told} | {seconds / deepflow:.0f} |"


def scores(
    scene: HandheldScene, out: Path, keys: list[tuple[int, int]], names: list[str], views: list[View]
) -> str:
    """Shares of the pixels of all pictures whose depth is right, in per cent."""
    truth = [scene.truth(camera, t).depth for camera, t in keys]
    found = KeptPlanes(out / "work", LOOKS[-1])
    errors, seen, kept = [], [], []
    for i, name in enumerate(names):
        there = np.isfinite(truth[i])
        with np.errstate(divide="ignore"):
            errors.append(np.abs(1 / found.inverse(name) / truth[i] - 1)[there])
        seen.append(_seen_by(i, truth, views)[there] >= 3)
        kept.append(np.isfinite(read_pfm(out / "depth" / f"{name}.pfm"))[there])
    error, three, trusted = np.concatenate(errors), np.concatenate(seen), np.concatenate(kept)
    return (
        f"{_shares(error)} | {_shares(error[three])} ({100 * three.mean():.0f} %) | "
        f"{100 * trusted.mean():.1f} % | {_shares(error[trusted])}"
    )


def _seen_by(i: int, truth: list[Depth], views: list[View]) -> NDArray[np.int64]:
    """(H, W) number of pictures that show each pixel's point, its own among them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        points = world_points(views[i], np.nan_to_num(1 / truth[i]))
    count = np.ones(truth[i].shape, np.int64)
    for j, view in enumerate(views):
        if j != i:
            local = world_to_camera(view, points)
            pixels = project(view.camera, local)
            inside = inside_picture(view.camera, pixels)
            x, y = np.rint(np.where(inside[..., None], pixels, 0)).astype(int).transpose(2, 0, 1)
            x, y = np.clip(x, 0, view.camera.width - 1), np.clip(y, 0, view.camera.height - 1)
            count += inside & (np.abs(truth[j][y, x] / local[..., 2] - 1) < 0.01)
    return count


def _shares(error: NDArray[np.float32]) -> str:
    return " / ".join(f"{100 * np.mean(error < limit):.1f}" for limit in LIMITS)
