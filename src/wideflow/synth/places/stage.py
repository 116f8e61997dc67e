"""What every place has: light, performers, things that stand about, flags and laundry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wideflow.synth.rendering.scene import Light
from wideflow.synth.textures import prints, woods
from wideflow.synth.textures.noise import Random
from wideflow.synth.things import building, furniture, movers
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.mesh import rod

Thing = Callable[[Random, tuple[float, float], float], list[Body]]
GLASS = Material(prints.window, "window", 512, gloss=0.8)
DOOR = Material(prints.door, "door", 512)


def daylight(rng: Random, inside: bool) -> Light:
    """Sun behind or beside the cameras, so that what they see is lit; softer inside."""
    azimuth = np.radians(rng.choice([-1, 1]) * rng.uniform(25, 75))
    elevation = np.radians(rng.uniform(48, 62) if inside else rng.uniform(32, 52))
    direction = (np.cos(elevation) * np.sin(azimuth), -np.cos(elevation) * np.cos(azimuth), np.sin(elevation))
    warm = rng.uniform(0.0, 1.0)
    sun = np.array([1.0, 0.93 - 0.08 * warm, 0.82 - 0.2 * warm]) * (1.5 if inside else 2.6)
    strength = rng.uniform(0.9, 1.1) * (1.1 if inside else 0.8)
    zenith = np.array([0.36, 0.58, 1.05] if not inside else [0.95, 0.97, 1.0]) * strength
    horizon = np.array([0.9, 1.05, 1.2] if not inside else [0.9, 0.88, 0.84]) * strength
    bounce = np.array([0.42, 0.36, 0.29]) * (1.0 if inside else 0.8)
    radius = 0.05 if inside else rng.uniform(0.008, 0.02)
    return Light(
        direction=(float(direction[0]), float(direction[1]), float(direction[2])),
        sun=tuple(sun.tolist()),
        zenith=tuple(zenith.tolist()),
        horizon=tuple(horizon.tolist()),
        ground=tuple(bounce.tolist()),
        radius=float(radius),
    )


def performers(rng: Random) -> list[Body]:
    """What moves on the stage: figure, soft body, ball, tumbling box."""
    side = rng.choice([-1.0, 1.0])
    figure_at = (float(side * rng.uniform(0.25, 0.6)), float(rng.uniform(0.1, 0.6)))
    soft_at = (float(-side * rng.uniform(0.75, 1.15)), float(rng.uniform(-0.5, 0.1)))
    box_at = (
        float(-side * rng.uniform(0.2, 0.7)),
        float(rng.uniform(0.9, 1.4)),
        float(rng.uniform(1.25, 1.6)),
    )
    face = (
        furniture.CRATE,
        Material(prints.poster, "box poster", 512),
        Material(woods.rug, "box cloth", 512),
    )[rng.integers(3)]
    return [
        *movers.figure(rng, figure_at, float(rng.uniform(-0.5, 0.5)) + np.pi),
        movers.soft_body(rng, soft_at, float(rng.uniform(0.24, 0.34))),
        movers.thrown_ball(rng, float(rng.uniform(-0.9, -0.6))),
        movers.tumbling_box(rng, box_at, face),
    ]


def scatter(rng: Random, things: list[Thing], spots: list[tuple[float, float, float, float]]) -> list[Body]:
    """Put five of the things into random free spots (x from, to, y from, to) of the stage."""
    taken = [(0.0, 0.3, 0.85), (-0.9, -0.2, 0.45), (0.9, -0.2, 0.45)]  # the performers: x, y, radius
    bodies: list[Body] = []
    for i in sorted(rng.permutation(len(things))[:5]):
        radius = furniture.RADIUS.get(things[i].__name__, 0.35)
        for _ in range(60):
            left, right, near, far = spots[rng.integers(len(spots))]
            x, y = float(rng.uniform(left, right)), float(rng.uniform(near, far))
            if all(np.hypot(x - a, y - b) > radius + r for a, b, r in taken):
                taken.append((x, y, radius))
                bodies += things[i](rng, (x, y), float(rng.uniform(-0.6, 0.6)))
                break
    return bodies


def flag(rng: Random, x: float, y: float, height: float) -> list[Body]:
    """A pole with a flag that streams to the side."""
    way = -np.sign(x)
    pole = rod((x, y, 0), (x, y, height + 0.1), 0.02, 10, 16)
    material = Material(
        (woods.weave, woods.print_cloth, prints.poster)[rng.integers(3)], "flag", 1024, through=0.3
    )
    size = rng.uniform(0.85, 1.15)
    sheet = movers.cloth(
        rng,
        "flag",
        (x, y, height - 0.65 * size),
        (way * size, -0.25, 0),
        (0, 0, 0.65 * size),
        "left",
        material,
    )
    return [Body("flag pole", pole, furniture.IRON, smooth=True), sheet]


def laundry(rng: Random, a: tuple[float, float, float], b: tuple[float, float, float]) -> list[Body]:
    """A line between two points with sheets of cloth on it."""
    rope = building.cable("line", a, b, 0.06, furniture.TIMBER)
    start, end = np.array(a), np.array(b)
    bodies = [rope]
    for i, (low, high) in enumerate(((0.1, 0.42), (0.52, 0.72), (0.78, 0.93))):
        drop = rng.uniform(0.5, 0.95)
        corner = start + (end - start) * low - [0, 0, drop + 0.05]
        draw = (woods.print_cloth, woods.weave, woods.rug)[(i + int(rng.integers(3))) % 3]
        material = Material(draw, f"laundry {draw.__name__}", 512, through=0.35)
        bodies.append(
            movers.cloth(
                rng, f"laundry {i}", corner, (end - start) * (high - low), (0, 0, drop), "top", material
            )
        )
    return bodies
