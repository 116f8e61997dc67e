"""Floors and grounds. Each function draws one tile; sizes in pixels, ``metres`` is the tile's length."""

from __future__ import annotations

import cv2
import numpy as np

from wideflow.synth.textures.noise import Field, Random, blur, cells, mix, smoothstep, spectral, warp
from wideflow.synth.textures.texture import Texture, blocks, cracks, pick, rgb, weather

_STONES = (
    rgb("8c8378", "a49a8b", "77726c", "6a6660", "b5a893", "8a7a68"),
    rgb("9a7d62", "b59a78", "87705a", "a88a70", "c4ad8c", "7d6a58"),
    rgb("6e747a", "828a90", "5b6167", "979c9f", "767067", "8b8e8a"),
)


def cobbles(rng: Random, size: int, metres: float = 4.0) -> Texture:
    """Rounded setts of about 12 cm in wavy courses, sand between them."""
    count = round(metres / 0.125)
    edge, centre, index = cells(rng, size, count, count, 0.45)
    stone = smoothstep(0.06, 0.22, edge)
    colour = pick(rng, _STONES[rng.integers(3)], count * count, 0.2)[index]
    grain = 1 + 0.16 * spectral(rng, size, 0.6, 40) + 0.10 * spectral(rng, size, 1.4, 30)
    sand = rgb("5d5344") * (1 + 0.3 * spectral(rng, size, 0.2, 60))[..., None]
    moss = smoothstep(0.4, 1.6, spectral(rng, size, 1.6, 3)) * (1 - stone)
    joint = mix(sand, rgb("3f4a22"), moss)
    albedo = weather(rng, mix(joint, colour * grain[..., None], stone), 0.3)
    dome = stone * (1.0 - 0.9 * np.minimum(centre, 0.7) ** 2)
    height = 0.016 * dome + 0.0006 * spectral(rng, size, 0.8, 60)
    return Texture(albedo, height.astype(np.float32), metres)


def flagstones(rng: Random, size: int, metres: float = 5.0) -> Texture:
    """Irregular slabs of half a metre, worn, cracked, moss in the joints."""
    count = round(metres / 0.55)
    edge, _, index = cells(rng, size, count, count, 0.85)
    slab = smoothstep(0.02, 0.05, edge + 0.008 * spectral(rng, size, 1.2, 20))
    colour = pick(rng, _STONES[rng.integers(3)], count * count, 0.16)[index]
    veins = 1 + 0.14 * spectral(rng, size, 1.3, 10) + 0.12 * spectral(rng, size, 0.4, 60)
    joint = mix(rgb("3b352c"), rgb("46501f"), smoothstep(0, 1, spectral(rng, size, 1.6, 4)))
    albedo = mix(joint, colour * veins[..., None], slab)
    broken = cracks(rng, size)
    albedo = weather(rng, mix(albedo, rgb("2c2620"), broken * slab), 0.4)
    tilt = rng.normal(0, 0.003, (count * count)).astype(np.float32)[index]
    height = slab * (0.014 + tilt) + 0.001 * spectral(rng, size, 1.2, 12) - 0.003 * broken
    return Texture(albedo, height.astype(np.float32), metres)


def paving(rng: Random, size: int, metres: float = 4.0) -> Texture:
    """Brick paving in running bond."""
    rows = round(metres / 0.11) // 2 * 2
    columns = round(metres / 0.22)
    distance, index, _, _ = blocks(rng, size, rows, columns, stagger=0.5, jitter=0.05, wobble=0.0004)
    brick = smoothstep(0.004, 0.012, distance * metres)
    palette = rgb("8a4b38", "9c5a42", "74402f", "a56a50", "6b4034", "b07c5e")
    colour = pick(rng, palette, rows * columns, 0.22)[index]
    grain = 1 + 0.15 * spectral(rng, size, 0.5, 40) + 0.1 * spectral(rng, size, 1.4, 20)
    albedo = mix(rgb("6a6052"), colour * grain[..., None], brick)
    tilt = rng.normal(0, 0.0015, rows * columns).astype(np.float32)[index]
    height = brick * (0.006 + tilt) + 0.0007 * spectral(rng, size, 0.8, 40)
    return Texture(weather(rng, albedo, 0.45), height.astype(np.float32), metres)


