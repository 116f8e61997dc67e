"""What moves by itself: a figure, a soft body, cloth, a thrown ball, a tumbling box. Time in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from wideflow.synth.textures import prints, walls, woods
from wideflow.synth.textures.noise import Random
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.mesh import (
    Mesh,
    Points,
    at,
    box,
    lathe,
    rotation,
    sheet,
    sphere,
    tube,
    tube_points,
)

_FORWARD = (0.0, 1.0, 0.0)
Skeleton = Callable[[float], dict[str, Points]]


def quicken(body: Body, speed: float) -> Body:
    """The same body living ``speed`` times as fast."""
    pose = body.pose
    if pose is None:
        return body
    return replace(body, pose=lambda time: pose(speed * time))


def _bend(a: Points, joint: Points, b: Points, count: int) -> Points:
    """Smooth path (count, 3) from a to b that passes near ``joint``."""
    s = np.linspace(0, 1, count)[:, None]
    pull = 2 * joint - 0.5 * (a + b)
    return (1 - s) ** 2 * a + 2 * s * (1 - s) * pull + s**2 * b


def _dance(rng: Random) -> Skeleton:
    """Joints of a dancing figure over time, standing at the origin: x is its left and right, y its front."""
    beat = 2 * np.pi * rng.uniform(0.8, 1.1)
    phase = rng.uniform(0, 2 * np.pi, 8)
    reach = rng.uniform(0.55, 0.95, 2)
    rest = rng.uniform(0.7, 1.5, 2)

    def joints(time: float) -> dict[str, Points]:
        def wave(i: int, speed: float = 1.0) -> float:
            return float(np.sin(speed * beat * time + phase[i]))

        hips = at(0.10 * wave(0, 0.5), 0.05 * wave(1), 0.90 + 0.035 * wave(2))
        chest = hips + at(0.09 * wave(3, 0.5), 0.06 * wave(4), 0.30)
        neck = chest + at(0.06 * wave(5), 0.03 * wave(4), 0.24)
        head = neck + at(0.03 * wave(6), 0.02 * wave(7), 0.17)
        down = at(0, 0, -0.12)
        spine = [hips + down, hips, (hips + chest) / 2, chest, (chest + 2 * neck) / 3, neck]
        out = {"torso": np.array(spine), "head": head[None]}
        out["neck"] = np.array([neck + 0.25 * down, (neck + head) / 2 + 0.2 * down, head])
        for i, side in enumerate((-1.0, 1.0)):
            shoulder = chest + at(side * 0.19, 0, 0.15)
            lift = rest[i] + reach[i] * wave(i)
            fold = lift + 0.5 + 0.6 * wave(2 + i)
            sway = 0.10 * wave(4 + i)
            elbow = shoulder + 0.29 * at(side * np.sin(lift), sway, -np.cos(lift))
            wrist = elbow + 0.27 * at(side * np.sin(fold), 1.5 * sway, -np.cos(fold))
            out[f"arm{i}"] = _bend(shoulder - at(side * 0.05, 0, 0), elbow, wrist, 14)
            out[f"hand{i}"] = (wrist + 0.05 * (wrist - elbow) / 0.27)[None]
            hip, ankle = hips + at(side * 0.09, 0, -0.02), at(side * 0.16, -0.02, 0.07)
            knee = (hip + ankle) / 2 + at(side * 0.05, 0.10 + 0.05 * wave(2), 0)
            out[f"leg{i}"] = _bend(hip, knee, ankle, 16)
            out[f"foot{i}"] = ankle + np.array(
                [(0, -0.05, -0.015), (0, 0.08, -0.02), (side * 0.02, 0.19, -0.035)]
            )
        return out

    return joints


def figure(rng: Random, place: tuple[float, float], heading: float) -> list[Body]:
    """A lay figure in shirt and trousers, as tall as a person, that dances on the spot."""
    joints, turn = _dance(rng), rotation((0, 0, 1), heading)
    shift = np.array([*place, 0.0])
    cloth = woods.weave if rng.random() < 0.5 else woods.print_cloth
    shirt = Material(cloth, f"shirt {cloth.__name__}", 512, scale=0.7)
    trousers = Material(woods.twill, "trousers", 512)
    skin = Material(woods.lime_wood, "figure wood", 512, gloss=0.25)
    torso = np.array(
        [(0.155, 0.125), (0.165, 0.13), (0.145, 0.115), (0.18, 0.13), (0.15, 0.105), (0.065, 0.06)]
    )
    parts: list[tuple[str, Points, int, Material]] = [("torso", torso, 24, shirt)]
    parts.append(("neck", np.array([0.055, 0.048, 0.05]), 12, skin))
    for i in (0, 1):
        parts.append((f"arm{i}", np.linspace(0.07, 0.036, 14), 14, shirt))
        parts.append((f"leg{i}", np.linspace(0.098, 0.052, 16), 16, trousers))
        parts.append((f"foot{i}", np.array([0.05, 0.055, 0.03]), 10, skin))
    bodies = []
    for name, radius, sides, material in parts:

        def pose(time: float, name: str = name, radius: Points = radius, sides: int = sides) -> Points:
            breath = 1 + 0.03 * np.sin(4 * time) if name == "torso" else 1.0
            points = tube_points(joints(time)[name], radius * breath, sides, _reference(name))
            return points.reshape(-1, 3) @ turn.T + shift

        mesh = tube(joints(0.0)[name], radius, sides, _reference(name))
        bodies.append(Body("figure", mesh, material, pose, smooth=True))
    straw = Material(woods.weave, "hat", 512, scale=0.5)
    hat = lathe(
        [(0.001, 0.16), (0.09, 0.15), (0.105, 0.06), (0.2, 0.035), (0.2, 0.028), (0.1, 0.045)][::-1], 32
    )
    carried = [
        (
            "head",
            replace(sphere(1.0, 16, 24), vertices=sphere(1.0, 16, 24).vertices * (0.095, 0.11, 0.135)),
            skin,
        )
    ]
    carried += [(f"hand{i}", sphere(0.045, 12, 18), skin) for i in (0, 1)]
    carried.append(("head", hat, straw))
    for name, mesh, material in carried:

        def carry(time: float, name: str = name, mesh: Mesh = mesh) -> Points:
            return (mesh.vertices + joints(time)[name]) @ turn.T + shift

        bodies.append(Body("figure", mesh, material, carry, smooth=True, solid=True))
    return bodies


def _reference(name: str) -> tuple[float, float, float]:
    return (1.0, 0.0, 0.0) if name.startswith("foot") else _FORWARD


def soft_body(rng: Random, place: tuple[float, float], radius: float) -> Body:
    """A jelly that breathes, leans and ripples; its texture is solid and deforms with it."""
    ball = sphere(1.0, 36, 60)
    p = ball.vertices
    lumps = sum(
        rng.uniform(0.03, 0.08) * np.sin(p @ rng.normal(0, 2.0, 3) + rng.uniform(0, 6)) for _ in range(5)
    )
    ribs = (
        rng.uniform(0.03, 0.07)
        * np.cos(rng.integers(5, 10) * np.arctan2(p[:, 1], p[:, 0]))
        * (1 - p[:, 2] ** 2)
    )
    shape = p * (1 + np.asarray(lumps) + ribs)[:, None] * [1, 1, rng.uniform(1.05, 1.5)] * radius
    low = shape[:, 2].min() * 0.7
    shape[:, 2] = np.where(
        shape[:, 2] < low, low + 0.15 * (shape[:, 2] - low), shape[:, 2]
    )  # it sits on the ground
    shape[:, 2] -= shape[:, 2].min()
    tall = shape[:, 2].max()
    phase = rng.uniform(0, 6, 4)
    draw = (walls.terrazzo, woods.print_cloth, woods.weave)[rng.integers(3)]

    def pose(time: float) -> Points:
        high = shape[:, 2:] / tall
        squash = 1 + 0.09 * np.sin(5.2 * time + phase[0])
        points = shape * [squash**-0.5, squash**-0.5, squash]
        lean = 0.28 * radius * np.array([[np.sin(3.1 * time + phase[1]), np.sin(2.3 * time + phase[2]), 0]])
        ripple = 1 + 0.035 * np.sin(9 * high - 7 * time + phase[3]) * high
        return points * np.where([[True, True, False]], ripple, 1) + high**2 * lean + [*place, 0.0]

    material = Material(draw, f"soft {draw.__name__}", gloss=0.4, scale=0.8)
    return Body("soft body", replace(ball, vertices=shape), material, pose, smooth=True, solid=True)


def cloth(
    rng: Random, name: str, corner: ArrayLike, u: ArrayLike, v: ArrayLike, pinned: str, material: Material
) -> Body:
    """A sheet ``corner + a u + b v`` in the wind, held along its left edge (a = 0) or its top (b = 1)."""
    corner, u, v = (np.asarray(x, float) for x in (corner, u, v))
    a, b = np.meshgrid(np.linspace(0, 1, 44), np.linspace(0, 1, 34))
    flat = corner + a[..., None] * u + b[..., None] * v
    normal = np.cross(u, v)
    normal /= np.linalg.norm(normal)
    free = a if pinned == "left" else 1 - b
    along, swing = (u, v) if pinned == "left" else (v, u)
    size = float(np.linalg.norm(along))
    waves = [
        (rng.uniform(4, 9), rng.uniform(-3, 3), rng.uniform(4, 8), rng.uniform(0, 6), w)
        for w in (0.11, 0.06, 0.03)
    ]

    def pose(time: float) -> Points:
        push = np.zeros_like(free)
        for down, across, pace, phase, amplitude in waves:
            push += amplitude * np.sin(down * free + across * (a + b) - pace * time + phase)
        push *= size * np.sqrt(free) * np.minimum(1, 3 * free)
        pull = 0.08 * free**1.5 * np.sin(3.3 * time + waves[0][3])
        points = flat + push[..., None] * normal + pull[..., None] * swing
        if pinned == "left":
            points[..., 2] -= 0.18 * size * free**2
        return points.reshape(-1, 3)

    mesh = sheet(flat, np.stack([a, 1 - b], -1))
    return Body(name, mesh, material, pose, smooth=True, fit=True)


def thrown_ball(rng: Random, depth: float) -> Body:
    """A ball thrown to and fro across the stage at the depth y, bouncing and spinning; 4 m/s."""
    radius = rng.uniform(0.12, 0.16)
    ball = sphere(radius, 24, 40)
    span, crossing = rng.uniform(1.0, 1.25), rng.uniform(0.66, 0.74)
    hop, top = rng.uniform(0.7, 0.85), rng.uniform(0.75, 0.95)
    start, early = rng.uniform(-0.15, 0.15), rng.uniform(0.12, 0.3)
    way = rng.choice([-1.0, 1.0])
    axis = rng.normal(0, 1, 3)

    def pose(time: float) -> Points:
        leg = (time / crossing + 0.5 + start) % 2
        x = way * span * (2 * leg - 1 if leg < 1 else 3 - 2 * leg)
        s = (time / hop + early) % 1
        spin = rotation(axis, 6.0 * time)
        return ball.vertices @ spin.T + [x, depth + 0.1 * np.sin(time), radius + 0.25 + top * 4 * s * (1 - s)]

    material = Material(prints.ball, "ball", 1024, gloss=0.6)
    return Body("ball", ball, material, pose, smooth=True, fit=True)


def tumbling_box(rng: Random, place: tuple[float, float, float], material: Material) -> Body:
    """A box that swings about ``place`` and turns over and over."""
    side = rng.uniform(0.26, 0.38)
    cube = box((side, side, side), fit=True)
    cube = replace(cube, vertices=cube.vertices - [0, 0, side / 2])
    axis, pace, phase = rng.normal(0, 1, 3), rng.uniform(3.5, 5.5), rng.uniform(0, 6, 3)
    reach = np.array([0.35, 0.2, 0.25])

    def pose(time: float) -> Points:
        swing = reach * np.sin(np.array([3.4, 2.1, 2.9]) * time + phase)
        return cube.vertices @ rotation(axis, pace * time + phase[0]).T + np.asarray(place) + swing

    return Body("tumbling box", cube, material, pose, fit=True)
