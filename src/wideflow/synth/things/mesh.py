"""Triangle meshes with texture coordinates, and the shapes that scenes are made of.

World axes: x right, y away from the cameras, z up; lengths in metres. Texture coordinates are in metres on
the surface (a tile is ``Texture.metres`` long) or in tiles where a function says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Points = NDArray[np.float64]
LEAF_CORNERS = 6  # vertices of one leaf


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles.

    Attributes
    ----------
    vertices : (V, 3) float64
    faces : (F, 3) int32
    uv : (F, 3, 2) float32
        Texture coordinates of every corner.
    """

    vertices: Points
    faces: NDArray[np.int32]
    uv: NDArray[np.float32]

    def moved(
        self,
        shift: ArrayLike = (0, 0, 0),
        turn: float = 0.0,
        scale: ArrayLike = 1.0,
        tilt: ArrayLike | None = None,
    ) -> Mesh:
        """Scaled, then rotated (``tilt`` is any rotation matrix, ``turn`` radians about z), then shifted."""
        vertices = self.vertices * np.asarray(scale)
        if tilt is not None:
            vertices = vertices @ np.asarray(tilt).T
        return replace(self, vertices=vertices @ rotation((0, 0, 1), turn).T + np.asarray(shift))


def at(x: float, y: float, z: float) -> Points:
    """A point or a step, (3,)."""
    return np.array([x, y, z], float)


