"""What a ray finds on a surface: colour, bumped normal, openness, or the clouds."""

from __future__ import annotations

from typing import Any

import numpy as np

from wideflow.compiled import njit
from wideflow.synth.rendering.scene import FIT, SMOOTH, SOLID
from wideflow.synth.rendering.vector import Vector, add, blend, cross, dot, row, scale, sub, unit
from wideflow.synth.textures.atlas import look_up

_LIFT = 1.5e-3  # metres between a surface and the start of its shadow rays


@njit()
def look_at_surface(
    surfaces: Any, vertices: Any, vertex_normals: Any, origin: Any, directions: Any, steps: Any,
    hits: Any, where: Any, sun: Any, albedo: Any, normals: Any, starts: Any, extra: Any,
) -> None:  # fmt: skip
    """Colour, bumped normal, start of the shadow ray and (ambient share, side of the sun) of every hit."""
    centre, towards_sun = (origin[0], origin[1], origin[2]), (sun[0], sun[1], sun[2])
    texel = np.zeros(5)
    total = np.zeros(5)
    for i in range(len(hits)):
        face = hits[i]
        d = row(directions, i)
        if face < 0:
            _clouds(surfaces, d, row(steps, 0), texel)
            albedo[i, 0] = texel[0]
            continue
        ia, ib, ic = surfaces.faces[face, 0], surfaces.faces[face, 1], surfaces.faces[face, 2]
        a, b, c = row(vertices, ia), row(vertices, ib), row(vertices, ic)
        t, b1, b2 = where[i, 0], where[i, 1], where[i, 2]
        e1, e2 = sub(b, a), sub(c, a)
        n = cross(e1, e2)
        nn = dot(n, n)
        grad1, grad2 = scale(1 / nn, cross(e2, n)), scale(1 / nn, cross(n, e1))
        slide = t / dot(n, d)
        step_x = add(scale(t, row(steps, 0)), -slide * dot(n, row(steps, 0)), d)
        step_y = add(scale(t, row(steps, 1)), -slide * dot(n, row(steps, 1)), d)
        flat = unit(n)
        if dot(flat, d) > 0:
            flat = scale(-1.0, flat)
        normal = flat
        if surfaces.flags[face] & SMOOTH:
            smooth = blend(row(vertex_normals, ia), row(vertex_normals, ib), row(vertex_normals, ic), b1, b2)
            normal = unit(smooth) if dot(smooth, flat) > 0 else unit(scale(-1.0, smooth))
        rise = _texture(surfaces, face, b1, b2, grad1, grad2, step_x, step_y, texel, total)
        normal = unit(sub(normal, rise))
        tint = blend(row(surfaces.tint, ia), row(surfaces.tint, ib), row(surfaces.tint, ic), b1, b2)
        point = add(centre, t, d)
        side = dot(flat, towards_sun)
        start = add(point, _LIFT if side > 0 else -_LIFT, flat)
        ambient = surfaces.ambient
        extra[i, 0] = (1 - b1 - b2) * ambient[ia] + b1 * ambient[ib] + b2 * ambient[ic]
        if side > 0 and dot(normal, towards_sun) > 0:
            extra[i, 1] = 1
        elif side < 0 and surfaces.materials[surfaces.material[face], 3] > 0:
            extra[i, 1] = 2
        for k in range(3):
            albedo[i, k] = total[k] * tint[k]
            normals[i, k] = normal[k]
            starts[i, k] = start[k]


@njit()
def _texture(
    surfaces: Any,
    face: int,
    b1: float,
    b2: float,
    grad1: Any,
    grad2: Any,
    step_x: Any,
    step_y: Any,
    texel: Any,
    total: Any,
) -> Vector:
    """Texture of a face at its barycentrics into ``total`` (5,); returns the gradient of its relief."""
    material = surfaces.materials[surfaces.material[face]]
    texture, metres, contrast = int(material[0]), float(material[1]), float(material[5])
    flags = surfaces.flags[face]
    ia, ib, ic = surfaces.faces[face, 0], surfaces.faces[face, 1], surfaces.faces[face, 2]
    weight = (1.0, 0.0, 0.0)
    if flags & SOLID:
        rest = surfaces.rest_normals
        n = unit(blend(row(rest, ia), row(rest, ib), row(rest, ic), b1, b2))
        # Small weights are dropped: they cost a look-up each and change nothing.
        weight = (max(n[0] ** 4 - 0.01, 0.0), max(n[1] ** 4 - 0.01, 0.0), max(n[2] ** 4 - 0.01, 0.0))
        weight = scale(1 / (weight[0] + weight[1] + weight[2]), weight)
    tile = 1.0 if flags & FIT else 1 / metres
    x1, x2, y1, y2 = dot(grad1, step_x), dot(grad2, step_x), dot(grad1, step_y), dot(grad2, step_y)
    total[:] = 0.0
    rise = (0.0, 0.0, 0.0)
    for k in range(3):
        if weight[k] == 0.0:
            continue
        if flags & SOLID:
            p, i, j = surfaces.rest, (k + 1) % 3, (k + 2) % 3
            u0, u1, u2, v0, v1, v2 = p[ia, i], p[ib, i], p[ic, i], p[ia, j], p[ib, j], p[ic, j]
        else:
            q = surfaces.uv[face]
            u0, u1, u2, v0, v1, v2 = q[0, 0], q[1, 0], q[2, 0], q[0, 1], q[1, 1], q[2, 1]
        u1, u2, v1, v2 = (u1 - u0) * tile, (u2 - u0) * tile, (v1 - v0) * tile, (v2 - v0) * tile
        u, v = u0 * tile + b1 * u1 + b2 * u2, v0 * tile + b1 * v1 + b2 * v2
        ux, vx, uy, vy = x1 * u1 + x2 * u2, x1 * v1 + x2 * v2, y1 * u1 + y2 * u2, y1 * v1 + y2 * v2
        look_up(
            surfaces.texels, surfaces.starts[texture], surfaces.sizes[texture], u, v, ux, vx, uy, vy, texel
        )
        for channel in range(5):
            total[channel] += weight[k] * texel[channel]
        along_u, along_v = add(scale(u1, grad1), u2, grad2), add(scale(v1, grad1), v2, grad2)
        lift = weight[k] * contrast * metres
        rise = add(add(rise, lift * texel[3], along_u), lift * texel[4], along_v)
    for channel in range(3):
        mean = surfaces.mean[texture, channel]
        total[channel] = mean + contrast * (total[channel] - mean)
    return rise


@njit()
def _clouds(surfaces: Any, d: Vector, step: Vector, texel: Any) -> None:
    """Cloud cover in the direction d, from a flat layer high above, into ``texel[0]``."""
    d = unit(d)
    spread = 0.12 / (max(d[2], 0.0) + 0.15)
    size = np.sqrt(dot(step, step)) * spread
    u, v = d[0] * spread, d[1] * spread
    look_up(surfaces.texels, surfaces.starts[0], surfaces.sizes[0], u, v, size, 0.0, 0.0, size, texel)
