"""A hall under a skylight."""

from __future__ import annotations

import numpy as np

from wideflow.synth.places.stage import DOOR, Thing, scatter
from wideflow.synth.textures import grounds, prints, walls, woods
from wideflow.synth.textures.noise import Random
from wideflow.synth.things import building, furniture, movers
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.building import panel, wall
from wideflow.synth.things.mesh import box, join, rectangle


def hall(rng: Random) -> list[Body]:
    """A high room under a skylight: boards or tiles, papered walls, books, windows, curtains."""
    cover = (woods.planks, grounds.floor_tiles, woods.planks)[rng.integers(3)]
    paper = Material((walls.wallpaper, walls.plaster)[rng.integers(2)], "paper")
    stone = Material((walls.brick, walls.marble, walls.plaster)[rng.integers(3)], "pillar wall", 1024)
    back, left, right = (
        float(rng.uniform(2.7, 3.2)),
        float(-rng.uniform(3.2, 3.8)),
        float(rng.uniform(3.2, 3.8)),
    )
    height = 3.8
    first = float(rng.uniform(0.8, 1.4))
    openings = [(first + 2.0 * i, first + 2.0 * i + 1.15, 0.75, 2.5) for i in range(3)]
    bodies = [building.floor(rng, Material(cover, "ground", 2048, gloss=0.12)), *building.country(rng)]
    bodies.append(
        wall("back wall", (left, back, 0), (right - left, 0, 0), height, paper, openings, 0.35, shade=rng)
    )
    outside = Material(prints.window, "bright window", 512, glow=1.6)
    for hole in openings:
        bodies.append(panel("windows", (left + hole[0], back + 0.3, 0.75), (1.15, 0, 0), 1.75, outside))
    bodies.append(wall("left wall", (left, -3.5, 0), (0, back + 3.5, 0), height, paper, shade=rng))
    bodies.append(
        wall(
            "right wall",
            (right, back, 0),
            (0, -back - 3.5, 0),
            height,
            stone,
            [(1.0, 2.0, 0.0, 2.1)],
            shade=rng,
        )
    )
    bodies.append(panel("door", (right + 0.2, back - 1.0, 0), (0, -1.0, 0), 2.1, DOOR))
    for x in (left + first - 0.5, left + first + 1.55, left + first + 3.6):
        bodies.append(Body("pillar", box((0.3, 0.24, height), 0.15).moved((x, back - 0.12, 0)), stone))
    skirting = box((right - left, 0.03, 0.14), 0.2).moved(((left + right) / 2, back - 0.02, 0))
    bodies.append(Body("skirting", skirting, furniture.TIMBER))
    bodies += _bookcase(rng, left + 0.25, 1.2)
    carpet = rectangle((-1.6, -1.0, 0.012), (3.2, 0.2, 0), (-0.1, 2.2, 0), 0.1, fit=True)
    bodies.append(Body("rug", carpet, Material(woods.rug, "rug", 1024), fit=True))
    for i in range(3):
        paint = Material(prints.poster, f"painting {i}", 512)
        at = (left + 0.02, -0.2 - 0.9 * i, 1.3 + 0.2 * (i % 2))
        bodies.append(panel("paintings", at, (0, 0.7, 0), 0.8, paint))
    for i, hole in enumerate(openings[:2]):
        drape = Material((woods.print_cloth, woods.weave)[i], f"curtain {i}", 512, through=0.5)
        corner = (left + hole[0] - 0.1, back - 0.08, 0.55)
        bodies.append(movers.cloth(rng, f"curtain {i}", corner, (0.62, 0, 0), (0, 0, 2.05), "top", drape))
    bodies.append(building.cable("lamp cable", (left, 1.2, 3.3), (right, 1.6, 3.3), 0.7, furniture.IRON))
    spots = [
        (left + 0.8, -1.1, -0.3, back - 0.6),
        (1.1, right - 0.6, -0.3, back - 0.6),
        (-1.0, 1.0, 1.4, back - 0.6),
    ]
    thin: Thing = (furniture.chair, furniture.lamp, furniture.ladder)[rng.integers(3)]
    things = [furniture.table, furniture.pot, thin, furniture.column, furniture.crates, furniture.sign]
    return bodies + scatter(rng, things, spots)


def _bookcase(rng: Random, x: float, y: float) -> list[Body]:
    """Shelves of books along the left wall, seen from the side."""
    frame = [box((0.34, 0.05, 2.1), 0.2).moved((x, y + s, 0)) for s in (-0.75, 0.75)]
    frame += [box((0.34, 1.5, 0.035), 0.2).moved((x, y, z)) for z in (0.05, 0.45, 0.85, 1.25, 1.65, 2.07)]
    books = []
    for z in (0.085, 0.485, 0.885, 1.285, 1.685):
        at = y - 0.72
        while at < y + 0.68:
            thick = rng.uniform(0.02, 0.055)
            tall = rng.uniform(0.2, 0.34)
            deep = rng.uniform(0.18, 0.24)
            books.append(box((deep, thick, tall), 1.0).moved((x + 0.14 - deep / 2, at + thick / 2, z)))
            at += thick + (0.12 if rng.random() < 0.06 else 0.001)
    mesh = join(books)
    tint = np.repeat(rng.uniform(0.3, 1.3, (len(books), 3)), len(mesh.vertices) // len(books), axis=0).astype(
        np.float32
    )
    backs = Material(prints.spines, "books", 1024)
    return [Body("bookcase", join(frame), furniture.TIMBER), Body("books", mesh, backs, tint=tint)]
