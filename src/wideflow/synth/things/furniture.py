"""Things that stand about: each function returns the bodies of one object around a place on the ground."""

from __future__ import annotations

import numpy as np

from wideflow.synth.textures import prints, walls, woods
from wideflow.synth.textures.noise import Random
from wideflow.synth.things import nature
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.mesh import Mesh, at, box, join, lathe, rectangle, rod, rotation, sphere, tube

Place = tuple[float, float]
TIMBER = Material(woods.timber, "timber", 1024)
IRON = Material(walls.rust, "iron", 512, gloss=0.3)
CRATE = Material(woods.crate, "crate", 1024)
PALE_CRATE = Material(woods.crate, "pale crate", 1024)
RADIUS = {
    "crates": 0.6,
    "bicycle": 0.6,
    "bench": 0.7,
    "table": 0.65,
    "sign": 0.4,
    "ladder": 0.4,
    "lamp": 0.25,
}  # metres taken


def _put(mesh: Mesh, place: Place, turn: float) -> Mesh:
    return mesh.moved((*place, 0.0), turn)


def crates(rng: Random, place: Place, turn: float) -> list[Body]:
    """A stack of two or three crates, not quite flush."""
    side = rng.uniform(0.45, 0.6)
    bodies = []
    for i, (x, z) in enumerate(((-0.35, 0.0), (0.33, 0.0), (-0.3, side * 1.01))):
        if i == 1 and rng.random() < 0.4:
            continue
        size = side * (0.96 if i else 1.1) * np.array([1, 1, 0.92])
        cube = box(size, 0.12, fit=True).moved((x, rng.normal(0, 0.04), z), rng.normal(0, 0.12))
        bodies.append(Body("crates", _put(cube, place, turn), (CRATE, PALE_CRATE, CRATE)[i], fit=True))
    return bodies


def barrel(rng: Random, place: Place, turn: float) -> list[Body]:
    """Staves and three hoops."""
    height, radius = rng.uniform(0.75, 0.9), rng.uniform(0.27, 0.32)
    s = np.linspace(0, 1, 14)
    bulge = radius * (0.82 + 0.18 * np.sin(np.pi * s))
    wall = np.stack([bulge, s * height], 1)
    lid = np.array([[bulge[-1] - 0.02, height], [bulge[-1] - 0.02, height - 0.04], [0.001, height - 0.04]])
    staves = lathe(np.vstack([wall, lid]), 36)
    hoops = []
    for share in (0.12, 0.5, 0.88):
        r, z = radius * (0.82 + 0.18 * np.sin(np.pi * share)) + 0.006, share * height
        hoops.append(lathe([[r, z - 0.025], [r + 0.006, z], [r, z + 0.025]], 36))
    material = Material(woods.painted_boards, "staves", 512, scale=0.5)
    return [
        Body("barrel", _put(staves, place, turn), material, smooth=True),
        Body("barrel", _put(join(hoops), place, turn), IRON, smooth=True),
    ]


def bench(rng: Random, place: Place, turn: float) -> list[Body]:
    """A slatted bench with a back rest and iron legs."""
    length = rng.uniform(1.2, 1.5)
    slats = [box((length, 0.09, 0.035), 0.2).moved((0, y, 0.43)) for y in (-0.16, -0.05, 0.06, 0.17)]
    tilt = rotation((1, 0, 0), -0.2)
    slats += [
        box((length, 0.03, 0.09), 0.2).moved((0, 0.25 + 0.03 * i, 0.55 + 0.13 * i), tilt=tilt)
        for i in range(3)
    ]
    legs = []
    for x in (-length / 2 + 0.12, length / 2 - 0.12):
        legs += [rod((x, -0.18, 0), (x, -0.16, 0.44), 0.018), rod((x, 0.2, 0), (x, 0.34, 0.9), 0.018)]
        legs.append(rod((x, -0.17, 0.42), (x, 0.22, 0.42), 0.015))
    board = Material(woods.painted_boards, "bench", 512, scale=0.6)
    return [
        Body("bench", _put(join(slats), place, turn), board),
        Body("bench", _put(join(legs), place, turn), IRON, smooth=True),
    ]


def pot(rng: Random, place: Place, turn: float) -> list[Body]:
    """A pot with earth and a shrub in the wind."""
    r, h = rng.uniform(0.2, 0.27), rng.uniform(0.35, 0.5)
    outside = [(r * 0.6, 0), (r * 0.68, 0.05), (r * 0.9, h * 0.6), (r, h * 0.86), (r * 1.12, h * 0.88)]
    profile = [*outside, (r * 1.12, h), (r * 0.98, h), (r * 0.95, h - 0.05), (0.001, h - 0.05)]
    name = "plant"
    clay = Material(walls.terrazzo if rng.random() < 0.3 else walls.marble, "pot", 512, gloss=0.2)
    foot = (place[0], place[1], h - 0.05)
    plant = nature.bush(
        rng, name, foot, rng.uniform(0.3, 0.42), rng.uniform(0.5, 0.85), int(rng.integers(3)), 520
    )
    return [Body(name, _put(lathe(profile, 40), place, turn), clay, smooth=False), *plant]


