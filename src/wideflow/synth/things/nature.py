"""Plants: leaves on stems, bushes, trees, ivy, hedges."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from wideflow.synth.textures import walls
from wideflow.synth.textures.noise import Random
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.mesh import LEAF_CORNERS, Mesh, Points, at, join, leaves, rectangle, tube

BARK = Material(walls.bark, "bark", 512)


def leaf_material(kind: int) -> Material:
    """Green of a kind; a scene has a few kinds."""
    return Material(walls.leaf, f"leaf {kind}", 128, gloss=0.15, through=0.45)


def in_wind(
    body_name: str, mesh: Mesh, material: Material, foot: ArrayLike, sway: float, phase: float
) -> Body:
    """A plant that bends about its foot, more the higher up; ``sway`` metres at one metre's height."""
    rest = mesh.vertices - np.asarray(foot)
    high = np.maximum(rest[:, 2:], 0) ** 1.5
    flutter = rest @ [7.0, 5.0, 3.0]

    def pose(time: float) -> Points:
        gust = np.array([np.sin(2.6 * time + phase), 0.6 * np.sin(3.4 * time + 2 * phase), 0.0])
        shiver = 0.2 * np.stack(
            [np.sin(9 * time + flutter), np.cos(8 * time + flutter), np.sin(7 * time + flutter)], 1
        )
        return mesh.vertices + sway * high * (gust + shiver)

    return Body(body_name, mesh, material, pose, tint=_leaf_tint(len(mesh.vertices), phase))


def _leaf_tint(vertices: int, phase: float) -> np.ndarray:
    """Every leaf its own shade of green."""
    rng = np.random.default_rng(int(phase * 1e6))
    count = vertices // LEAF_CORNERS
    shade = np.exp(rng.normal(0, 0.22, (count, 1))) * (1 + rng.normal(0, 0.07, (count, 3)))
    return np.repeat(shade, LEAF_CORNERS, axis=0).astype(np.float32)


def bush(
    rng: Random, name: str, foot: ArrayLike, radius: float, height: float, kind: int, count: int
) -> list[Body]:
    """A shrub: a few bare stems and a crown of leaves that the wind moves."""
    foot = np.asarray(foot, float)
    stems, spots = [], []
    for _ in range(9):
        turn, lean = rng.uniform(0, 2 * np.pi), rng.uniform(0.3, 1.0)
        s = np.linspace(0, 1, 10)[:, None]
        tip = np.array(
            [np.cos(turn) * radius * lean, np.sin(turn) * radius * lean, height * rng.uniform(0.7, 1.0)]
        )
        path = foot + s * tip * [1, 1, 0] * s + s**0.8 * tip * [0, 0, 1]
        stems.append(tube(path, np.linspace(0.012, 0.004, 10), 6, (0.9, 0.1, 0)))
        spots.append(path[3:])
    base = np.concatenate(spots)
    roots = base[rng.integers(len(base), size=count)] + rng.normal(0, 0.13 * radius, (count, 3))
    outwards = roots - foot - [0, 0, height * 0.4]
    crown = leaves(
        rng, roots, outwards / (np.linalg.norm(outwards, axis=1, keepdims=True) + 1e-9) + [0, 0, 0.4], 0.11
    )
    phase = float(rng.uniform(0, 6))
    return [
        Body(name, join(stems), BARK, smooth=True),
        in_wind(name, crown, leaf_material(kind), foot, 0.03, phase),
    ]


def tree(rng: Random, name: str, foot: ArrayLike, height: float, kind: int, windy: bool = True) -> list[Body]:
    """Trunk, two orders of branches, and a crown, in the wind if it is near."""
    count = 2600
    foot = np.asarray(foot, float)
    s = np.linspace(0, 1, 20)[:, None]
    bend = rng.normal(0, 0.10, 2) * height
    trunk = foot + np.concatenate([s**2 * bend[0], s**2 * bend[1], s * height * 0.85], axis=1)
    wood = [tube(trunk, np.linspace(0.035, 0.012, 20) * height, 14, (1, 0, 0))]
    tips = []
    for _ in range(14):
        start = trunk[rng.integers(7, 19)]
        turn = rng.uniform(0, 2 * np.pi)
        away = np.array([np.cos(turn), np.sin(turn), rng.uniform(0.3, 0.9)]) * height * rng.uniform(0.16, 0.3)
        path = start + s[::2] * away + s[::2] ** 2 * [0, 0, 0.06 * height]
        wood.append(tube(path, np.linspace(0.009, 0.003, 10) * height, 7, (-away[1], away[0], 0.01)))
        tips.append(path[4:])
        for _ in range(3):
            twig = path[rng.integers(3, 9)] + s[::4] * rng.normal(0, 0.09 * height, 3)
            wood.append(tube(twig, np.linspace(0.004, 0.0015, 5) * height, 5))
            tips.append(twig[1:])
    base = np.concatenate(tips)
    roots = base[rng.integers(len(base), size=count)] + rng.normal(0, 0.03 * height, (count, 3))
    crown = leaves(rng, roots, np.tile([0.0, -0.3, 1.0], (count, 1)), 0.045 * height + 0.02)
    phase = float(rng.uniform(0, 6))
    material = leaf_material(kind)
    still = Body(name, crown, material, tint=_leaf_tint(len(crown.vertices), phase))
    return [
        Body(name, join(wood), BARK, smooth=True),
        in_wind(name, crown, material, foot, 0.012, phase) if windy else still,
    ]


