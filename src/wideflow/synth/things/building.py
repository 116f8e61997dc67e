"""Walls with openings, fences, floors, houses, far country."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from wideflow.synth.textures import grounds, prints
from wideflow.synth.textures.noise import Random, spectral
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.mesh import Mesh, box, join, rectangle, rod, sheet, tube

Opening = tuple[float, float, float, float]  # left, right, bottom, top, metres along and up the wall
_UP = np.array([0, 0, 1.0])


def floor(rng: Random, material: Material, bumps: float = 0.0) -> Body:
    """The ground: finer cells where the stage is, blotches of dirt and damp, slightly uneven."""
    outer = np.geomspace(3.4, 60, 30)
    axis_x = np.concatenate([-outer[::-1], np.linspace(-3.2, 3.2, 100), outer])
    axis_y = np.concatenate(
        [np.linspace(-8, -2.5, 24, endpoint=False), np.linspace(-2.5, 4.5, 110), 1.3 + outer]
    )
    x, y = np.meshgrid(axis_x, axis_y)
    noise = spectral(rng, 256, 1.8, 3)
    at = (np.stack([x, y]) * 9).astype(int) % 256  # a blotch is a quarter of a metre or more
    height = bumps * 0.35 * noise[at[0], at[1]] * np.minimum(1, np.hypot(x, y) / 12)
    height -= height.max()
    shade = np.exp(0.16 * spectral(rng, 256, 1.6, 3)[at[1], at[0]])
    warmth = 1 + 0.05 * spectral(rng, 256, 1.8, 2)[at[1], at[0]]
    tint = np.stack([shade * warmth, shade, shade / warmth], -1).reshape(-1, 3)
    mesh = sheet(np.stack([x, y, height], -1), np.stack([x, -y], -1))
    return Body("ground", mesh, material, smooth=True, tint=np.clip(tint, 0.4, 1.5).astype(np.float32))


def wall(
    name: str,
    corner: ArrayLike,
    u: ArrayLike,
    height: float,
    material: Material,
    openings: Sequence[Opening] = (),
    thick: float = 0.25,
    *,
    shade: Random,
) -> Body:
    """An upright wall along ``u`` that faces u x up, with rectangular holes and their reveals.

    ``shade`` draws its damp patches.
    """
    corner, u = np.asarray(corner, float), np.asarray(u, float)
    length = float(np.linalg.norm(u))
    along, back = u / length, np.cross(_UP, u / length)
    xs = sorted({0.0, length, *(edge for hole in openings for edge in hole[:2])})
    zs = sorted({0.0, height, *(edge for hole in openings for edge in hole[2:])})
    parts = []
    for left, right in pairwise(xs):
        for low, high in pairwise(zs):
            x, z = (left + right) / 2, (low + high) / 2
            if any(hole[0] < x < hole[1] and hole[2] < z < hole[3] for hole in openings):
                continue
            part = rectangle(corner + left * along + low * _UP, (right - left) * along, (high - low) * _UP)
            parts.append(replace(part, uv=part.uv + np.array([left, height - high], np.float32)))
    for left, right, low, high in openings:
        a, b = corner + left * along, corner + right * along
        parts.append(rectangle(a + low * _UP, thick * back, (high - low) * _UP))
        parts.append(rectangle(b + low * _UP + thick * back, -thick * back, (high - low) * _UP))
        parts.append(rectangle(a + high * _UP, (right - left) * along, thick * back))
        if low > 0:
            parts.append(rectangle(a + low * _UP, (right - left) * along, thick * back))
    parts.append(rectangle(corner + height * _UP, u, thick * back))
    mesh = join(parts)
    return Body(name, mesh, material, tint=_damp(shade, mesh))


def _damp(rng: Random, mesh: Mesh) -> np.ndarray:
    """Darker towards the ground, uneven along the wall."""
    x, z = mesh.vertices[:, 0] + mesh.vertices[:, 1], mesh.vertices[:, 2]
    wave = sum(
        0.12 * np.sin(x * rng.uniform(0.5, 4) + z * rng.uniform(-1, 1) + rng.uniform(0, 6)) for _ in range(5)
    )
    low = np.exp(-z / 0.35 * np.exp(wave))
    shade = (1 - 0.35 * low) * np.exp(0.35 * np.asarray(wave))
    return np.repeat(np.clip(shade, 0.4, 1.4)[:, None], 3, 1).astype(np.float32)


def panel(name: str, corner: ArrayLike, u: ArrayLike, height: float, material: Material) -> Body:
    """One picture upright on a rectangle: a door, a window, a poster."""
    return Body(name, rectangle(corner, u, height * _UP, fit=True), material, fit=True)


def picket_fence(
    rng: Random, name: str, start: ArrayLike, u: ArrayLike, height: float, material: Material
) -> Body:
    """Pointed pickets, two rails, posts; some crooked."""
    start, u = np.asarray(start, float), np.asarray(u, float)
    length = float(np.linalg.norm(u))
    turn = float(np.arctan2(u[1], u[0]))
    parts = []
    for x in np.arange(0.06, length, 0.13):
        tall = height * rng.uniform(0.94, 1.04)
        picket = box((0.07, 0.018, tall), 0.2)
        tip = (picket.vertices[:, 2] > tall - 1e-6) & (np.abs(picket.vertices[:, 0]) < 1e-6)
        picket.vertices[tip, 2] += 0.06
        parts.append(picket.moved((x, rng.normal(0, 0.003), 0.04), rng.normal(0, 0.03)))
    for z in (0.25 * height, 0.75 * height):
        parts.append(box((length, 0.03, 0.06), 0.2).moved((length / 2, 0.03, z)))
    for x in np.linspace(0.03, length - 0.03, max(2, round(length / 1.6) + 1)):
        parts.append(box((0.08, 0.08, height * 1.12), 0.2).moved((x, 0.06, 0)))
    return Body(name, join(parts).moved(start, turn), material)


def wire_fence(name: str, start: ArrayLike, u: ArrayLike, height: float, material: Material) -> Body:
    """Posts with tight wires and a mesh of thin rods."""
    start, u = np.asarray(start, float), np.asarray(u, float)
    count = max(2, round(float(np.linalg.norm(u)) / 1.2) + 1)
    parts = [
        rod(start + s * u, start + s * u + (height + 0.08) * _UP, 0.022) for s in np.linspace(0, 1, count)
    ]
    parts += [rod(start + z * _UP, start + u + z * _UP, 0.004, 5, 20) for z in np.linspace(0.12, height, 6)]
    rods = round(float(np.linalg.norm(u)) / 0.15)
    parts += [
        rod(start + s * u + 0.1 * _UP, start + s * u + height * _UP, 0.003, 5)
        for s in np.linspace(0, 1, rods)
    ]
    return Body(name, join(parts), material, smooth=True)


def cable(name: str, a: ArrayLike, b: ArrayLike, sag: float, material: Material) -> Body:
    """A hanging rope from a to b."""
    s = np.linspace(0, 1, 40)[:, None]
    path = np.asarray(a) * (1 - s) + np.asarray(b) * s - 4 * sag * s * (1 - s) * _UP
    return Body(name, tube(path, 0.006, 6, (0, 0, 1)), material, smooth=True)


def house(name: str, place: tuple[float, float], size: tuple[float, float, float], turn: float) -> list[Body]:
    """A far house: painted front, gable roof."""
    x, y, z = size
    front = Material(prints.facade, f"front {name}", 512)
    roof_material = Material(grounds.paving, "roof", 512)
    block = box((x, y, z), 1.0, fit=True)
    ridge = z + 0.35 * y
    low, run = np.array([-x / 2 - 0.2, -y / 2 - 0.3, z - 0.1]), np.array([x + 0.4, 0, 0])
    roof = [rectangle(low, run, (0, y / 2 + 0.3, ridge - z + 0.1), 1.0)]
    roof.append(rectangle(low * [1, -1, 1], run, (0, -y / 2 - 0.3, ridge - z + 0.1), 1.0))
    ends = [np.array([(s * x / 2, -y / 2, z), (s * x / 2, y / 2, z), (s * x / 2, 0, ridge)]) for s in (-1, 1)]
    corners = np.array([[(0.0, 0.3), (0.3, 0.3), (0.15, 0.24)]], np.float32)
    gables = [Mesh(end, np.array([[0, 1, 2]], np.int32), corners) for end in ends]
    shift = (*place, 0.0)
    return [
        Body(name, join([block, *gables]).moved(shift, turn), front, fit=True),
        Body(name, join(roof).moved(shift, turn), roof_material),
    ]


def country(rng: Random) -> list[Body]:
    """Wooded hills in three ranges 26 to 80 metres away, the far ones paler and bluer."""
    angle = np.linspace(np.radians(-5), np.radians(185), 500)
    bodies = []
    for distance, high, haze in (
        (26.0, 3.2, (1.0, 1.0, 1.1)),
        (45.0, 8.0, (1.15, 1.3, 2.2)),
        (80.0, 17.0, (1.6, 2.0, 4.5)),
    ):
        ridge = sum(np.sin(angle * (2 + 3.1 * k) + rng.uniform(0, 6)) / (k + 2) for k in range(6))
        crowns = np.abs(spectral(rng, 512, 1.0, 12)[0, :500])
        top = high * (1 + 0.3 * np.asarray(ridge)) + 0.035 * high * crowns
        up = np.linspace(0, 1, 14)[:, None] * top
        away = distance + 1.2 * up
        points = np.stack([away * np.cos(angle), away * np.sin(angle), up - 0.5], -1)
        uv = np.stack([np.broadcast_to(-angle * distance, up.shape), -1.6 * up], -1)
        tint = np.broadcast_to(np.array(haze, np.float32), (up.size, 3))
        wood = Material(grounds.hills, "hills", 1024, scale=distance / 90)
        bodies.append(Body("hills", sheet(points, uv), wood, smooth=True, tint=tint))
    return bodies