def rotation(axis: ArrayLike, angle: float) -> Points:
    """Rotation matrix (3, 3) by ``angle`` radians about ``axis``."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def join(meshes: Sequence[Mesh]) -> Mesh:
    """One mesh out of several."""
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes[:-1]])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]).astype(
            np.int32
        ),
        np.concatenate([mesh.uv for mesh in meshes]),
    )


def sheet(points: Points, uv: NDArray[np.floating]) -> Mesh:
    """A grid of points (n, m, 3) with texture coordinates (n, m, 2) as two triangles a cell."""
    n, m = points.shape[:2]
    index = np.arange(n * m).reshape(n, m)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    return Mesh(
        points.reshape(-1, 3).astype(float),
        faces.astype(np.int32),
        uv.reshape(-1, 2)[faces].astype(np.float32),
    )


def rectangle(corner: ArrayLike, u: ArrayLike, v: ArrayLike, step: float = 0.15, fit: bool = False) -> Mesh:
    """Parallelogram ``corner + a u + b v`` cut into cells of about ``step``; it faces u x v.

    Texture coordinates in metres, v downwards as in a picture; with ``fit`` one tile covers it all.
    """
    corner, u, v = np.asarray(corner, float), np.asarray(u, float), np.asarray(v, float)
    length_u, length_v = np.linalg.norm(u), np.linalg.norm(v)
    a = np.linspace(0, 1, max(2, int(np.ceil(length_u / step)) + 1))
    b = np.linspace(0, 1, max(2, int(np.ceil(length_v / step)) + 1))
    a, b = np.meshgrid(a, b)
    points = corner + a[..., None] * u + b[..., None] * v
    uv = np.stack([a, 1 - b], -1) if fit else np.stack([a * length_u, (1 - b) * length_v], -1)
    return sheet(points, uv)


def box(size: ArrayLike, step: float = 0.15, fit: bool = False) -> Mesh:
    """Box standing on the ground around the origin, size (x, y, z)."""
    x, y, z = np.asarray(size, float)
    ex, ey, ez = np.diag([x, y, z])
    low = np.array([-x / 2, -y / 2, 0])
    sides = [
        (low, ex, ez),
        (low + ex, ey, ez),
        (low + ex + ey, -ex, ez),
        (low + ey, -ey, ez),
        (low + ez, ex, ey),
        (low + ey, ex, -ey),
    ]
    parts = []
    for i, (corner, u, v) in enumerate(sides):
        part = rectangle(corner, u, v, step, fit)
        parts.append(part if fit else replace(part, uv=part.uv + np.float32(0.37 * i)))
    return join(parts)


def tube_points(path: ArrayLike, radius: ArrayLike, sides: int, reference: ArrayLike | None) -> Points:
    """Rings of a tube along ``path`` (n, 3), both ends drawn together: (n + 2, sides + 1, 3).

    ``radius`` is a number, (n,), or (n, 2) for ellipses: across ``reference`` and along it. ``reference`` is
    a direction that the path never takes; a body that moves must name one, or its rings could twist from one
    moment to the next.
    """
    path = np.asarray(path, float)
    radius = np.asarray(radius, float)
    wide, deep = (radius, radius) if radius.ndim < 2 else radius.T
    tangent = np.gradient(path, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True) + 1e-12
    if reference is None:
        reference = np.eye(3)[np.argmin(np.abs(tangent).max(axis=0))]
    side = np.cross(tangent, np.asarray(reference, float))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    side, up = side * np.reshape(wide, (-1, 1)), np.cross(tangent, side) * np.reshape(deep, (-1, 1))
    turn = np.linspace(0, 2 * np.pi, sides + 1)
    circle = np.cos(turn)[None, :, None] * side[:, None] + np.sin(turn)[None, :, None] * up[:, None]
    ends = [0, *range(len(path)), -1]
    closed = circle[ends]
    closed[[0, -1]] = 0
    return path[ends][:, None] + closed


def tube(path: ArrayLike, radius: ArrayLike, sides: int = 10, reference: ArrayLike | None = None) -> Mesh:
    """Tube of `tube_points`, texture along y of the tile."""
    path = np.asarray(path, float)
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    around = np.linspace(0, 2 * np.pi * float(np.mean(np.asarray(radius, float))), sides + 1)
    u, v = np.meshgrid(around, np.pad(length, 1, mode="edge"))
    return sheet(tube_points(path, radius, sides, reference), np.stack([u, v], -1))


def rod(a: ArrayLike, b: ArrayLike, radius: float, sides: int = 8, pieces: int = 6) -> Mesh:
    """Straight tube from a to b."""
    along = np.linspace(0, 1, pieces + 1)[:, None]
    return tube(np.asarray(a) * (1 - along) + np.asarray(b) * along, radius, sides)


def lathe(profile: ArrayLike, sides: int = 32, fit: bool = False) -> Mesh:
    """Surface of revolution about z of a profile (n, 2) of radius and height, from bottom to top."""
    r, z = np.asarray(profile, float).T
    turn = np.linspace(0, 2 * np.pi, sides + 1)
    points = np.stack(
        [r[:, None] * np.cos(turn), r[:, None] * np.sin(turn), np.repeat(z[:, None], sides + 1, 1)], -1
    )
    length = np.concatenate([[0], np.cumsum(np.hypot(np.diff(r), np.diff(z)))])
    u, v = np.meshgrid(turn * r.max(), length)
    if fit:
        u, v = u / (2 * np.pi * r.max()), 1 - v / length[-1]
    return sheet(points, np.stack([u, v], -1))


def sphere(radius: float, rows: int = 24, columns: int = 48) -> Mesh:
    """Ball around the origin; one tile wraps it like a map of the world."""
    turn = np.linspace(-np.pi / 2, np.pi / 2, rows + 1)
    profile = np.stack([radius * np.cos(turn), radius * np.sin(turn)], 1)
    return lathe(profile, columns, fit=True)


def leaves(
    rng: np.random.Generator,
    spots: Points,
    normals: Points,
    length: float,
    droop: float = 0.3,
    width: float = 1.0,
) -> Mesh:
    """Bent leaves at ``spots`` (n, 3) that face about ``normals`` (n, 3); one tile a leaf."""
    n = len(spots)
    normals = normals + rng.normal(0, 0.45, (n, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    along = rng.normal(0, 1, (n, 3)) - [0, 0, 2 * droop]
    along -= (along * normals).sum(1, keepdims=True) * normals
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    across = width * np.cross(normals, along)
    size = length * np.exp(rng.normal(0, 0.25, (n, 1)))
    outline = np.array([(0, 0), (0.34, -0.3), (0.34, 0.3), (0.7, -0.22), (0.7, 0.22), (1, 0)])
    lift = np.array([0, 0.06, 0.06, 0.05, 0.05, -0.12])
    vertices = (
        spots[:, None]
        + size[:, None] * outline[None, :, :1] * along[:, None]
        + size[:, None] * outline[None, :, 1:] * across[:, None]
        + size[:, None] * lift[None, :, None] * normals[:, None]
    )
    triangles = np.array([(0, 1, 2), (1, 3, 4), (1, 4, 2), (3, 5, 4)])
    faces = (np.arange(n)[:, None, None] * LEAF_CORNERS + triangles).reshape(-1, 3).astype(np.int32)
    uv = np.stack([outline[:, 1] + 0.5, outline[:, 0]], 1)[triangles].astype(np.float32)
    return Mesh(vertices.reshape(-1, 3), faces, np.tile(uv, (n, 1, 1)))
