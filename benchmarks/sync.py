"""Synchronisation: error, confidence and time, by sound and by pictures, on clips whose offset is known.

WIDEFLOW_DATA names the folder with the measuring data (`sync/`, `real/sync`, `audio/`, `handheld/clip12`);
WIDEFLOW_CLIPS one with rendered clips (each with a.mp4, b.mp4 and truth.json), which are rendered otherwise.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks import sync_trials
from wideflow.config import SyncConfig
from wideflow.errors import WideflowError
from wideflow.sync import synchronise
from wideflow.synth import SynthConfig, render
from wideflow.video.read import Video

Case = tuple[str, Path, Path, float, str]  # name, A, B, true offset in seconds, what to use
# where each camera of sequence69 sees the lamp: left, top, right, bottom in px
LAMPS = {"cam01": (823, 206, 910, 267), "cam02": (600, 96, 656, 130), "cam03": (250, 93, 303, 126)}
HEAD = "| clips | by | method | error | frames | confidence | time |\n|---|---|---|---|---|---|---|"


def main() -> None:
    """Print the table of clips with a known offset, and those of the trials of the confidence."""
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        for case in (*_recorded(), *_rendered(Path(os.environ.get("WIDEFLOW_CLIPS", folder)))):
            _row(*case)
    root = Path(os.environ.get("WIDEFLOW_DATA", "nowhere"))
    if (root / "sync").exists():
        print("\n" + sync_trials.table(sync_trials.run(root)))


def _row(name: str, a: Path, b: Path, truth: float, use: str) -> None:
    start = time.perf_counter()
    try:
        found = synchronise(a, b, SyncConfig(use=use))
    except WideflowError as error:
        print(f"| {name} | {use} | {error} | | | | |", flush=True)
        return
    seconds = time.perf_counter() - start
    error = found.offset_seconds - truth
    frames = error * min(Video(a).fps, Video(b).fps)
    print(
        f"| {name} | {use} | {found.method} | {1000 * error:.1f} ms | {frames:.2f} | {found.confidence:.2f} "
        f"| {seconds:.1f} s |",
        flush=True,
    )


def _recorded() -> Iterator[Case]:
    root = Path(os.environ.get("WIDEFLOW_DATA", "nowhere"))
    full = root / "audio" / "full.mp4"
    for late in (3, 7) if full.exists() else ():
        yield f"audio {late} s", full, full.with_name(f"{late}-secs-in.mp4"), float(late), "both"
    clip = root / "handheld" / "clip12"
    if clip.exists():
        yield from _both_ways("clip12", clip)
    for scene in sorted((root / "sync").glob("*")):
        for a, b in combinations(sorted(scene.glob("*.mp4")), 2):
            (cam_a, first_a), (cam_b, first_b) = (_camera(path) for path in (a, b))
            name, fps = f"{scene.name} {cam_a} {cam_b}", Video(a).fps
            yield name, a, b, (first_b - first_a) / fps, "pictures"
            if scene.name == "sequence69":
                frames = _lamp(a, LAMPS[cam_a]) - _lamp(b, LAMPS[cam_b])
                yield f"{name} against its lamp", a, b, frames / fps, "pictures"


def _lamp(path: Path, box: tuple[int, int, int, int]) -> float:
    """Frame at which the blue lamp in a box of the picture goes on; half of one that is half lit.

    It depends neither on the names of the clips nor on anything that moves. Between two exposures nothing
    tells when it went on, so the offset of two cameras is exact to a frame at worst.
    """
    left, top, right, bottom = box
    blue = np.stack([picture[top:bottom, left:right, 2] for _, picture in Video(path).frames()]).astype(float)
    row, column = np.unravel_index(np.argmax(blue.std(axis=0)), blue.shape[1:])
    lamp = blue[:, row, column]
    step = lamp[2:] - lamp[:-2]
    on = int(np.argmax(step)) + 1  # the frame in which it goes on, or the last dark one
    return on + float((lamp[on + 1] - lamp[on]) / step[on - 1])


def _camera(path: Path) -> tuple[str, int]:
    """Name of the camera and its first frame, of a name such as ``volleyball_cam01_47_123_0.mp4``."""
    parts = re.fullmatch(r".*_([a-z]+\d+)_(\d+)_\d+_\d+", path.stem)
    if parts is None:
        raise SystemExit(f"'{path}' does not have the name of a clip with a known first frame")
    return parts[1], int(parts[2])


def _rendered(folder: Path) -> Iterator[Case]:
    if not any(folder.glob("*/truth.json")):
        for seed, (name, more) in enumerate(
            {
                "fraction": {"offset": 0.2567},
                "portrait": {"offset": -0.3, "size_b": (360, 640)},
                "fast": {"offset": 0.611, "speed": 2.0, "angle": 25},
            }.items(),
            start=31,
        ):
            settings = {"angle": 15, "frames": 60, "size": (640, 360), "seed": seed, "video": True} | more
            render(folder / name, SynthConfig(**settings))
    for clip in sorted(path.parent for path in folder.glob("*/truth.json")):
        yield from _both_ways(clip.name, clip)


def _both_ways(name: str, clip: Path) -> Iterator[Case]:
    truth = json.loads((clip / "truth.json").read_text())["offset_seconds"]
    for use in ("sound", "both", "pictures"):
        yield name, clip / "a.mp4", clip / "b.mp4", truth, use