def ivy(rng: Random, name: str, corner: ArrayLike, u: ArrayLike, height: float, kind: int) -> Body:
    """Leaves that climb a wall from its foot ``corner .. corner + u``, denser in creepers and lower down."""
    corner, u = np.asarray(corner, float), np.asarray(u, float)
    out = np.cross(u, (0, 0, 1.0))
    out /= np.linalg.norm(out)
    count = 2200  # leaves
    spots = []
    for _ in range(40):
        walk = rng.uniform(0, 1) + np.cumsum(rng.normal(0, 0.012, 60))
        top = height * rng.uniform(0.2, 1.0)
        spots.append(corner + walk[:, None] * u + np.linspace(0, top, 60)[:, None] * [0, 0, 1])
    base = np.concatenate(spots)
    roots = base[rng.integers(len(base), size=count)] + rng.normal(0, 0.045, (count, 3))
    roots += out * (0.03 - (roots - corner) @ out + 0.05 * rng.random(count))[:, None]
    mesh = leaves(rng, roots, np.tile(out + at(0, 0, 0.3), (count, 1)), 0.085, 0.8)
    return Body(
        name, mesh, leaf_material(kind), tint=_leaf_tint(len(mesh.vertices), float(rng.uniform(0, 6)))
    )


def hedge(
    rng: Random, name: str, corner: ArrayLike, u: ArrayLike, height: float, depth: float, kind: int
) -> list[Body]:
    """A clipped hedge along ``u``: an uneven leafy box and leaves that stand out of it."""
    corner, u = np.asarray(corner, float), np.asarray(u, float)
    back = np.cross((0, 0, 1.0), u)
    back *= depth / np.linalg.norm(back)
    up = np.array([0, 0, height])
    sides = [(corner, u, up), (corner + up, u, back), (corner + u, back, up), (corner + back, -back, up)]
    mesh = join([rectangle(*side, 0.1) for side in sides])
    swell = sum(0.03 * np.sin(mesh.vertices @ rng.normal(0, 3.0, 3) + rng.uniform(0, 6)) for _ in range(6))
    mesh = Mesh(mesh.vertices + np.asarray(swell)[:, None] * (-back / depth), mesh.faces, mesh.uv)
    count = int(420 * np.linalg.norm(u) * (height + depth))
    pick = mesh.faces[rng.integers(len(mesh.faces), size=count)]
    weight = rng.dirichlet((1, 1, 1), count)
    roots = (mesh.vertices[pick] * weight[..., None]).sum(1)
    sprigs = leaves(rng, roots, np.tile(-back / depth + [0, 0, 0.6], (count, 1)), 0.07)
    material = Material(walls.foliage, "foliage", 1024)
    tint = _leaf_tint(len(sprigs.vertices), float(rng.uniform(0, 6)))
    return [
        Body(name, mesh, material, smooth=True),
        Body(name, sprigs, leaf_material(kind), tint=tint),
    ]


def tufts(rng: Random, spots: Points, kind: int) -> Body:
    """Grass and weeds at ``spots`` (n, 3): along walls, around posts."""
    blades = np.repeat(spots, 40, axis=0) + rng.normal(0, 0.06, (40 * len(spots), 3)) * [1, 1, 0]
    mesh = leaves(rng, blades, rng.normal(0, 1, blades.shape) * [1, 1, 0.2], 0.17, -3.0, 0.16)
    tint = _leaf_tint(len(mesh.vertices), float(rng.uniform(0, 6)))
    return Body("weeds", mesh, leaf_material(kind), tint=tint)
