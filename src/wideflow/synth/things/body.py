"""Bodies: a mesh, what it is made of, and how it moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.synth.textures.noise import Random
from wideflow.synth.textures.texture import Texture
from wideflow.synth.things.mesh import Mesh, Points

Draw = Callable[[Random, int], Texture]
Pose = Callable[[float], Points]


@dataclass(frozen=True)
class Material:
    """A texture and how it takes the light.

    Attributes
    ----------
    draw : callable
        Texture function, called once per scene with its own random numbers.
    key : str
        Materials with the same key share one texture.
    pixels : int
        Side of the texture.
    gloss : float
        Strength of the highlight and of the mirrored sky; only with photometric differences.
    through : float
        Share of the light that shines through a thin sheet.
    glow : float
        Radiance of a surface that shines by itself, times its texture.
    scale : float
        Texture tiles are this much larger than their nominal size.
    """

    draw: Draw
    key: str
    pixels: int = 1024
    gloss: float = 0.0
    through: float = 0.0
    glow: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Body:
    """Something in the scene.

    Attributes
    ----------
    name : str
        Bodies of one name share an object number in the ground truth.
    mesh : Mesh
        At rest; the texture sticks to it.
    material : Material
    pose : callable or None
        Scene time in seconds to vertices (V, 3); None: it never moves.
    smooth : bool
        Interpolate normals over the mesh.
    solid : bool
        Texture projected along the three axes of the rest shape instead of by texture coordinates.
    fit : bool
        Texture coordinates are in tiles, not metres.
    tint : (V, 3) float32 or None
        Factor on the texture at every vertex.
    """

    name: str
    mesh: Mesh
    material: Material
    pose: Pose | None = None
    smooth: bool = False
    solid: bool = False
    fit: bool = False
    tint: NDArray[np.float32] | None = None


def weld(vertices: Points) -> NDArray[np.int64]:
    """For every vertex (V, 3) the number of its place: seams and poles have several vertices at one place."""
    _, place = np.unique(np.round(vertices, 5), axis=0, return_inverse=True)
    return place.reshape(-1)


def vertex_normals(vertices: Points, faces: NDArray[np.int32], place: NDArray[np.int64]) -> Points:
    """Unit normals (V, 3), weighted by area; vertices at one ``place`` (see `weld`) share theirs."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    cross = np.cross(b - a, c - a)
    at = place[faces].ravel()
    total = np.zeros_like(vertices)
    for axis in range(3):
        total[:, axis] = np.bincount(at, np.repeat(cross[:, axis], 3), minlength=len(vertices))
    total /= np.linalg.norm(total, axis=1, keepdims=True) + 1e-30
    return total[place]
