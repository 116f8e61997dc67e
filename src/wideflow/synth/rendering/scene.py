"""A scene ready for rays: bodies packed into arrays, textures drawn, ambient light baked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wideflow.synth.rendering.trace import Tracer
from wideflow.synth.textures.atlas import Atlas, pack
from wideflow.synth.textures.texture import Texture
from wideflow.synth.textures.walls import clouds
from wideflow.synth.things.body import Body, Material, vertex_normals, weld
from wideflow.synth.things.mesh import Points

SMOOTH, SOLID, FIT = 1, 2, 4  # bits of Surfaces.flags
_CLOUDS = Material(clouds, "clouds", 512)
_LARGEST = 2048  # pixels per side of a texture
_AMBIENT_RAYS = 64  # per vertex
_LEAF_RAYS = 12  # per vertex of thin sheets: leaves are many and small
_AMBIENT_REACH = 1.5  # metres within which other surfaces take ambient light away


class Surfaces(NamedTuple):
    """Everything about the triangles that does not change with time, as the kernels want it.

    A row of ``materials``: texture, tile length in metres, gloss, through, glow, contrast, gain.
    """

    faces: NDArray[np.int32]  # (F, 3)
    uv: NDArray[np.float32]  # (F, 3, 2)
    flags: NDArray[np.uint8]  # (F,)
    material: NDArray[np.int16]  # (F,)
    object: NDArray[np.int16]  # (F,)
    tint: NDArray[np.float32]  # (V, 3)
    ambient: NDArray[np.float32]  # (V,)
    rest: NDArray[np.float32]  # (V, 3)
    rest_normals: NDArray[np.float32]  # (V, 3)
    materials: NDArray[np.float32]  # (M, 7)
    texels: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    mean: NDArray[np.float32]


@dataclass(frozen=True)
class Light:
    """Sun and sky; colours are linear RGB radiances.

    Attributes
    ----------
    direction : unit vector towards the sun
    sun : irradiance of the sun on a surface that faces it
    zenith, horizon, ground : what comes from above, from the side and from below
    radius : angular radius of the sun in radians; larger is softer
    """

    direction: tuple[float, float, float]
    sun: tuple[float, float, float]
    zenith: tuple[float, float, float]
    horizon: tuple[float, float, float]
    ground: tuple[float, float, float]
    radius: float

    def sun_directions(self, count: int) -> NDArray[np.float64]:
        """``count`` directions spread evenly over the sun's disc, (count, 3)."""
        towards = np.array(self.direction)
        side = np.cross(towards, (0.0, 0.0, 1.0) if abs(towards[2]) < 0.99 else (1.0, 0.0, 0.0))
        side /= np.linalg.norm(side)
        up = np.cross(side, towards)
        turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
        reach = self.radius * np.sqrt((np.arange(count) + 0.5) / count)
        return towards + reach[:, None] * (np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * up)


@dataclass(frozen=True, eq=False)
class State:
    """The scene at one moment: vertices (V, 3) float64, normals (V, 3) float32, the moving part for rays."""

    vertices: Points
    normals: NDArray[np.float32]
    moving: Tracer


