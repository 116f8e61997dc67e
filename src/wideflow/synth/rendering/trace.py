"""Rays against triangles: Embree finds the triangle, double precision finds the point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import MissingExtraError

Rays = NDArray[np.float32]


def require_tracer() -> tuple[Any, Any]:
    """Embree's scene and mesh classes, or a clear error where they are not installed."""
    try:
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene
    except ImportError as error:
        raise MissingExtraError(
            "rendering needs the package embreex: install it with pip install 'wideflow[synth]'"
        ) from error
    return EmbreeScene, TriangleMesh


class Tracer:
    """A fixed set of triangles that rays can be shot at.

    Parameters
    ----------
    vertices : (V, 3)
        World coordinates; single precision is kept.
    faces : (F, 3) int32
        Rows of ``vertices``.
    """

    def __init__(self, vertices: NDArray[Any], faces: NDArray[np.int32]) -> None:
        new_scene, new_mesh = require_tracer()
        self._scene = new_scene()
        self._mesh = new_mesh(self._scene, vertices.astype(np.float32), np.ascontiguousarray(faces, np.int32))
        # The first ray builds the tree; later ones may come from several threads.
        self._scene.run(np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32))

    def first(self, origins: Rays, directions: Rays) -> NDArray[np.int32]:
        """Triangle that each ray (n, 3) meets first; -1 for none."""
        return self._scene.run(origins, directions)

    def blocked(self, origins: Rays, directions: Rays, reach: float) -> NDArray[np.bool_]:
        """Whether anything lies on each ray between 0 and ``reach`` times its direction."""
        limits = np.full(len(origins), reach, np.float32)
        return self._scene.run(origins, directions, limits, query="OCCLUDED") != -1
