"""Exact ground truth of one picture: depth, motion, visibility, objects.

It belongs to the ideal picture: a pinhole with the K of the camera, a global shutter at one moment, one ray
through the centre of every pixel. `rolling_truth` has that of a rolling shutter.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.geometry import ideal_camera, inside_picture, project, world_to_camera
from wideflow.synth.camera.exposure import BAND
from wideflow.synth.rendering.scene import Scene, State
from wideflow.synth.rendering.shade import first_hits
from wideflow.synth.rendering.vector import blend, cross, row, sub
from wideflow.types import Camera, Truth, View

NEARLY = 1 - 5e-4  # share of the way to a point that must be free for it to be seen: 2.5 mm at 5 m
Points = NDArray[np.float64]


def render_truth(
    scene: Scene,
    now: tuple[State, View, View],
    later: tuple[State, View, View],
    threads: int,
) -> Truth:
    """Ground truth of the first view of ``now``.

    Parameters
    ----------
    scene : Scene
        What is there.
    now, later : (State, View, View)
        The scene, this camera and the other one, at the time of the picture and one time step later.
    threads : int
        Threads; the result does not depend on it.
    """
    height = now[1].camera.height
    bands = [slice(top, min(top + BAND, height)) for top in range(0, height, BAND)]
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(lambda rows: _band(scene, now, later, rows), bands))
    return joined(parts, now[1].camera)


def joined(parts: list[tuple[NDArray[Any], ...]], camera: Camera) -> Truth:
    """The truth of bands of rows of a camera's picture, each (pixels, ...), put together."""
    height, width = camera.height, camera.width
    fields = [np.concatenate(part).reshape(height, width, -1) for part in zip(*parts, strict=True)]
    depth, motion, stereo, optical, loop, number = fields
    return Truth(
        depth=depth[..., 0].astype(np.float32),
        motion=motion.astype(np.float32),
        stereo_visible=stereo[..., 0],
        optical_visible=optical[..., 0],
        loop_visible=loop[..., 0],
        object=number[..., 0].astype(np.int16),
    )


def _band(
    scene: Scene, now: tuple[State, View, View], later: tuple[State, View, View], rows: slice
) -> tuple[NDArray[Any], ...]:
    state, view, other = now
    K = view.camera.K
    y, x = np.mgrid[rows, 0 : view.camera.width]
    pixels = np.stack([(x - K[0, 2]) / K[0, 0], (y - K[1, 2]) / K[1, 1], np.ones(x.shape)], -1).reshape(-1, 3)
    hits, where = first_hits(scene, state, view.centre, pixels @ view.R)
    points, towards = follow_surface(scene, state, hits, where)
    moved, towards_moved = follow_surface(scene, later[0], hits, where)
    side = np.sign(((view.centre - points) * towards).sum(1))
    return (
        np.where(hits < 0, np.nan, where[:, 0]),
        moved - points,
        sees(scene, state, other, points, towards, side),
        sees(scene, later[0], later[1], moved, towards_moved, side),
        sees(scene, later[0], later[2], moved, towards_moved, side),
        np.where(hits < 0, -1, scene.surfaces.object[hits]),
    )


def follow_surface(
    scene: Scene, state: State, hits: NDArray[np.int32], where: NDArray[np.float64]
) -> tuple[Points, Points]:
    """Points and (unscaled) normals (n, 3) at a moment of what rays have hit; NaN where that is nothing."""
    points, normals = np.full((2, len(hits), 3), np.nan)
    _follow(state.vertices, scene.surfaces.faces, hits, where, points, normals)
    return points, normals


def sees(
    scene: Scene, state: State, view: View, points: Points, normals: Points, side: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether ``view`` sees the points (n, 3): in its picture, nothing before them, the same side."""
    camera = ideal_camera(view.camera)
    seen = inside_picture(camera, project(camera, world_to_camera(view, points)))
    seen &= np.sign(((view.centre - points) * normals).sum(1)) == side
    ask = np.flatnonzero(seen)
    rays = (points[ask] - view.centre).astype(np.float32)
    origins = np.broadcast_to(view.centre.astype(np.float32), rays.shape).copy()
    hidden = scene.still.blocked(origins, rays, NEARLY)
    hidden |= state.moving.blocked(origins, rays, NEARLY)
    seen[ask] = ~hidden
    return seen


@njit()
def _follow(vertices: Any, faces: Any, hits: Any, where: Any, points: Any, normals: Any) -> None:
    """Points and (unscaled) normals at barycentrics on faces; rows without a face are left alone."""
    for i in range(len(hits)):
        face = hits[i]
        if face < 0:
            continue
        a, b, c = row(vertices, faces[face, 0]), row(vertices, faces[face, 1]), row(vertices, faces[face, 2])
        p = blend(a, b, c, where[i, 1], where[i, 2])
        n = cross(sub(b, a), sub(c, a))
        for k in range(3):
            points[i, k] = p[k]
            normals[i, k] = n[k]