class Scene:
    """Bodies, textures and light of a place.

    Parameters
    ----------
    bodies : sequence of Body
    light : Light
    seed : int
        Of the textures.
    detail : float
        1 gives every texture its nominal size; it is rounded to a power of two within 1/4 .. 2.
    threads : int
        Threads that draw the textures.
    """

    def __init__(self, bodies: Sequence[Body], light: Light, seed: int, detail: float, threads: int) -> None:
        bodies = sorted(bodies, key=lambda body: body.pose is not None)
        self.light = light
        self._bodies = bodies
        self.names = list(dict.fromkeys(body.name for body in bodies))
        self.materials = list(dict.fromkeys(body.material for body in bodies))
        self._places = [weld(body.mesh.vertices) for body in bodies]
        starts = np.cumsum([0] + [len(body.mesh.vertices) for body in bodies])
        self._starts = starts
        still = [body.pose is None for body in bodies]
        self.still_faces = sum(len(b.mesh.faces) for b, s in zip(bodies, still, strict=True) if s)
        self._still_vertices = int(starts[sum(still)])
        octaves = min(max(round(math.log2(detail)), -2), 1)
        textures = self._draw_textures(seed, 2.0**octaves, threads)
        self.surfaces = self._pack(pack(textures, threads), textures)
        self._rest = np.concatenate([b.mesh.vertices if b.pose is None else b.pose(0.0) for b in bodies])
        self._rest_normals = self._normals(self._rest)
        self.still = Tracer(self._rest[: self._still_vertices], self.surfaces.faces[: self.still_faces])
        self._bake_ambient(threads)

    def state(self, time: float) -> State:
        """Vertices and normals at ``time`` seconds, and a tracer of what moves."""
        vertices, normals = self._rest.copy(), self._rest_normals.copy()
        for body, place, start, end in self._parts():
            if body.pose is not None:
                vertices[start:end] = body.pose(time)
                if body.smooth:
                    normals[start:end] = vertex_normals(vertices[start:end], body.mesh.faces, place)
        faces = self.surfaces.faces[self.still_faces :] - self._still_vertices
        return State(vertices, normals, Tracer(vertices[self._still_vertices :], faces))

    @property
    def still_materials(self) -> set[int]:
        """Materials (numbers in ``self.materials``) of what never moves."""
        return set(self.surfaces.material[: self.still_faces].tolist())

    def make_plain(self, materials: set[int], contrast: float = 0.06) -> None:
        """Fade the texture of these materials (numbers in ``self.materials``) to its mean."""
        for material in materials:
            self.surfaces.materials[material, 5] = contrast

    def brighten(self, material: int, gain: float) -> None:
        """Let a material (number in ``self.materials``) send back ``gain`` times its light, as in a glare."""
        self.surfaces.materials[material, 6] = gain

    def _parts(self) -> Iterator[tuple[Body, NDArray[np.int64], int, int]]:
        """Every body with its welded places and its range of vertices."""
        return zip(self._bodies, self._places, self._starts[:-1], self._starts[1:], strict=True)

    def _normals(self, vertices: Points) -> NDArray[np.float32]:
        out = np.zeros((len(vertices), 3), np.float32)
        for body, place, start, end in self._parts():
            own = place if body.smooth else np.arange(end - start)
            out[start:end] = vertex_normals(vertices[start:end], body.mesh.faces, own)
        return out

    def _draw_textures(self, seed: int, detail: float, threads: int) -> list[Texture]:
        """One texture a key, each with its own random numbers; number 0 is the cloud cover."""
        drawn = {material.key: material for material in reversed([_CLOUDS, *self.materials])}
        keys = list(dict.fromkeys(material.key for material in (_CLOUDS, *self.materials)))
        self._texture_of = [keys.index(material.key) for material in self.materials]

        def draw(key: str) -> Texture:
            material = drawn[key]
            rng = np.random.default_rng([seed, 2, *key.encode()])
            return material.draw(rng, min(max(64, int(material.pixels * detail)), _LARGEST))

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(draw, keys))

    def _pack(self, atlas: Atlas, textures: list[Texture]) -> Surfaces:
        bodies, starts = self._bodies, self._starts
        counts = [len(body.mesh.faces) for body in bodies]
        flags = [SMOOTH * body.smooth + SOLID * body.solid + FIT * body.fit for body in bodies]
        material = [self.materials.index(body.material) for body in bodies]
        number = [self.names.index(body.name) for body in bodies]
        table = np.zeros((len(self.materials), 7), np.float32)
        for row, m, texture in zip(table, self.materials, self._texture_of, strict=True):
            row[:] = texture, textures[texture].metres * m.scale, m.gloss, m.through, m.glow, 1.0, 1.0
        rest = np.concatenate([body.mesh.vertices for body in bodies])
        tint = [np.ones((len(b.mesh.vertices), 3)) if b.tint is None else b.tint for b in bodies]
        return Surfaces(
            faces=np.concatenate([b.mesh.faces + s for b, s in zip(bodies, starts, strict=False)]).astype(
                np.int32
            ),
            uv=np.concatenate([body.mesh.uv for body in bodies]),
            flags=np.repeat(np.array(flags, np.uint8), counts),
            material=np.repeat(np.array(material, np.int16), counts),
            object=np.repeat(np.array(number, np.int16), counts),
            tint=np.concatenate(tint).astype(np.float32),
            ambient=np.ones(len(rest), np.float32),
            rest=rest.astype(np.float32),
            rest_normals=self._normals(rest),
            materials=table,
            texels=atlas.texels,
            starts=atlas.starts,
            sizes=atlas.sizes,
            mean=atlas.mean,
        )

    def _bake_ambient(self, threads: int) -> None:
        """Share of the sky each vertex sees, from the bodies that stand still and from its own body."""

        def bake(part: tuple[Body, NDArray[np.int64], int, int]) -> None:
            body, _, start, end = part
            tracer = self.still
            if body.pose is not None:
                tracer = Tracer(self._rest[start:end], body.mesh.faces)
            points, normals = self._rest[start:end], self._rest_normals[start:end]
            rays = _LEAF_RAYS if body.material.through else _AMBIENT_RAYS
            self.surfaces.ambient[start:end] = _open_share(tracer, points, normals, rays)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(bake, self._parts()))


def _open_share(
    tracer: Tracer, points: Points, normals: NDArray[np.float32], rays: int
) -> NDArray[np.float32]:
    """Cosine-weighted share of the half space above each point (n, 3) that is open: (n,)."""
    k = np.arange(rays)
    height = np.sqrt(1 - (k + 0.5) / rays)
    flat = np.sqrt(1 - height**2)
    turn = k * np.pi * (3 - np.sqrt(5))
    side = np.cross(normals, np.where(np.abs(normals[:, 2:]) < 0.9, (0, 0, 1.0), (1.0, 0, 0)))
    side /= np.linalg.norm(side, axis=1, keepdims=True) + 1e-12
    up = np.cross(normals, side)
    origins = (points + 0.01 * normals).astype(np.float32)
    open_rays = np.zeros(len(points), np.float32)
    for h, f, a in zip(height, flat, turn, strict=True):
        direction = h * normals + f * np.cos(a) * side + f * np.sin(a) * up
        open_rays += ~tracer.blocked(origins, direction.astype(np.float32), _AMBIENT_REACH)
    return open_rays / np.float32(rays)
