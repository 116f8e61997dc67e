"""Small outputs of the stages of a time step, stored with the numbers that the stages had.

After a change of an output, raise its number in ``storage/versions.py`` and run this file.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

import room
from wideflow.evidence import Glimpse
from wideflow.pipeline.step.in_memory import StagesInMemory
from wideflow.pipeline.step.order import STAGE, STAGES
from wideflow.pipeline.step.over_time import Surroundings, grey

STORED = Path(__file__).parent / "data" / "stage_outputs.npz"
SIZE = (64, 48)
MOMENTS = 3
LATE = 0.04  # seconds after A at which B takes its pictures
AROUND = np.arange(2, 12) / 5  # seconds of the other pictures


class Filmed(StagesInMemory):
    """Stages that also have what each camera saw before and after."""

    def _given(self, name: str, t: int) -> Any:
        if name not in ("around", "around_b"):
            return super()._given(name, t)
        camera = self.rig.cameras[name == "around_b"]
        angle = 7.0 if name == "around_b" else -7.0
        views = [room.view(camera, time, angle) for time in AROUND]
        shots = [
            Glimpse(grey(room.picture(view, time)), view) for view, time in zip(views, AROUND, strict=True)
        ]
        return Surroundings(tuple(views), shots.__getitem__)


def scene() -> StagesInMemory:
    """Some moments of the room, seen by two small cameras."""
    cameras = room.camera("a", SIZE), room.camera("b", SIZE)
    frames, pictures = [], []
    for t in range(MOMENTS):
        times = t / 10, t / 10 + LATE
        views = tuple(
            room.view(camera, time, angle)
            for camera, time, angle in zip(cameras, times, (-7.0, 7.0), strict=True)
        )
        frames.append(room.RigFrame(t, times, views, late=LATE))
        pictures.append(tuple(room.picture(view, time) for view, time in zip(views, times, strict=True)))
    return Filmed(pictures, frames)


def outputs() -> list[tuple[str, int]]:
    """Names and moments of what is stored."""
    return [(stage.name, t) for stage in STAGES for t in stage.moments(MOMENTS)]


def arrays_of(value: Any, prefix: str) -> dict[str, np.ndarray]:
    """All arrays in what a stage gives, by name."""
    if is_dataclass(value):
        found: dict[str, np.ndarray] = {}
        for field in fields(value):
            found |= arrays_of(getattr(value, field.name), f"{prefix} {field.name}")
        return found
    return {} if isinstance(value, str) else {prefix: np.asarray(value)}


def give(scene: StagesInMemory, stored: dict[str, np.ndarray]) -> None:
    """Let every stage get what is stored, not what the stages before it give now."""
    for name, t in outputs():
        stage = STAGE[name]
        if stage.kept:  # what is not kept is computed on the way
            values = {field.name: stored[f"{name} {t} {field.name}"] for field in fields(stage.gives)}
            scene._found[name, t] = stage.gives(**values)


def main() -> None:
    now = scene()
    found: dict[str, np.ndarray] = {}
    for name, t in outputs():
        found |= arrays_of(now.get(name, t), f"{name} {t}")
        found[f"version of {name}"] = np.array(STAGE[name].version)
    STORED.parent.mkdir(exist_ok=True)
    np.savez_compressed(STORED, **found)
    print(f"{STORED}: {len(found)} arrays, {STORED.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
