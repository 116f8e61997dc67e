"""Calibration: cameras found against true ones, with known and with unknown lenses, and time.

WIDEFLOW_DATA names the folder with the measuring data (`handheld/clip12`, `handheld/clip20`); WIDEFLOW_CLIPS
one with rendered clips (each with a.mp4, b.mp4 and truth.json), which are rendered otherwise.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wideflow.errors import WideflowError
from wideflow.geometry import (
    camera_to_world,
    fundamental_matrix,
    ideal_camera,
    inside_picture,
    project,
    relative_pose,
    sampson_distance,
    unproject,
    world_to_camera,
)
from wideflow.pipeline.before.dense_calibration import calibrate
from wideflow.sync import synchronise
from wideflow.synth import SynthConfig, render
from wideflow.types import Camera, Rig, View
from wideflow.video.read import Video

HEAD = (
    "| clip | lenses | frames | rotation median | largest | epipolar median | 95 % | focal lengths | time |\n"
    "|---|---|---|---|---|---|---|---|---|"
)
_DEPTHS = (3.0, 7.0)  # metres at which true correspondences are made
_POINTS = 400


def main() -> None:
    """Print one table."""
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        for clip in _clips(Path(os.environ.get("WIDEFLOW_CLIPS", folder))):
            for known in (True, False):
                _row(clip, known)


def _clips(folder: Path) -> Iterator[Path]:
    shared = Path(os.environ.get("WIDEFLOW_DATA", "nowhere")) / "handheld"
    yield from (shared / name for name in ("clip12", "clip20") if (shared / name).exists())
    if not any(folder.glob("*/truth.json")):
        for seed, (name, more) in enumerate(
            {
                "fraction": {"angle": 20, "offset": 0.2567},
                "portrait": {"angle": 15, "offset": -0.3, "size_b": (360, 640)},
                "fast": {"angle": 25, "offset": 0.411, "speed": 2.0},
            }.items(),
            start=51,
        ):
            settings: dict[str, Any] = {"frames": 45, "size": (640, 360), "seed": seed, "video": True} | more
            render(folder / name, SynthConfig(**settings))
    yield from sorted(path.parent for path in folder.glob("*/truth.json"))


def _row(clip: Path, known: bool) -> None:
    cameras, views = _truth(clip)
    label = f"| {clip.name} | {'known' if known else 'unknown'} |"
    start = time.perf_counter()
    try:
        a, b = Video(clip / "a.mp4"), Video(clip / "b.mp4")
        pairs = synchronise(a, b).pairs
        found = calibrate(a, b, pairs, cameras if known else (None, None))
    except WideflowError as error:
        print(f"{label} {error} | | | | | | |", flush=True)
        return
    seconds = time.perf_counter() - start
    partner = dict(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    truth = [(views[0][frame.index], views[1][partner[frame.index]]) for frame in found.rig.frames]
    turn, off = _errors(found.rig, truth)
    focal = ", ".join(
        f"{100 * (one.K[0, 0] / two.K[0, 0] - 1):+.2f} %"
        for one, two in zip(found.rig.cameras, cameras, strict=True)
    )
    print(
        f"{label} {len(truth)} of {found.report.frames} | {np.median(turn):.3f}° | {turn.max():.3f}° "
        f"| {np.median(off):.3f} px | {np.percentile(off, 95):.2f} px | {focal} | {seconds:.0f} s |",
        flush=True,
    )


def _truth(clip: Path) -> tuple[tuple[Camera, Camera], list[list[View]]]:
    """True lenses, and views of every frame of both videos."""
    fields = json.loads((clip / "truth.json").read_text())
    sizes = fields.get("sizes") or [fields["size"]] * 2
    lenses = fields.get("distortion") or [[fields["k1"], 0, 0, 0]] * 2
    cameras = [
        Camera("ab"[c], *sizes[c], np.array(fields["cameras"][c][0]["K"]), np.array(lenses[c]))
        for c in (0, 1)
    ]
    views = [
        [View(cameras[c], np.column_stack([pose["R"], pose["t"]])) for pose in fields["cameras"][c]]
        for c in (0, 1)
    ]
    return (cameras[0], cameras[1]), views


def _errors(rig: Rig, truth: list[tuple[View, View]]) -> tuple[Any, Any]:
    """Degrees of rotation between the cameras, and px of true correspondences off their epipolar lines."""
    rng = np.random.default_rng(0)
    turns, off = [], []
    for frame, real in zip(rig.frames, truth, strict=True):
        R = relative_pose(*frame.views)[:, :3] @ relative_pose(*real)[:, :3].T
        turns.append(np.degrees(np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))))
        x = rng.uniform((0, 0), real[0].camera.size, (_POINTS, 2))
        depth = rng.uniform(*_DEPTHS, (_POINTS, 1))
        points = camera_to_world(real[0], depth * unproject(real[0].camera, x))
        y = project(real[1].camera, world_to_camera(real[1], points))
        seen = inside_picture(real[1].camera, y)
        pixels = [
            project(ideal_camera(view.camera), unproject(view.camera, xy[seen]))
            for view, xy in zip(frame.views, (x, y), strict=True)
        ]
        off.append(np.abs(sampson_distance(fundamental_matrix(*frame.views), *pixels)))
    return np.array(turns), np.concatenate(off)
