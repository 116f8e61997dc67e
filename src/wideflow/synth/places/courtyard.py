"""An old courtyard."""

from __future__ import annotations

import numpy as np

from wideflow.synth.places.stage import DOOR, GLASS, Thing, flag, laundry, scatter
from wideflow.synth.textures import grounds, prints, walls
from wideflow.synth.textures.noise import Random
from wideflow.synth.things import building, furniture, nature
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.building import panel, wall
from wideflow.synth.things.mesh import box


def courtyard(rng: Random) -> list[Body]:
    """Paved yard between old walls with doors, windows, ivy and a gate to the street."""
    paving = (grounds.cobbles, grounds.flagstones, grounds.paving, grounds.asphalt)[rng.integers(4)]
    back, left, right = rng.uniform((2.6, -4.0, 3.3), (3.2, -3.4, 3.9)).tolist()
    height = float(rng.uniform(2.5, 3.4))
    bodies = [building.floor(rng, Material(paving, "ground", 2048), 0.04), *building.country(rng)]
    bodies += _back_wall(rng, left, right, back, height)
    bodies += _side_walls(rng, left, right, back, height)
    bodies += building.house("house", (right + 0.5, back + 9), (7, 5, 5), rng.uniform(-0.3, 0.2))
    bodies += building.house("house b", (left - 3, back + 14), (8, 5, 7.5), rng.uniform(-0.2, 0.3))
    bodies.append(
        nature.ivy(rng, "ivy", (left + 0.4, back, 0), (0.5 * (right - left), 0, 0), 0.9 * height, 0)
    )
    weeds = np.stack([rng.uniform(left, right - 1, 26), np.full(26, back - 0.04), np.zeros(26)], 1)
    bodies.append(nature.tufts(rng, weeds, 1))
    bodies += laundry(rng, (left + 0.05, back - 0.9, 2.25), (0.3, back - 0.02, 2.3))
    bodies += flag(rng, right - 1.4, back - 0.9, 2.2)
    near, far = -0.3, back - 0.5
    spots = [(left + 0.6, -1.1, near, far), (1.0, right - 0.6, near, far), (-1.0, 1.0, 1.4, far)]
    thin: Thing = (furniture.bicycle, furniture.bench, furniture.lamp, furniture.ladder)[rng.integers(4)]
    things = [furniture.crates, thin, furniture.pot, furniture.barrel, furniture.column, furniture.sign]
    return bodies + scatter(rng, things, spots)


def _back_wall(rng: Random, left: float, right: float, back: float, height: float) -> list[Body]:
    """Plaster over brick with a door and two windows."""
    door, first = float(rng.uniform(0.6, 1.6)), float(rng.uniform(2.4, 3.2))
    windows = [(x, x + 0.9, 0.9, 2.1) for x in (first, first + 1.7)]
    openings = [(door, door + 1.0, 0.0, 2.05), *windows]
    plaster = Material(walls.plaster, "plaster")
    length = (right - left - 1.2, 0, 0)
    bodies = [wall("back wall", (left, back, 0), length, height, plaster, openings, shade=rng)]
    bodies.append(panel("door", (left + door, back + 0.2, 0), (1.0, 0, 0), 2.05, DOOR))
    for x, *_ in windows:
        bodies.append(panel("windows", (left + x, back + 0.2, 0.9), (0.9, 0, 0), 1.2, GLASS))
        sill = box((1.05, 0.16, 0.05), 0.2).moved((left + x + 0.45, back - 0.05, 0.86))
        bodies.append(Body("back wall", sill, furniture.TIMBER))
    return bodies


def _side_walls(rng: Random, left: float, right: float, back: float, height: float) -> list[Body]:
    """Brick or rubble walls at both sides, piers and buttresses, a poster."""
    stone = Material((walls.brick, walls.rubble)[rng.integers(2)], "stone wall")
    hole = [(1.2, 2.4, 1.0, 2.0)]
    bodies = [wall("left wall", (left, -3, 0), (0, back + 3, 0), 0.9 * height, stone, hole, shade=rng)]
    run = (0, -back - 3.2, 0)
    bodies.append(wall("right wall", (right, back + 1.5, 0), run, 0.8 * height, stone, shade=rng))
    pier = box((0.5, 0.5, 1.05 * height), 0.15).moved((right - 1.2, back + 0.1, 0))
    bodies.append(Body("pier", pier, stone))
    for share in (0.36, 0.62):
        buttress = box((0.35, 0.3, 0.8 * height), 0.15)
        x = left + (right - left) * share
        bodies.append(Body("buttress", buttress.moved((x, back - 0.1, 0)), stone))
    bill = Material(prints.poster, "wall poster", 512)
    bodies.append(panel("poster", (left + 0.01, 0.2, 0.9), (0, 0.8, 0), 1.0, bill))
    return bodies