def table(rng: Random, place: Place, turn: float) -> list[Body]:
    """A table with four thin legs, a cloth, and crockery on it."""
    top = box((1.1, 0.7, 0.04), 0.15).moved((0, 0, 0.70))
    legs = [rod((x, y, 0), (0.96 * x, 0.96 * y, 0.71), 0.022) for x in (-0.48, 0.48) for y in (-0.28, 0.28)]
    runner = join(
        [
            rectangle((-0.3, -0.356, 0.52), (0.6, 0, 0), (0, 0, 0.226)),
            rectangle((-0.3, -0.356, 0.746), (0.6, 0, 0), (0, 0.71, 0)),
        ]
    )
    bowls = []
    for x in (-0.36, 0.02, 0.33):
        r = rng.uniform(0.05, 0.11)
        bowl = lathe(
            [(r * 0.5, 0), (r * 0.8, r * 0.4), (r, r), (r * 0.93, r), (r * 0.6, r * 0.3), (0.001, r * 0.2)],
            24,
        )
        bowls.append(bowl.moved((x, rng.uniform(-0.15, 0.15), 0.75)))
    cloth = Material(woods.weave, "runner", 512, scale=0.5)
    ware = Material(walls.terrazzo, "ware", 512, gloss=0.8, scale=0.4)
    return [
        Body("table", _put(top, place, turn), TIMBER),
        Body("table", _put(join(legs), place, turn), TIMBER, smooth=True),
        Body("table", _put(runner, place, turn), cloth),
        Body("bowls", _put(join(bowls), place, turn), ware, smooth=True),
    ]


def chair(rng: Random, place: Place, turn: float) -> list[Body]:
    """A chair of thin rods with a woven seat."""
    rods = [rod((x, -0.2, 0), (x, -0.19, 0.46), 0.016) for x in (-0.2, 0.2)]
    rods += [rod((x, 0.2, 0), (x, 0.27, 0.95), 0.016) for x in (-0.2, 0.2)]
    rods += [
        rod((-0.2, 0.19 + 0.07 * i, 0.5 + 0.2 * i), (0.2, 0.19 + 0.07 * i, 0.5 + 0.2 * i), 0.012)
        for i in (0.5, 1.2, 2)
    ]
    rods += [rod((-0.2, y, 0.2), (0.2, y, 0.2), 0.01) for y in (-0.2, 0.2)]
    rods += [rod((x, 0.22, 0.6), (x, 0.27, 0.92), 0.006) for x in (-0.12, -0.04, 0.04, 0.12)]
    seat = box((0.44, 0.44, 0.035), 0.15).moved((0, 0, 0.45))
    cane = Material(woods.weave, "cane", 512, scale=0.4)
    name = "chair"
    return [
        Body(name, _put(join(rods), place, turn), TIMBER, smooth=True),
        Body(name, _put(seat, place, turn), cane),
    ]


def column(rng: Random, place: Place, turn: float) -> list[Body]:
    """A stone column with base and capital, and a ball or an urn on a low one."""
    low = rng.random() < 0.6
    h, r = (rng.uniform(0.8, 1.1), 0.17) if low else (2.4, 0.16)
    base = [(r * 1.5, 0), (r * 1.5, 0.1), (r * 1.25, 0.14), (r * 1.15, 0.2), (r, 0.25)]
    capital = [(r * 1.1, h - 0.15), (r * 1.2, h - 0.1), (r * 1.4, h - 0.08), (r * 1.4, h), (0.001, h)]
    profile = [*base, (r * 0.93, h - 0.2), *capital]
    turn_by = np.linspace(0, 2 * np.pi, 49)
    shaft = lathe(profile, 48)
    rings = shaft.vertices.reshape(len(profile), 49, 3)
    rings[4:6, :, :2] *= (1 - 0.06 * np.abs(np.cos(8 * turn_by)))[None, :, None]
    stone = Material(walls.marble, "column", 1024, gloss=0.15)
    bodies = [Body("column", _put(shaft, place, turn), stone)]
    if low:
        urn = sphere(rng.uniform(0.14, 0.2), 24, 36)
        urn = urn.moved((0, 0, h - urn.vertices[:, 2].min()))
        glaze = Material(walls.terrazzo, "urn", 512, gloss=0.9, scale=0.5)
        bodies.append(Body("urn", _put(urn, place, turn), glaze, smooth=True, solid=True))
    return bodies