def gravel(rng: Random, size: int, metres: float = 3.0) -> Texture:
    """Pebbles of 1 to 4 cm lying on each other."""
    albedo = np.full((size, size, 3), rgb("4d463c"), np.float32)
    height = np.zeros((size, size), np.float32)
    palette = _STONES[rng.integers(3)]
    for pebble, share in ((0.035, 0.75), (0.028, 0.6), (0.022, 0.5)):
        count = round(metres / pebble)
        edge, centre, index = cells(rng, size, count, count, 0.95)
        there = (rng.random(count * count) < share).astype(np.float32)[index]
        body = smoothstep(0.08, 0.3, edge) * there
        colour = (
            pick(rng, palette, count * count, 0.3)[index]
            * (1 + 0.1 * spectral(rng, size, 0.6, 60))[..., None]
        )
        shade = 0.55 + 0.45 * smoothstep(0.1, 0.45, edge)
        albedo = mix(albedo * (0.6 + 0.4 * (1 - there))[..., None], colour * shade[..., None], body)
        height = np.maximum(height * 0.7, body * pebble * (0.5 - 0.4 * centre**2))
    return Texture(weather(rng, albedo, 0.25), blur(height, 0.7), metres)


def grass(rng: Random, size: int, metres: float = 2.6) -> Texture:
    """A lawn: thousands of blades over soil, clover, daisies and dry leaves."""
    soil = mix(rgb("3a3a1c"), rgb("4b4d24"), smoothstep(-1, 1, spectral(rng, size, 1.2, 4)))
    canvas = np.clip(soil**0.5 * 255, 0, 255).astype(np.uint8)
    height = np.zeros((size, size), np.uint8)
    clump = smoothstep(-1.2, 1.2, spectral(rng, size, 1.7, 3))
    palette = rgb("4e6b26", "5d7a2e", "6f8a38", "7f9544", "3f5a20", "93a255")
    blades = 50_000
    x, y = rng.random((2, blades)) * size
    reach = rng.uniform(0.02, 0.055, blades) * size / metres
    heading = rng.uniform(0, 2 * np.pi, blades)
    tone = palette[rng.integers(len(palette), size=blades)] * np.exp(rng.normal(0, 0.2, (blades, 1)))
    tone *= (0.7 + 0.55 * clump[y.astype(int), x.astype(int)])[:, None]
    dry = rng.random(blades) < 0.06
    tone[dry] = rgb("a8945a") * rng.uniform(0.6, 1.1, (dry.sum(), 1))
    ink = np.clip(tone**0.5 * 255, 0, 255)
    tip = np.stack([x + reach * np.cos(heading), y + reach * np.sin(heading)], 1)
    thick = max(1, round(0.0042 * size / metres))
    for i in range(blades):
        start, end = (round(x[i] * 8), round(y[i] * 8)), (round(tip[i, 0] * 8), round(tip[i, 1] * 8))
        level = 40 + 200 * i // blades
        for shift in _wraps(end, size * 8):
            a = (start[0] + shift[0], start[1] + shift[1])
            b = (end[0] + shift[0], end[1] + shift[1])
            cv2.line(canvas, a, b, ink[i].tolist(), thick, cv2.LINE_AA, 3)
            cv2.line(height, a, b, level, thick, cv2.LINE_AA, 3)
    albedo = _scatter_daisies(rng, (canvas.astype(np.float32) / 255) ** 2, metres)
    albedo *= (1 + 0.12 * spectral(rng, size, 1.6, 2))[..., None]
    return Texture(np.clip(albedo, 0.01, 0.9), blur(height.astype(np.float32) / 255 * 0.012, 0.8), metres)


def _wraps(end: tuple[int, int], period: int) -> list[tuple[int, int]]:
    """Shifts that bring a stroke whose ``end`` is across the border back on the other side."""
    shifts = [(0, 0)]
    for axis in (0, 1):
        if end[axis] < 0 or end[axis] >= period:
            step = period if end[axis] < 0 else -period
            shifts += [(sx + step, sy) if axis == 0 else (sx, sy + step) for sx, sy in shifts]
    return shifts


