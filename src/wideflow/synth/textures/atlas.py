"""All textures of a scene in one flat array, each with its pyramid, and the filtered look-up.

A texel has five bytes: the square roots of linear red, green and blue, and the slope of the relief in x and
y. Square roots keep the dark tones apart in eight bits and cost one multiplication to undo.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.synth.textures.texture import Texture

CHANNELS = 5
_SLOPE = 48.0  # bytes per unit of slope: slopes up to 2.6 fit
_MAX_PROBES = 6


@dataclass(frozen=True, eq=False)
class Atlas:
    """Textures for the kernels.

    Attributes
    ----------
    texels : (N,) uint8
    starts : (textures, levels) int64
        Where a level of a texture begins in ``texels``.
    sizes : (textures,) int64
        Pixels per side of level 0, a power of two.
    mean : (textures, 3) float32
        Mean albedo.
    """

    texels: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    mean: NDArray[np.float32]


def pack(textures: Sequence[Texture], threads: int) -> Atlas:
    """Pyramids of all textures, made by so many ``threads``."""
    with ThreadPoolExecutor(threads) as pool:
        pyramids = list(pool.map(_pyramid, textures))
    starts = np.zeros((len(textures), max(len(levels) for levels in pyramids)), np.int64)
    position = 0
    for i, levels in enumerate(pyramids):
        for level, chunk in enumerate(levels):
            starts[i, level] = position
            position += chunk.size
    texels = np.concatenate([chunk for levels in pyramids for chunk in levels])
    sizes = np.array([texture.albedo.shape[0] for texture in textures], np.int64)
    mean = np.stack([texture.albedo.mean((0, 1)) for texture in textures]).astype(np.float32)
    return Atlas(texels, starts, sizes, mean)


def _pyramid(texture: Texture) -> list[NDArray[np.uint8]]:
    """Bytes of every level, from full size to one texel."""
    linear = np.concatenate([texture.albedo, _slopes(texture)], axis=2)
    levels = [_encode(linear)]
    while linear.shape[0] > 1:
        linear = 0.25 * (linear[::2, ::2] + linear[1::2, ::2] + linear[::2, 1::2] + linear[1::2, 1::2])
        levels.append(_encode(linear))
    return levels


def _slopes(texture: Texture) -> NDArray[np.float32]:
    """Rise over run of the relief, (S, S, 2)."""
    h = texture.height
    step = np.float32(texture.metres / h.shape[0])
    dx = (np.roll(h, -1, 1) - np.roll(h, 1, 1)) / (2 * step)
    dy = (np.roll(h, -1, 0) - np.roll(h, 1, 0)) / (2 * step)
    return np.stack([dx, dy], -1)


def _encode(linear: NDArray[np.float32]) -> NDArray[np.uint8]:
    out = np.empty(linear.shape, np.uint8)
    out[..., :3] = np.sqrt(np.clip(linear[..., :3], 0, 1)) * 255 + 0.5
    out[..., 3:] = np.clip(linear[..., 3:] * _SLOPE + 128.5, 0, 255)
    return out.reshape(-1)


@njit(inline="never")
def _add_bilinear(texels: Any, start: int, size: int, u: float, v: float, weight: float, out: Any) -> None:
    """Add ``weight`` times the texture's value at (u, v) in tiles to ``out`` (5,)."""
    x = (u - np.floor(u)) * size - 0.5
    y = (v - np.floor(v)) * size - 0.5
    fx = np.floor(x)
    fy = np.floor(y)
    ax = x - fx
    ay = y - fy
    mask = size - 1
    x0 = int(fx) & mask
    y0 = int(fy) & mask
    x1 = (x0 + 1) & mask
    y1 = (y0 + 1) & mask
    for corner in range(4):
        xi = x1 if corner & 1 else x0
        yi = y1 if corner & 2 else y0
        w = weight * (ax if corner & 1 else 1 - ax) * (ay if corner & 2 else 1 - ay)
        at = start + (yi * size + xi) * CHANNELS
        for k in range(3):
            value = float(texels[at + k])
            out[k] += w * value * value
        out[3] += w * float(texels[at + 3])
        out[4] += w * float(texels[at + 4])


@njit()
def look_up(
    texels: Any,
    starts: Any,
    size: int,
    u: float,
    v: float,
    ux: float,
    vx: float,
    uy: float,
    vy: float,
    out: Any,
) -> None:
    """Filtered texture value into ``out`` (5,): linear RGB and two slopes.

    ``starts`` (levels,) and ``size`` belong to the texture; (ux, vx) and (uy, vy) are the steps in tiles to
    the neighbouring samples in x and y. Up to six trilinear probes along the longer step keep slanted floors
    sharp.
    """
    length_x = np.sqrt(ux * ux + vx * vx) * size
    length_y = np.sqrt(uy * uy + vy * vy) * size
    if length_x >= length_y:
        major, minor, du, dv = length_x, length_y, ux, vx
    else:
        major, minor, du, dv = length_y, length_x, uy, vy
    minor = max(minor, 1e-3)
    probes = min(int(np.ceil(major / minor)), _MAX_PROBES)
    probes = max(probes, 1)
    detail = max(np.log2(max(major / probes, minor)), 0.0)
    top = 0
    while (size >> (top + 1)) > 0:
        top += 1
    detail = min(detail, float(top))
    level = min(int(detail), max(top - 1, 0))
    part = min(detail - level, 1.0)
    out[:] = 0.0
    for i in range(probes):
        along = (i + 0.5) / probes - 0.5
        pu = u + along * du
        pv = v + along * dv
        _add_bilinear(texels, starts[level], size >> level, pu, pv, (1 - part) / probes, out)
        if part > 0 and top > 0:
            _add_bilinear(texels, starts[level + 1], size >> (level + 1), pu, pv, part / probes, out)
    for k in range(3):
        out[k] /= 65025.0
    for k in range(3, 5):
        out[k] = (out[k] - 128.0) / _SLOPE
