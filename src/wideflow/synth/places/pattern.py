"""A square between houses of identical windows: whatever is seen is seen many times."""

from __future__ import annotations

from wideflow.synth.places.stage import GLASS
from wideflow.synth.textures import grounds, walls
from wideflow.synth.textures.noise import Random
from wideflow.synth.things import building
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.building import panel, wall
from wideflow.synth.things.mesh import box

_BAY = 0.9  # metres from window to window


def pattern(rng: Random) -> list[Body]:
    """Three walls with rows of one window and pilasters between them, and a floor of one tile."""
    tiles = Material(grounds.floor_tiles, "ground", 512, scale=0.25)
    paper = Material((walls.wallpaper, walls.brick)[rng.integers(2)], "wall", 512, scale=0.4)
    back = float(rng.uniform(2.2, 2.8))
    height, half = 3.6, 4.5 * _BAY
    ground_body = building.floor(rng, tiles)
    bodies = [
        Body("ground", ground_body.mesh, tiles, smooth=True)
    ]  # no blotches: they would tell places apart
    bodies += _front(rng, (-half, back), (1, 0), 9, height, paper)
    bodies += _front(rng, (-half, back - 5 * _BAY), (0, 1), 5, height, paper)
    bodies += _front(rng, (half, back), (0, -1), 5, height, paper)
    return bodies


def _front(
    rng: Random,
    corner: tuple[float, float],
    along: tuple[int, int],
    bays: int,
    height: float,
    material: Material,
) -> list[Body]:
    """A wall of ``bays`` from ``corner`` along x or y; each has three windows, one above the other."""
    x, y = corner
    way, inwards = (along[0], along[1], 0), (along[1], -along[0])
    openings = [
        (i * _BAY + 0.2, i * _BAY + 0.7, low, low + 0.75) for i in range(bays) for low in (0.3, 1.4, 2.5)
    ]
    run = (way[0] * bays * _BAY, way[1] * bays * _BAY, 0)
    front = wall("wall", (x, y, 0), run, height, material, openings, 0.15, shade=rng)
    bodies = [Body("wall", front.mesh, material)]
    for left, right, low, high in openings:
        sill = (x + way[0] * left - 0.12 * inwards[0], y + way[1] * left - 0.12 * inwards[1], low)
        bodies.append(
            panel("windows", sill, (way[0] * (right - left), way[1] * (right - left), 0), high - low, GLASS)
        )
    for i in range(bays + 1):
        pilaster = box((0.12, 0.12, height), 0.3).moved((x + way[0] * i * _BAY, y + way[1] * i * _BAY, 0))
        bodies.append(Body("pilasters", pilaster, material))
    return bodies
