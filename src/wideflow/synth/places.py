"""Three kinds of place, each different for every seed."""

from __future__ import annotations

import numpy as np

from wideflow.synth.body import Body
from wideflow.synth.movers import quicken
from wideflow.synth.place_courtyard import courtyard
from wideflow.synth.place_garden import garden
from wideflow.synth.place_hall import hall
from wideflow.synth.scene import Light
from wideflow.synth.stage import daylight, performers


def place(seed: int, speed: float) -> tuple[list[Body], Light]:
    """Bodies and light of the place that ``seed`` chooses; what moves does so ``speed`` times as fast."""
    rng = np.random.default_rng([seed, 1])
    name = place_name(seed)
    bodies = {"courtyard": courtyard, "garden": garden, "hall": hall}[name](rng)
    bodies += performers(rng)
    return [quicken(body, speed) for body in bodies], daylight(rng, inside=name == "hall")


def place_name(seed: int) -> str:
    """Kind of place of a seed: the three take turns."""
    return ("courtyard", "garden", "hall")[seed % 3]
