"""A garden with a shed."""

from __future__ import annotations

import numpy as np

from wideflow.synth.places.stage import DOOR, GLASS, Thing, flag, laundry, scatter
from wideflow.synth.textures import grounds, woods
from wideflow.synth.textures.noise import Random
from wideflow.synth.things import building, furniture, nature
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.building import panel
from wideflow.synth.things.mesh import at, box, join, rectangle, sheet


def garden(rng: Random) -> list[Body]:
    """Lawn and gravel before a hedge, a shed, trees, fences and hills."""
    lawn = Material(grounds.grass, "ground", 2048)
    back = float(rng.uniform(3.0, 3.6))
    side = float(rng.choice([-1.0, 1.0]))
    bodies = [building.floor(rng, lawn, 0.09), *building.country(rng)]
    bodies.append(_path(rng, side))
    bodies += nature.hedge(
        rng, "hedge", (-side * 4.6 - 2.6, back, 0), (5.2, 0, 0), float(rng.uniform(1.5, 1.9)), 0.7, 0
    )
    bodies += _shed(rng, side * 2.3, back + 0.3)
    boards = Material(woods.painted_boards, "fence", 1024)
    bodies.append(
        building.picket_fence(
            rng, "fence", (side * 3.6 - 1.3, back - 1.6, 0), (2.6, side * 0.5, 0), 0.9, boards
        )
    )
    if rng.random() < 0.4:
        bodies.append(
            building.wire_fence("wire fence", (-3.4, back - 0.35, 0), (3.6, 0.1, 0), 1.2, furniture.IRON)
        )
    bodies += nature.tree(rng, "tree", (-side * 2.3, back - 0.4, 0), float(rng.uniform(3.2, 4.0)), 1)
    bodies += nature.tree(rng, "tree b", (side * 4.4, back + 3.5, 0), 5.0, 2, windy=False)
    bodies += nature.tree(rng, "tree c", (-side * 4.8, back + 4.5, 0), 5.6, 0, windy=False)
    bodies += building.house("house", (-side * 6, back + 15), (8, 6, 4.2), rng.uniform(-0.4, 0.4))
    bodies += nature.bush(rng, "bush", (side * 2.9, 0.8, 0), 0.55, 0.85, 2, 1100)
    weeds = np.stack([rng.uniform(-3.5, 3.5, 14), rng.uniform(1.4, back, 14), np.zeros(14)], 1)
    bodies.append(nature.tufts(rng, weeds, 1))
    bodies += flag(rng, side * 1.9, back - 0.8, 2.1)
    bodies += laundry(rng, (-side * 2.2, back - 0.9, 1.9), (-side * 0.2, back - 0.5, 1.95))
    spots = [(-2.9, -1.1, -0.3, back - 0.6), (1.1, 2.9, -0.3, back - 0.6), (-1.0, 1.0, 1.4, back - 0.7)]
    thin: Thing = (furniture.chair, furniture.bench, furniture.lamp)[rng.integers(3)]
    things = [furniture.crates, furniture.table, thin, furniture.column, furniture.barrel, furniture.sign]
    return bodies + scatter(rng, things, spots)


def _path(rng: Random, side: float) -> Body:
    """A winding path of gravel or slabs, raised a little in its middle."""
    s = np.linspace(0, 1, 60)[:, None]
    across = np.linspace(-1, 1, 8)
    middle = side * (0.7 * np.sin(2.2 * s + rng.uniform(0, 6)) + 0.2)
    wide = 0.5 + 0.06 * np.sin(19 * s) + 0.05 * np.sin(47 * s)
    x, y, z = np.broadcast_arrays(middle + across * wide, 12 * s - 5, 0.003 + 0.02 * (1 - across**2))
    cover = Material((grounds.gravel, grounds.flagstones)[rng.integers(2)], "path", 1024)
    return Body("path", sheet(np.stack([x, y, z], -1), np.stack([x, -y], -1)), cover, smooth=True)


def _shed(rng: Random, x: float, y: float) -> list[Body]:
    """A wooden hut with a door, a window and a roof."""
    boards, tiles = Material(woods.painted_boards, "shed", 1024), Material(grounds.paving, "roof", 512)
    hut = box((2.4, 1.8, 2.0), 0.15).moved((x, y + 0.9, 0))
    low, run = np.array([x - 1.4, y - 0.25, 1.95]), np.array([2.8, 0, 0])
    front = rectangle(low, run, (0, 1.15, 0.75), 0.2)
    roof = join([front, rectangle(low + at(0, 2.3, 0), run, (0, -1.15, 0.75), 0.2)])
    bodies = [Body("shed", hut, boards), Body("shed", roof, tiles)]
    bodies.append(panel("shed", (x - 0.9, y - 0.01, 0.02), (0.8, 0, 0), 1.8, DOOR))
    bodies.append(panel("shed", (x + 0.2, y - 0.01, 0.85), (0.75, 0, 0), 0.75, GLASS))
    return [*bodies, *furniture.ladder(rng, (x + 1.25, y - 0.55), 0.1)]
