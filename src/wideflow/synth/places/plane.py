"""One wall and nothing else: every point of the scene lies in a plane."""

from __future__ import annotations

from wideflow.synth.camera.hands import CENTRE
from wideflow.synth.textures import prints, walls
from wideflow.synth.textures.noise import Random
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.building import panel
from wideflow.synth.things.mesh import rectangle

_PROUD = 0.0005  # metres of a poster before the wall, so that rays know which of the two they meet


def plane(rng: Random) -> list[Body]:
    """A wall that fills both pictures, papered with posters of different sizes."""
    stone = Material((walls.rubble, walls.brick, walls.plaster)[rng.integers(3)], "wall")
    across, up = (14.0, float(rng.uniform(-2, 2)), 0), (0, 0, 9.0)
    corner = CENTRE - [across[0] / 2, across[1] / 2, up[2] / 2]
    bodies = [Body("wall", rectangle(corner, across, up), stone)]
    for i in range(24):
        column, row = i % 6, i // 6
        wide, high = rng.uniform(0.5, 0.95), rng.uniform(0.6, 1.1)
        x = (column - 2.5) * 1.05 + rng.uniform(-0.1, 0.1)
        y = across[1] * x / across[0] - _PROUD
        z = (row - 1.5) * 1.2 - high / 2 + rng.uniform(-0.05, 0.05)
        paper = Material(prints.poster, f"poster {i}", 512)
        run = (wide, wide * across[1] / across[0], 0)
        bodies.append(panel("posters", CENTRE + [x - wide / 2, y - run[1] / 2, z], run, high, paper))
    return bodies
