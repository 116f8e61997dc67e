"""Wood and cloth. Each function draws one tile."""

from __future__ import annotations

import numpy as np

from wideflow.synth.textures.noise import Field, Random, mix, smoothstep, spectral
from wideflow.synth.textures.texture import Texture, blocks, pick, rgb, weather

_WOODS = (
    rgb("a5763f", "b98a52", "94662f", "c49a63"),
    rgb("7a5230", "8b6038", "63411f", "96703f"),
    rgb("8f877a", "a39a8b", "7a7267", "b0a695"),
    rgb("5a3a28", "6d4832", "4a2f20", "7b5640"),
)
_PAINTS = rgb("3f6b6b", "8a3f35", "c9b27a", "4f5f7d", "76804f", "b5b0a4", "2f4a3a", "a5703a")
_DYES = (
    ("b03a2e", "f0e6d2", "22313f", "d9a441"),
    ("1f618d", "e8e2d0", "922b21", "f4d03f"),
    ("4a235a", "d7bde2", "f5eef8", "b7950b"),
    ("145a32", "e9f7ef", "7b241c", "d4ac0d"),
    ("cb6d2c", "fdf2e9", "1b4f72", "7d3c98"),
    ("283747", "d5d8dc", "c0392b", "48a0a8"),
)


def grain(rng: Random, size: int, shift: Field) -> Field:
    """Year rings and pores along x, -1..1; ``shift`` (S, S) moves the pattern from plank to plank."""
    unit = (np.arange(size, dtype=np.float32) + 0.5) / size
    bend = 0.06 * spectral(rng, size, 2.0, 1, (6, 1))
    rings = np.sin(2 * np.pi * (unit[:, None] * 22 + 9 * bend * 3 + shift))
    pores = spectral(rng, size, 0.7, 30, (12, 0.8))
    return (0.45 * rings + 0.35 * pores + 0.3 * spectral(rng, size, 1.2, 3, (5, 1))).astype(np.float32)


def planks(rng: Random, size: int, metres: float = 3.0, width: float = 0.14) -> Texture:
    """Floor boards along x with nails, gaps and wear."""
    rows = max(2, round(metres / width))
    distance, index, along, across = blocks(rng, size, rows, 2, stagger=0.37, jitter=0.2)
    palette = _WOODS[rng.integers(len(_WOODS))]
    colour = pick(rng, palette, rows * 2, 0.16)[index]
    shift = rng.uniform(0, 9, rows * 2).astype(np.float32)[index]
    pattern = grain(rng, size, shift)
    board = smoothstep(0.0015, 0.005, distance * metres)
    nail_x = np.minimum(along, 1 - along) * metres / 2
    nail_y = np.abs(across - 0.5) * metres / rows
    nail = smoothstep(0.006, 0.003, np.hypot(nail_x - 0.04, nail_y - width * 0.25))
    albedo = mix(rgb("1d1712"), colour * (1 + 0.22 * pattern)[..., None], board)
    albedo = mix(albedo, rgb("2b2724"), nail)
    worn = smoothstep(0.2, 1.8, spectral(rng, size, 1.5, 2, (2, 1)))
    albedo = mix(albedo, albedo * 0.7 + 0.1, 0.5 * worn)
    height = 0.004 * board + 0.0003 * pattern
    return Texture(weather(rng, albedo, 0.35), height.astype(np.float32), metres)


def painted_boards(rng: Random, size: int, metres: float = 2.0) -> Texture:
    """Upright boards (along y) with flaking paint."""
    bare = planks(rng, size, metres, 0.12)
    paint = _PAINTS[rng.integers(len(_PAINTS))]
    flake = spectral(rng, size, 1.2, 6, (2.5, 1)) + 0.4 * spectral(rng, size, 0.7, 30)
    gone = smoothstep(0.9, 1.0, flake)
    gap = smoothstep(0.001, 0.003, bare.height)
    coat = paint * (1 + 0.08 * spectral(rng, size, 0.9, 12, (6, 1)))[..., None]
    albedo = mix(mix(bare.albedo * 0.4, coat, gap), bare.albedo, gone)
    albedo = weather(rng, albedo, 0.3)
    height = bare.height + 0.0006 * (1 - gone)
    return Texture(
        np.ascontiguousarray(albedo.transpose(1, 0, 2)),
        np.ascontiguousarray(height.T).astype(np.float32),
        metres,
    )