def lamp(rng: Random, place: Place, turn: float) -> list[Body]:
    """A thin lamp post with a shade."""
    height = rng.uniform(1.9, 2.4)
    arm = np.array(
        [[0, 0, height], [0.06, 0, height + 0.12], [0.2, 0, height + 0.16], [0.34, 0, height + 0.06]]
    )
    parts = [rod((0, 0, 0.05), (0, 0, height), 0.022, 10), tube(arm, 0.014, 8, (0, 1, 0))]
    parts.append(lathe([(0.16, 0), (0.16, 0.03), (0.03, 0.07)], 24))
    shade = lathe([(0.14, -0.14), (0.11, -0.02), (0.02, 0.03)], 24).moved((0.34, 0, height + 0.06))
    return [
        Body("lamp", _put(join(parts), place, turn), IRON, smooth=True),
        Body(
            "lamp",
            _put(shade, place, turn),
            Material(walls.rust, "shade", 512, gloss=0.4),
            smooth=True,
        ),
    ]


def sign(rng: Random, place: Place, turn: float) -> list[Body]:
    """A leaning board with a poster."""
    board = box((0.62, 0.03, 0.9), 0.15)
    paper = rectangle((-0.28, -0.02, 0.05), (0.56, 0, 0), (0, 0, 0.8), fit=True)
    tilt = rotation((1, 0, 0), -0.18)
    leg = rod((0, 0.32, 0), (0, 0.12, 0.75), 0.015)
    poster = Material(prints.poster, "sign poster", 512)
    return [
        Body("sign", _put(join([board.moved(tilt=tilt), leg]), place, turn), TIMBER),
        Body("sign", _put(paper.moved(tilt=tilt), place, turn), poster, fit=True),
    ]


def bicycle(rng: Random, place: Place, turn: float) -> list[Body]:
    """Two wheels with spokes, a frame of tubes, saddle and handlebar."""
    ring = np.linspace(0, 2 * np.pi, 41)
    tyres, metal = [], []
    for x in (-0.52, 0.52):
        circle = np.stack([x + 0.33 * np.cos(ring), 0 * ring, 0.34 + 0.33 * np.sin(ring)], 1)
        tyres.append(tube(circle, 0.016, 8, (0, 1, 0)))
        metal.append(rod((x, -0.05, 0.34), (x, 0.05, 0.34), 0.02))
        for spoke in ring[:-1:3]:
            metal.append(
                rod((x, 0.0, 0.34), (x + 0.32 * np.cos(spoke), 0, 0.34 + 0.32 * np.sin(spoke)), 0.0025, 4, 2)
            )
    rear, front, crank = at(-0.52, 0, 0.34), at(0.52, 0, 0.34), at(-0.05, 0, 0.3)
    seat, head = at(-0.2, 0, 0.82), at(0.37, 0, 0.8)
    for a, b in ((rear, crank), (rear, seat), (crank, seat), (crank, head), (seat, head), (head, front)):
        metal.append(rod(a, b, 0.014))
    metal += [rod(seat, at(-0.24, 0, 0.95), 0.014), rod(head, at(0.34, 0, 0.98), 0.014)]
    bar = [(0.22, -0.26, 0.98), (0.36, -0.2, 1.0), (0.34, 0, 0.99), (0.36, 0.2, 1.0), (0.22, 0.26, 0.98)]
    metal.append(tube(bar, 0.011, 8, (0, 0, 1)))
    saddle = sphere(0.09, 10, 16).moved((-0.24, 0, 0.98), scale=(1.5, 0.8, 0.5))
    lean = rotation((1, 0, 0), -0.1)
    rubber = _put(join([*tyres, saddle]).moved(tilt=lean), place, turn)
    dark = np.full((len(rubber.vertices), 3), 0.12, np.float32)
    paint = Material(walls.rust, "frame", 256, gloss=0.5)
    return [
        Body("bicycle", rubber, Material(walls.rust, "tyre", 256), smooth=True, tint=dark),
        Body("bicycle", _put(join(metal).moved(tilt=lean), place, turn), paint, smooth=True),
    ]


def ladder(rng: Random, place: Place, turn: float) -> list[Body]:
    """A ladder that leans backwards."""
    top, half = at(0, 0.7, 2.6), at(0.2, 0, 0)
    parts = [rod(side, top + side, 0.022, pieces=16) for side in (-half, half)]
    parts += [rod(s * top - half, s * top + half, 0.014) for s in np.arange(0.1, 0.98, 0.11)]
    return [Body("ladder", _put(join(parts), place, turn), TIMBER, smooth=True)]
