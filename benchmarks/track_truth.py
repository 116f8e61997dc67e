"""Truth for tracks: rendered clips, and where the points of a query are in all their frames."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from wideflow.synth import SynthConfig
from wideflow.synth.points import FollowedPoints, follow_points
from wideflow.types import Truth

FRAMES, AFTER = 26, 24
_TRUTH = tuple(range(0, FRAMES - 1, 4))
_BASE = SynthConfig(frames=FRAMES, size=(640, 360), video=True, truth_frames=_TRUTH)
# the one that the method was worked on with, and the one that only judges it: another place, another seed
CLIPS = {
    "tuned": {"angle": 14.0, "seed": 711, "place": "courtyard"},
    "untouched": {"angle": 18.0, "seed": 752, "place": "hall"},
}


def clip_config(name: str) -> SynthConfig:
    from dataclasses import replace

    return replace(_BASE, **CLIPS[name])


def render_clip(name: str, folder: Path) -> None:
    """The two videos of a clip, its cameras, and the truth of some frames; nothing if they are there."""
    from wideflow.synth import render

    if not (folder / f"gt1_{_TRUTH[-1]:04d}.npz").exists():
        render(folder, clip_config(name))


def query_pixels(size: tuple[int, int], spacing: int) -> np.ndarray:
    """(N, 2) every so many pixels."""
    from wideflow.tracks.queries import grid_queries

    return grid_queries(size, spacing, 0)[:, :2]


def followed(name: str, folder: Path, starts: tuple[int, ...], spacing: int) -> dict[int, FollowedPoints]:
    """For each moment of queries: where their points are in every frame. Kept beside the clip."""
    found = {}
    studio = None
    config = clip_config(name)
    pixels = query_pixels(config.size, spacing)
    for start in starts:
        kept = folder / f"points_{start}_{spacing}.npz"
        if not kept.exists():
            if studio is None:
                from wideflow.synth.studio import Studio

                studio = Studio(config, os.cpu_count() or 1, None)
                times = []
                for t in range(FRAMES):
                    now = config.time_of(0, t)
                    times.append((studio.scene.state(now), studio.hands[0].view(now)))
            points = follow_points(studio.scene, times, start, pixels)
            np.savez_compressed(kept, xyz=points.xyz, visible=points.visible)
        with np.load(kept) as file:
            found[start] = FollowedPoints(file["xyz"], file["visible"])
    return found


def moving_truth(folder: Path, t: int) -> Truth:
    from wideflow.handheld.truth import read_truth

    return read_truth(folder / f"gt0_{t:04d}.npz")