def timber(rng: Random, size: int, metres: float = 1.2) -> Texture:
    """Solid wood, grain along x, with knots."""
    base = _WOODS[rng.integers(len(_WOODS))][0]
    pattern = grain(rng, size, np.zeros((size, size), np.float32))
    knot = smoothstep(2.1, 2.8, spectral(rng, size, 1.9, 6, (2, 1)))
    albedo = mix(base * (1 + 0.24 * pattern)[..., None], base * 0.25, knot)
    return Texture(weather(rng, albedo, 0.3), (0.0004 * pattern).astype(np.float32), metres)


def lime_wood(rng: Random, size: int) -> Texture:
    """Pale, even wood that figures are carved from."""
    pattern = grain(rng, size, np.zeros((size, size), np.float32))
    albedo = rgb("d3ab7a", "c69a6c", "b98a5a")[rng.integers(3)] * (1 + 0.16 * pattern)[..., None]
    return Texture(weather(rng, albedo, 0.2), (0.0003 * pattern).astype(np.float32), 0.7)


def crate(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """One face of a wooden crate per tile: boards, a frame and a stencil."""
    boards = planks(rng, size, metres, 0.16)
    albedo, height = boards.albedo.copy(), boards.height.copy()
    unit = (np.arange(size, dtype=np.float32) + 0.5) / size
    x, y = np.meshgrid(np.minimum(unit, 1 - unit), np.minimum(unit, 1 - unit))
    frame = smoothstep(0.125, 0.12, np.minimum(x, y))
    rail = np.ascontiguousarray(albedo.transpose(1, 0, 2)) * 0.85
    upright = (x < y) & (frame > 0)
    albedo = np.where(upright[..., None], rail, albedo)
    groove = smoothstep(0.012, 0.004, np.abs(np.minimum(x, y) - 0.125))
    albedo = mix(albedo, albedo * 0.25, groove)
    albedo = mix(albedo, rgb("22201e"), 0.75 * _stencil(rng, size))
    return Texture(albedo, (height * (1 - frame) + 0.018 * frame).astype(np.float32), metres)


def _stencil(rng: Random, size: int) -> Field:
    """A few block letters of a script nobody reads, with gaps in the paint."""
    ink = np.zeros((size, size), np.float32)
    cell = size // 24
    for row in range(2):
        left = size // 4
        for _ in range(int(rng.integers(3, 6))):
            glyph = rng.random((5, 3)) < 0.6
            block = np.kron(glyph, np.ones((cell // 2, cell // 2)))
            top = int(size * (0.36 + 0.2 * row))
            ink[top : top + block.shape[0], left : left + block.shape[1]] = block
            left += block.shape[1] + cell // 2
    return ink * smoothstep(-0.9, 0.1, spectral(rng, size, 0.8, 30))


def weave(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """Tartan or striped cloth with visible threads."""
    dyes = rgb(*_DYES[rng.integers(len(_DYES))])
    bands = np.sort(rng.choice(np.arange(1, 24), 9, replace=False))
    yarns = dyes[rng.integers(len(dyes), size=10)]
    sett = yarns[np.searchsorted(bands, np.arange(24), side="right")]
    position = (np.arange(size) * 48 // size) % 24
    warp_yarn, weft_yarn = sett[position][None, :, :], sett[position][:, None, :]
    threads = 160
    phase = np.pi * threads * (np.arange(size, dtype=np.float32) + 0.5) / size
    over = smoothstep(-0.4, 0.4, np.sin(phase)[None, :] * np.sin(phase)[:, None])
    if rng.random() < 0.4:
        weft_yarn = np.broadcast_to(dyes[0], weft_yarn.shape)
    albedo = mix(
        np.broadcast_to(weft_yarn, (size, size, 3)), np.broadcast_to(warp_yarn, (size, size, 3)), over
    )
    albedo = (
        albedo * (1 + 0.08 * spectral(rng, size, 0.5, 30) + 0.06 * spectral(rng, size, 1.6, 2))[..., None]
    )
    height = 0.0004 * (np.abs(np.sin(phase))[None, :] * over + np.abs(np.sin(phase))[:, None] * (1 - over))
    return Texture(np.clip(albedo, 0.01, 0.9).astype(np.float32), height.astype(np.float32), metres)


def twill(rng: Random, size: int, metres: float = 0.6) -> Texture:
    """Worn work cloth: diagonal ribs, faded knees, creases and seams."""
    dye = rgb("2f4560", "4a3a2c", "39463a", "6b3a34", "565049", "8a7650")[rng.integers(6)]
    step = np.arange(size, dtype=np.float32)
    rib = np.sin(2 * np.pi * 90 / size * (step[None, :] + step[:, None]))
    faded = smoothstep(-0.6, 1.8, spectral(rng, size, 1.6, 2))
    crease = smoothstep(0.10, 0.0, np.abs(spectral(rng, size, 2.2, 3, (1, 0.5))))
    albedo = mix(np.broadcast_to(dye, (size, size, 3)), np.minimum(dye * 2.4 + 0.03, 0.8), 0.8 * faded)
    albedo = (
        albedo
        * (1 + 0.10 * rib + 0.15 * spectral(rng, size, 0.5, 20))[..., None]
        * (1 - 0.35 * crease)[..., None]
    )
    seam = (
        smoothstep(0.006, 0.003, np.abs(step / size - 0.5))[None, :] * np.where(step % 16 < 9, 1, 0)[:, None]
    )
    albedo = mix(albedo, rgb("c9a86a"), np.broadcast_to(seam, (size, size)).astype(np.float32))
    return Texture(
        np.clip(albedo, 0.01, 0.9).astype(np.float32), (-0.002 * crease).astype(np.float32), metres
    )


def print_cloth(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """Cloth with a scattered print of flowers, dots and leaves."""
    dyes = rgb(*_DYES[rng.integers(len(_DYES))])
    ground = int(rng.choice([0, 1, 2, 2]))
    albedo: Field = np.broadcast_to(dyes[ground], (size, size, 3)).astype(np.float32)
    for _ in range(170):
        cx, cy = rng.random(2) * size
        reach = rng.uniform(0.012, 0.055) * size
        window = np.arange(-int(1.2 * reach) - 1, int(1.2 * reach) + 2)
        near = np.ix_((int(cy) + window) % size, (int(cx) + window) % size)
        a, b = np.meshgrid(window, window)
        radius = (np.hypot(a, b) / reach).astype(np.float32)
        turn = (np.arctan2(b, a) + rng.uniform(0, 6)).astype(np.float32)
        petals = rng.integers(3, 8)
        shape = smoothstep(0.06, -0.06, radius - 0.75 - 0.3 * np.cos(petals * turn))
        heart = smoothstep(0.06, -0.06, radius - 0.3)
        petal, centre = rng.permutation([i for i in range(4) if i != ground])[:2]
        albedo[near] = mix(mix(albedo[near], dyes[petal], shape), dyes[centre], heart)
    albedo = (
        albedo * (1 + 0.06 * spectral(rng, size, 0.4, 60) + 0.05 * spectral(rng, size, 1.6, 2))[..., None]
    )
    return Texture(np.clip(albedo, 0.01, 0.9), np.zeros((size, size), np.float32), metres)


def rug(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """A whole carpet per tile: nested borders around a mirrored field."""
    dyes = rgb(*_DYES[rng.integers(len(_DYES))]) * 0.8
    unit = np.abs((np.arange(size, dtype=np.float32) + 0.5) / size - 0.5) * 2
    x, y = np.meshgrid(unit, unit)
    half = spectral(rng, 128, 2.4, 6)[:64, :64]
    half = half + half.T
    motif = np.digitize(half, [-0.9, 0.4, 1.4]).astype(np.int64)
    cell = np.clip((np.stack([x, y]) * 64).astype(int), 0, 63)
    albedo = dyes[motif[cell[1], cell[0]]]
    rim = np.maximum(x, y)
    for low, high in ((0.72, 0.76), (0.8, 0.88), (0.92, 1.0)):
        band = smoothstep(low - 0.004, low, rim) * smoothstep(high, high - 0.004, rim)
        tone = dyes[rng.integers(4)] * np.where(np.sin(60 * np.minimum(x, y)) > 0.3, 1.0, 0.55)[..., None]
        albedo = mix(albedo, tone, band)
    pile = spectral(rng, size, 0.3, 80)
    albedo = albedo * (1 + 0.14 * pile + 0.06 * spectral(rng, size, 1.5, 2))[..., None]
    return Texture(np.clip(albedo, 0.01, 0.9).astype(np.float32), (0.0006 * pile).astype(np.float32), metres)
