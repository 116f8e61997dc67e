"""The light that surfaces and the sky send to the camera."""

from __future__ import annotations

from typing import Any

import numpy as np

from wideflow.compiled import njit
from wideflow.synth.rendering.vector import add, dot, row, scale, sub, unit


@njit()
def _sky(up: float, cover: float, colours: Any, k: int) -> float:
    """Radiance of the sky at the sine ``up`` of its elevation in colour channel k."""
    clear = colours[2, k] + (colours[1, k] - colours[2, k]) * np.sqrt(max(up, 0.0))
    return clear + (1.15 * (colours[2, 0] + 0.1 * colours[0, 0]) - clear) * cover


@njit()
def send_light(
    surfaces: Any, hits: Any, directions: Any, albedo: Any, normals: Any, extra: Any,
    lit: Any, sun: Any, colours: Any, gloss: bool, out: Any,
) -> None:  # fmt: skip
    """Light sent back: sun, sky and ground times the albedo, light through sheets, glow, and highlights."""
    towards_sun = (sun[0], sun[1], sun[2])
    for i in range(len(hits)):
        view = unit(scale(-1.0, row(directions, i)))
        if hits[i] < 0:
            for k in range(3):
                out[i, k] = _sky(-view[2], albedo[i, 0], colours, k)
            continue
        material = surfaces.materials[surfaces.material[hits[i]]]
        n = row(normals, i)
        facing = dot(n, towards_sun)
        direct = lit[i] * (facing if extra[i, 1] == 1 else -material[3] * min(facing, 0.0))
        up = 0.5 + 0.5 * n[2]
        shine, mirror = 0.0, 0.0
        reflected = sub(scale(2 * dot(n, view), n), view)
        if gloss and material[2] > 0:
            shine = material[2] * lit[i] * max(dot(n, unit(add(view, 1.0, towards_sun))), 0.0) ** 60
            mirror = material[2] * extra[i, 0] * (0.05 + 0.6 * (1 - max(dot(n, view), 0.0)) ** 4)
        for k in range(3):
            sky = up * (0.55 * colours[1, k] + 0.45 * colours[2, k]) + (1 - up) * colours[3, k]
            out[i, k] = (
                material[6] * albedo[i, k] * (colours[0, k] * direct + sky * extra[i, 0] + material[4])
            )
            if mirror > 0:
                out[i, k] += 1.5 * shine * colours[0, k] + mirror * _sky(reflected[2], 0.3, colours, k)
