"""What a ray sees: the point it hits, the colour of the surface there, the light it sends back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.synth.rendering.lighting import send_light
from wideflow.synth.rendering.scene import Scene, State
from wideflow.synth.rendering.surface import look_at_surface
from wideflow.synth.rendering.trace import Rays
from wideflow.synth.rendering.vector import intersect, row

_SUN_RAYS = 2  # a sample; a pixel has four times as many


def radiance(
    scene: Scene,
    state: State,
    origin: NDArray[np.float64],
    directions: NDArray[np.float64],
    steps: NDArray[np.float64],
    turn: int,
    gloss: bool,
) -> NDArray[np.float32]:
    """Linear RGB that arrives along rays from one point.

    Parameters
    ----------
    scene, state : Scene, State
        What is there, and where it is at the moment.
    origin : (3,)
        Camera centre.
    directions : (n, 3) float64
        Of any length.
    steps : (2, 3)
        Change of direction to the neighbouring sample in x and in y, for texture filtering.
    turn : int
        0..3: which quarter of the sun's samples to use, so that the four samples of a pixel cover its disc.
    gloss : bool
        Add highlights; they depend on the view.

    Returns
    -------
    (n, 3) float32
    """
    hits, where = first_hits(scene, state, origin, directions)
    n = len(directions)
    albedo = np.zeros((n, 3), np.float32)
    normals = np.zeros((n, 3), np.float32)
    starts = np.zeros((n, 3), np.float32)
    extra = np.zeros((n, 2), np.float32)
    sun = np.array(scene.light.direction)
    look_at_surface(
        scene.surfaces, state.vertices, state.normals, origin, directions, steps, hits, where,
        sun, albedo, normals, starts, extra,
    )  # fmt: skip
    lit = _sunlight(scene, state, starts, extra, turn)
    light = scene.light
    colours = np.array([light.sun, light.zenith, light.horizon, light.ground], np.float32)
    out = np.empty((n, 3), np.float32)
    send_light(scene.surfaces, hits, directions, albedo, normals, extra, lit, sun, colours, gloss, out)
    return out


def first_hits(
    scene: Scene, state: State, origin: NDArray[np.float64], directions: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """First triangle (n,) on each ray, -1 for none; distance in directions and two barycentrics, (n, 3)."""
    rays = directions.astype(np.float32)
    origins = np.broadcast_to(origin.astype(np.float32), rays.shape).copy()
    still = scene.still.first(origins, rays)
    moving = state.moving.first(origins, rays)
    hits = np.empty(len(rays), np.int32)
    where = np.empty((len(rays), 3))
    _nearest(
        state.vertices,
        scene.surfaces.faces,
        scene.still_faces,
        origin,
        directions,
        still,
        moving,
        hits,
        where,
    )
    return hits, where


def _sunlight(
    scene: Scene, state: State, starts: Rays, extra: NDArray[np.float32], turn: int
) -> NDArray[np.float32]:
    """Share of the sun's disc that each start point sees, (n,); only where ``extra[:, 1]`` asks for it."""
    ask = np.flatnonzero(extra[:, 1])
    share = np.zeros(len(ask), np.float32)
    origins = starts[ask]
    for direction in scene.light.sun_directions(4 * _SUN_RAYS)[turn::4]:
        rays = np.broadcast_to(direction.astype(np.float32), origins.shape).copy()
        dark = scene.still.blocked(origins, rays, 300.0)
        open_way = np.flatnonzero(~dark)
        dark[open_way] = state.moving.blocked(origins[open_way], rays[open_way], 300.0)
        share += ~dark
    lit = np.zeros(len(starts), np.float32)
    lit[ask] = share / _SUN_RAYS
    return lit


@njit()
def _nearest(
    vertices: Any,
    faces: Any,
    still_faces: int,
    origin: Any,
    directions: Any,
    still: Any,
    moving: Any,
    hits: Any,
    where: Any,
) -> None:
    centre = (origin[0], origin[1], origin[2])
    for i in range(len(directions)):
        hits[i] = -1
        where[i, 0] = np.inf
        for part in range(2):
            face = still[i] if part == 0 else moving[i]
            if face < 0:
                continue
            if part == 1:
                face += still_faces
            a, b = row(vertices, faces[face, 0]), row(vertices, faces[face, 1])
            t, b1, b2 = intersect(a, b, row(vertices, faces[face, 2]), centre, row(directions, i))
            if t < where[i, 0]:
                hits[i] = face
                where[i, 0], where[i, 1], where[i, 2] = t, b1, b2