def _scatter_daisies(rng: Random, albedo: Field, metres: float) -> Field:
    size = albedo.shape[0]
    canvas = np.ascontiguousarray(np.clip(albedo**0.5 * 255, 0, 255).astype(np.uint8))
    petal = (rgb("f2efe6", "e9d34a", "d8c7e8")[rng.integers(3)] ** 0.5 * 255).tolist()
    for _ in range(int(18 * metres * metres)):
        x, y = (rng.uniform(0.02, 0.98, 2) * size * 8).astype(int)
        radius = rng.uniform(0.006, 0.012) * size / metres * 8
        for turn in np.arange(7) * 2 * np.pi / 7:
            at = (int(x + radius * np.cos(turn)), int(y + radius * np.sin(turn)))
            cv2.circle(canvas, at, int(radius * 0.55), petal, -1, cv2.LINE_AA, 3)
        cv2.circle(canvas, (int(x), int(y)), int(radius * 0.6), (236, 190, 80), -1, cv2.LINE_AA, 3)
    return (canvas.astype(np.float32) / 255) ** 2


def asphalt(rng: Random, size: int, metres: float = 4.0) -> Texture:
    """Old concrete or asphalt: aggregate, patches, cracks, oil."""
    base = rgb("6d6a66", "8d8880", "595756", "9b9284")[rng.integers(4)]
    speckle = spectral(rng, size, 0.15, 80)
    albedo = base * (1 + 0.30 * speckle + 0.12 * spectral(rng, size, 1.3, 3))[..., None]
    patch = smoothstep(0.9, 1.0, spectral(rng, size, 2.2, 2))
    albedo = mix(albedo, albedo * 0.55, patch)
    oil = smoothstep(1.3, 2.2, spectral(rng, size, 1.8, 4))
    broken = cracks(rng, size, 2.0)
    albedo = mix(mix(albedo, albedo * 0.4, oil), rgb("2a2724"), broken)
    height = 0.0008 * speckle - 0.004 * broken + 0.002 * patch
    return Texture(weather(rng, albedo, 0.5), height.astype(np.float32), metres)


def floor_tiles(rng: Random, size: int, metres: float = 2.4) -> Texture:
    """Cement tiles with a painted ornament, every one a little different."""
    count = int(metres / 0.3) // 2 * 2
    distance, index, along, across = blocks(rng, size, count, count, stagger=0, jitter=0.0)
    x, y = np.abs(along - 0.5) * 2, np.abs(across - 0.5) * 2
    radius, corner = np.hypot(x, y), np.hypot(1 - x, 1 - y)
    turn = np.arctan2(across - 0.5, along - 0.5)
    star = smoothstep(0.02, -0.02, radius - 0.55 - 0.2 * np.cos(8 * turn))
    ring = smoothstep(0.05, 0.02, np.abs(corner - 0.62))
    leaf = smoothstep(0.02, -0.02, corner - 0.42)
    palettes = (
        rgb("d8cdb6", "35506b", "a8563a", "c9a24a"),
        rgb("cfc9bd", "4b4f4d", "7d8f7a", "b08a6a"),
        rgb("e0d7c6", "7a3b34", "2f4a4a", "c2a878"),
    )
    ground, a, b, c = palettes[rng.integers(3)]
    albedo = mix(mix(mix(np.broadcast_to(ground, (size, size, 3)), a, star), b, leaf), c, ring)
    worn = smoothstep(0.3, 1.8, spectral(rng, size, 1.2, 5))
    albedo = mix(albedo, ground * 0.85, worn * 0.6)
    albedo *= np.exp(rng.normal(0, 0.07, count * count)).astype(np.float32)[index][..., None]
    tile = smoothstep(0.0015, 0.004, distance * metres)
    albedo = mix(rgb("6b6459"), albedo, tile)
    return Texture(weather(rng, albedo, 0.4), (0.002 * tile).astype(np.float32), metres)


def hills(rng: Random, size: int, metres: float = 60.0) -> Texture:
    """Far woods and meadows."""
    _, centre, index = cells(rng, size, 70, 70, 0.95)
    crown = pick(rng, rgb("3d5228", "4a6030", "35492a", "5a6b36", "4c5a34"), 4900, 0.2)[index]
    crown *= (1.15 - 0.8 * centre)[..., None] * (1 + 0.25 * spectral(rng, size, 0.4, 100))[..., None]
    meadow = rgb("7d8a4a") * (1 + 0.12 * spectral(rng, size, 0.8, 10))[..., None]
    wood = smoothstep(-0.25, 0.05, spectral(rng, size, 1.8, 3))
    wood = warp(wood, 6 * spectral(rng, size, 1.0, 30), 6 * spectral(rng, size, 1.0, 30))
    albedo = mix(meadow, crown, wood)
    height = wood * (3 - 4 * np.minimum(centre, 0.7) ** 2)
    return Texture(np.clip(albedo, 0.01, 0.9).astype(np.float32), height.astype(np.float32), metres)
