"""What a texture is, and the steps that many textures share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.synth.textures.noise import Field, Random, mix, smoothstep, spectral


@dataclass(frozen=True, eq=False)
class Texture:
    """A square periodic surface.

    Attributes
    ----------
    albedo : (S, S, 3) float32
        Share of light given back, linear RGB in 0..1.
    height : (S, S) float32
        Relief in metres.
    metres : float
        Length of one tile on the surface.
    """

    albedo: Field
    height: Field
    metres: float


def rgb(*codes: str) -> NDArray[np.float32]:
    """Linear RGB of colours written as on the web ("c8a070"): (3,) for one, (n, 3) for several."""
    values = np.array([[int(code[i : i + 2], 16) for i in (0, 2, 4)] for code in codes]) / 255
    linear = (values**2.2).astype(np.float32)
    return linear[0] if len(codes) == 1 else linear


def pick(rng: Random, palette: NDArray[np.float32], count: int, spread: float = 0.12) -> NDArray[np.float32]:
    """``count`` colours (count, 3) of a palette (n, 3), blended in pairs, each a little lighter or darker."""
    a, b = rng.integers(len(palette), size=(2, count))
    weight = rng.random((count, 1)) * 0.5
    colour = palette[a] * (1 - weight) + palette[b] * weight
    return (colour * np.exp(rng.normal(0, spread, (count, 1)))).astype(np.float32)


def blocks(
    rng: Random,
    size: int,
    rows: int,
    columns: int,
    *,
    stagger: float = 0.5,
    jitter: float = 0.1,
    wobble: float = 0.0,
) -> tuple[Field, NDArray[np.int64], Field, Field]:
    """Courses of blocks: bricks, tiles, planks, paving.

    Parameters
    ----------
    rng : Generator
        Of joints and wobble.
    size : int
        Pixels per side.
    rows, columns : int
        Blocks per tile.
    stagger : float
        Shift of each row against the one above, in block lengths.
    jitter : float
        Random displacement of the upright joints, in block lengths.
    wobble : float
        Unevenness of all joints, in tile lengths.

    Returns
    -------
    distance : (size, size) float32
        To the nearest joint, in tile lengths.
    index : (size, size) int64
        Which block.
    along, across : (size, size) float32
        Position inside the block, 0..1.
    """
    unit = (np.arange(size, dtype=np.float32) + 0.5) / size
    x = np.broadcast_to(unit[None, :], (size, size))
    y = np.broadcast_to(unit[:, None], (size, size))
    if wobble:
        x = x + np.float32(wobble) * spectral(rng, size, 2.0, 8)
        y = y + np.float32(wobble) * spectral(rng, size, 2.0, 8)
    y = y * rows
    row = np.floor(y).astype(np.int64)
    across = (y - row).astype(np.float32)
    row %= rows
    shift = (np.arange(rows) * stagger + rng.uniform(-jitter, jitter, rows)).astype(np.float32)
    x = x * columns + shift[row]
    joints = rng.uniform(-jitter, jitter, (rows, columns)).astype(np.float32)
    column = np.floor(x).astype(np.int64)
    column -= x < column + joints[row, column % columns]
    column += x >= column + 1 + joints[row, (column + 1) % columns]
    left = x - column - joints[row, column % columns]
    right = column + 1 + joints[row, (column + 1) % columns] - x
    distance = np.minimum(np.minimum(left, right) / columns, np.minimum(across, 1 - across) / rows)
    index = row * columns + column % columns
    return distance.astype(np.float32), index, (left / (left + right)).astype(np.float32), across


def weather(rng: Random, albedo: Field, amount: float) -> Field:
    """Stains, patches and fine grain over a clean surface; ``amount`` is the contrast of the patches."""
    size = albedo.shape[0]
    patches = smoothstep(0.2, 1.8, spectral(rng, size, 1.6, 2))
    albedo = mix(albedo, albedo * 0.45 + rgb("4a4236") * 0.25, patches * np.float32(amount * 1.4))
    shade = 1 + np.float32(0.25 * amount) * spectral(rng, size, 1.0, 3)
    grain = 1 + np.float32(0.12 * amount) * spectral(rng, size, 0.3, 16)
    return np.clip(albedo * (shade * grain)[..., None], 0.01, 0.95).astype(np.float32)


def cracks(rng: Random, size: int, width: float = 1.5) -> Field:
    """Thin meandering lines, 1 on a crack and 0 elsewhere; width in pixels."""
    line = spectral(rng, size, 1.9, 3)
    slope = np.hypot(np.roll(line, -1, 0) - line, np.roll(line, -1, 1) - line) + 1e-3
    where = smoothstep(0.3, 0.9, spectral(rng, size, 1.8, 2))
    return smoothstep(1.0, 0.3, np.abs(line) / (slope * np.float32(width))) * where
