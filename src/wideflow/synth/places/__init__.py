"""Kinds of place, each different for every seed."""

from __future__ import annotations

import numpy as np

from wideflow.synth.places.courtyard import courtyard
from wideflow.synth.places.garden import garden
from wideflow.synth.places.hall import hall
from wideflow.synth.places.pattern import pattern
from wideflow.synth.places.plane import plane
from wideflow.synth.places.stage import daylight, performers
from wideflow.synth.rendering.scene import Light
from wideflow.synth.things.body import Body
from wideflow.synth.things.movers import quicken


def place(seed: int, speed: float, name: str | None = None) -> tuple[list[Body], Light]:
    """Bodies and light of the place ``name``, or of the one that ``seed`` chooses.

    What moves does so ``speed`` times as fast. Nobody performs before the plane: it is all there is.
    """
    rng = np.random.default_rng([seed, 1])
    name = name or place_name(seed)
    build = {"courtyard": courtyard, "garden": garden, "hall": hall, "plane": plane, "pattern": pattern}
    bodies = build[name](rng)
    if name != "plane":
        bodies += performers(rng)
    return [quicken(body, speed) for body in bodies], daylight(rng, inside=name == "hall")


def place_name(seed: int) -> str:
    """Kind of place that a seed chooses: the three take turns."""
    return ("courtyard", "garden", "hall")[seed % 3]
