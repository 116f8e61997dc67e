"""The clips of the benchmark's video track: what is filmed, how, and how the two cameras differ.

One half may be looked at while a method is worked on, the other only judges it; names begin with the half.
Both have every place, a tripod, hands and someone who walks, but no clip has the seed of another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wideflow.synth.config import SynthConfig

FRAMES, FPS = 48, 30.0
HALVES = ("tuned", "untouched")
# Every fourth frame and the one after it: motion and flicker need two that follow each other.
TRUTH = tuple(t + i for t in range(4, FRAMES - 2, 4) for i in (0, 1))
_BASE = SynthConfig(frames=FRAMES, fps=FPS, video=True, truth_frames=TRUTH)
# half, path, place, degrees, seed, frames by which B started later, what else differs
_Row = tuple[str, str, str, float, int, float, dict[str, Any]]
_ROWS: tuple[_Row, ...] = (
    ("tuned", "hands", "courtyard", 14, 601, 6.5, {"stops": (0.0, 0.8)}),
    ("tuned", "walk", "hall", 24, 602, -5.0, {"photometric": "strong", "tremor": 1.5}),
    ("tuned", "tripod", "hall", 18, 603, 4.0, {"stops": (-0.3, 0.3)}),
    ("tuned", "hands", "garden", 9, 604, -7.5, {"tremor": 0.4}),
    ("untouched", "hands", "hall", 15, 651, 5.5, {"stops": (0.0, 0.9)}),
    ("untouched", "walk", "garden", 20, 652, 7.0, {"photometric": "strong", "tremor": 1.3}),
    ("untouched", "tripod", "courtyard", 12, 653, -3.5, {"stops": (0.3, -0.4)}),
    ("untouched", "hands", "courtyard", 30, 654, -6.0, {"photometric": "strong"}),
    ("untouched", "walk", "hall", 8, 655, 3.5, {"movers": 0.25}),
    ("tuned", "hands", "garden", 29, 605, 5.0, {"tremor": 1.5}),
)


def video_suite(size: tuple[int, int]) -> dict[str, SynthConfig]:
    """Name and configuration of every clip, at a picture size."""
    return {f"{row[0]}-{row[1]}-{row[2]}-{row[3]:02g}": replace(_clip(row), size=size) for row in _ROWS}


def _clip(row: _Row) -> SynthConfig:
    _, path, place, angle, seed, late, more = row
    return replace(_BASE, path=path, place=place, angle=float(angle), seed=seed, offset=late / FPS, **more)
