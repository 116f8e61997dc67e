"""Walls, stone, plaster and plants. Each function draws one tile."""

from __future__ import annotations

import cv2
import numpy as np

from wideflow.synth.textures.noise import Field, Random, blur, cells, mix, smoothstep, spectral, warp
from wideflow.synth.textures.texture import Texture, blocks, cracks, pick, rgb, weather

PLASTERS = ("d9c8a4", "c9a27a", "b9c4bd", "d8b7a2", "e2dccb", "a8b7c2", "c8bb8f", "b88a72")


def brick(rng: Random, size: int, metres: float = 3.0) -> Texture:
    """A brick wall: 25 x 7.5 cm courses, bricks of one kiln, pale mortar."""
    rows, columns = round(metres / 0.075) // 2 * 2, round(metres / 0.25)
    distance, index, _, _ = blocks(rng, size, rows, columns, stagger=0.5, jitter=0.06, wobble=0.0006)
    ragged = distance * metres + 0.0015 * spectral(rng, size, 1.0, 60)
    body = smoothstep(0.003, 0.009, ragged)
    palettes = (
        rgb("93503c", "a5614a", "7c4334", "b4785c", "6a3b30", "8d5a48"),
        rgb("b79a74", "c8ad86", "a38762", "d2bd9c", "94785a", "bfa284"),
        rgb("7d5a50", "5f4a46", "8f6b5c", "4c403e", "9c7a68", "6b524a"),
    )
    colour = pick(rng, palettes[rng.integers(3)], rows * columns, 0.2)[index]
    colour = (
        colour * (1 + 0.16 * spectral(rng, size, 0.6, 40) + 0.1 * spectral(rng, size, 1.4, 16))[..., None]
    )
    mortar = rgb("a39a8b") * (1 + 0.15 * spectral(rng, size, 0.4, 40))[..., None]
    soot = smoothstep(0.6, 1.8, spectral(rng, size, 1.5, 2, (1, 0.4)))
    albedo = mix(mix(mortar, colour, body), rgb("3a332d"), 0.45 * soot)
    tilt = rng.normal(0, 0.0012, rows * columns).astype(np.float32)[index]
    height = body * (0.007 + tilt) + 0.0006 * spectral(rng, size, 0.8, 40)
    return Texture(weather(rng, albedo, 0.35), height.astype(np.float32), metres)


def plaster(rng: Random, size: int, metres: float = 4.0) -> Texture:
    """Painted plaster that has come off in places, with the bricks behind it."""
    behind = brick(rng, size, metres)
    paint = rgb(PLASTERS[rng.integers(len(PLASTERS))])
    trowel = spectral(rng, size, 1.3, 6)
    shade = 1 + 0.05 * trowel + 0.04 * spectral(rng, size, 0.3, 60) + 0.08 * spectral(rng, size, 1.8, 2)
    coat = weather(rng, paint * shade[..., None], 0.3)
    drips = smoothstep(0.6, 2.0, spectral(rng, size, 1.3, 6, (0.25, 3.0)))
    coat = mix(coat, coat * rgb("9a8e7a"), 0.8 * drips)
    edge = spectral(rng, size, 1.7, 3) + 0.25 * spectral(rng, size, 0.9, 20)
    bare = smoothstep(1.25, 1.29, edge)
    rim = smoothstep(1.12, 1.25, edge) * (1 - bare)
    broken = cracks(rng, size)
    coat = mix(mix(coat, paint * 1.15, 0.5 * rim), rgb("4a4038"), 0.8 * broken)
    albedo = mix(coat, behind.albedo * 0.9, bare)
    height = mix_height(0.02 + 0.0008 * trowel - 0.002 * broken, behind.height, bare)
    return Texture(np.clip(albedo, 0.01, 0.92), height, metres)


def mix_height(a: Field, b: Field, weight: Field) -> Field:
    """Relief a where ``weight`` is 0, b where it is 1."""
    return (a * (1 - weight) + b * weight).astype(np.float32)


def rubble(rng: Random, size: int, metres: float = 3.0) -> Texture:
    """A wall of unequal field stones in mortar."""
    columns, rows = round(metres / 0.3), round(metres / 0.17)
    edge, _, index = cells(rng, size, columns, rows, 0.9)
    edge = warp(edge, 3 * spectral(rng, size, 1.5, 20), 3 * spectral(rng, size, 1.5, 20))
    body = smoothstep(0.05, 0.22, edge)
    palette = rgb("8d8272", "a3967f", "746c62", "b7a88c", "86725c", "6b6762")
    colour = pick(rng, palette, columns * rows, 0.22)[index]
    colour = (
        colour * (1 + 0.18 * spectral(rng, size, 0.9, 24) + 0.1 * spectral(rng, size, 0.3, 60))[..., None]
    )
    mortar = rgb("8f8675") * (1 + 0.15 * spectral(rng, size, 0.5, 40))[..., None]
    lichen = smoothstep(1.1, 1.5, spectral(rng, size, 1.1, 8))
    albedo = mix(mix(mortar, colour, body), rgb("a3a16a"), 0.55 * lichen)
    height = 0.03 * body + 0.002 * spectral(rng, size, 1.1, 20)
    return Texture(weather(rng, albedo, 0.35), height.astype(np.float32), metres)


def wallpaper(rng: Random, size: int, metres: float = 1.6) -> Texture:
    """Printed paper: stripes, medallions and sprigs, a little faded."""
    unit = (np.arange(size, dtype=np.float32) + 0.5) / size
    x, y = np.meshgrid(unit, unit)
    ground, dark, light = (
        rgb("8fa39a", "5a7268", "cbd2c2"),
        rgb("c7b08a", "9a7f58", "e6d9bd"),
        rgb("a06a5c", "713f3a", "d3a894"),
        rgb("7f8ca3", "4c5a78", "c3c8d2"),
    )[rng.integers(4)]
    count = 8
    shift = (np.floor(y * count) % 2) * 0.5
    a, b = (x * count + shift) % 1 - 0.5, (y * count) % 1 - 0.5
    radius, turn = np.hypot(a, b), np.arctan2(b, a)
    flower = smoothstep(0.02, -0.02, radius - 0.16 - 0.07 * np.cos((5 + rng.integers(4)) * turn))
    heart = smoothstep(0.01, -0.01, radius - 0.06)
    stem = smoothstep(0.03, 0.0, np.abs(a - 0.1 * np.sin(2 * np.pi * y * count))) * smoothstep(
        0.2, 0.26, radius
    )
    stripe = smoothstep(-0.1, 0.1, np.sin(2 * np.pi * x * count))
    albedo = mix(np.broadcast_to(ground, (size, size, 3)), ground * 0.86, stripe)
    albedo = mix(mix(mix(albedo, dark, 0.8 * stem), light, flower), dark, heart)
    albedo = albedo * (1 + 0.05 * spectral(rng, size, 0.4, 40))[..., None]
    return Texture(weather(rng, albedo, 0.3), (0.0003 * flower).astype(np.float32), metres)


def marble(rng: Random, size: int, metres: float = 1.5) -> Texture:
    """Veined stone for columns and pots."""
    bend = 30 * size / 1024 * spectral(rng, size, 1.8, 3), 30 * size / 1024 * spectral(rng, size, 1.8, 3)
    vein = np.abs(warp(spectral(rng, size, 2.6, 2), *bend))
    fine = np.abs(warp(spectral(rng, size, 2.4, 5), *bend))
    pairs = (rgb("d5cfc4", "77726c"), rgb("b9a58d", "6a4f3e"), rgb("9aa39a", "3f4a44"))
    pale, dark = pairs[rng.integers(3)]
    albedo = mix(np.broadcast_to(pale, (size, size, 3)), dark, smoothstep(0.45, 0.0, vein) * 0.75)
    albedo = mix(albedo, dark * 0.8, smoothstep(0.12, 0.0, fine) * 0.6)
    albedo = (
        albedo * (1 + 0.12 * spectral(rng, size, 1.5, 3) + 0.05 * spectral(rng, size, 0.4, 40))[..., None]
    )
    return Texture(weather(rng, albedo, 0.25), np.zeros((size, size), np.float32), metres)


def terrazzo(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """Stone chips in cement."""
    albedo = np.broadcast_to(rgb("b9b2a4", "8c8f8d", "cdb9a0")[rng.integers(3)], (size, size, 3))
    palette = rgb("e7e0d0", "6b3f35", "2f3b44", "c08d4e", "7d8a72", "3a3330")
    for chips, share in ((14, 0.35), (28, 0.3), (52, 0.3)):
        edge, _, index = cells(rng, size, chips, chips, 0.95)
        there = (rng.random(chips * chips) < share).astype(np.float32)[index]
        albedo = mix(
            albedo, pick(rng, palette, chips * chips, 0.15)[index], smoothstep(0.28, 0.34, edge) * there
        )
    return Texture(weather(rng, albedo, 0.3), np.zeros((size, size), np.float32), metres)


def rust(rng: Random, size: int, metres: float = 0.8) -> Texture:
    """Painted iron with rust showing through."""
    paint = rgb("3f5a4c", "2f3e55", "7a2f2a", "44474a", "c7a23c", "8c979c")[rng.integers(6)]
    coat = paint * (1 + 0.08 * spectral(rng, size, 0.6, 10))[..., None]
    iron = mix(rgb("6b3a22"), rgb("3a2a24"), smoothstep(-1, 1, spectral(rng, size, 0.8, 10)))
    bare = smoothstep(0.8, 0.95, spectral(rng, size, 1.3, 4))
    scratch = smoothstep(2.0, 2.4, spectral(rng, size, 0.8, 20, (6, 0.3)))
    albedo = mix(coat, iron, np.maximum(bare, scratch))
    return Texture(weather(rng, albedo, 0.3), (-0.0004 * bare).astype(np.float32), metres)


def foliage(rng: Random, size: int, metres: float = 1.5) -> Texture:
    """Dense leaves of a clipped hedge."""
    canvas = np.full((size, size, 3), 26, np.uint8)
    level = np.zeros((size, size), np.uint8)
    palette = rgb("33481c", "42592a", "556c32", "6a7f3c", "2b3d1a")
    leaves = 9000
    at = rng.random((leaves, 2)) * size
    reach = rng.uniform(0.012, 0.026, leaves) * size / metres
    for i in range(leaves):
        tone = palette[rng.integers(len(palette))] * (0.35 + 0.75 * i / leaves) * np.exp(rng.normal(0, 0.15))
        ink = np.clip(tone**0.5 * 255, 0, 255).tolist()
        axes = (int(reach[i] * 8), int(reach[i] * rng.uniform(3, 5)))
        turn = rng.uniform(0, 360)
        for dx in (0, -size) if at[i, 0] > size * 0.96 else (0,):
            for dy in (0, -size) if at[i, 1] > size * 0.96 else (0,):
                spot = (int((at[i, 0] + dx) * 8), int((at[i, 1] + dy) * 8))
                cv2.ellipse(canvas, spot, axes, turn, 0, 360, ink, -1, cv2.LINE_AA, 3)
                cv2.ellipse(level, spot, axes, turn, 0, 360, 40 + 200 * i // leaves, -1, cv2.LINE_AA, 3)
    albedo = (canvas.astype(np.float32) / 255) ** 2
    return Texture(albedo, blur(level.astype(np.float32) / 255 * 0.03, 1.0), metres)


def leaf(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """One leaf per tile, stem at the bottom: midrib and side veins over mottled green."""
    unit = (np.arange(size, dtype=np.float32) + 0.5) / size
    x, y = np.meshgrid(np.abs(unit - 0.5) * 2, unit)
    base = rgb("4f6a28", "5e7a3a", "6d7f35", "45632f", "7c7a34")[rng.integers(5)]
    albedo = base * (1 + 0.18 * spectral(rng, size, 1.2, 4) + 0.1 * spectral(rng, size, 0.4, 20))[..., None]
    side = np.abs(np.sin((y + 0.5 * x) * 9 * np.pi))
    vein = np.maximum(smoothstep(0.08, 0.02, x), 0.6 * smoothstep(0.25, 0.05, side))
    albedo = mix(albedo, base * 1.7, 0.6 * vein)
    return Texture(np.clip(albedo, 0.01, 0.9), np.zeros((size, size), np.float32), metres)


def bark(rng: Random, size: int, metres: float = 0.8) -> Texture:
    """Furrowed bark, running along y."""
    ridge = np.abs(spectral(rng, size, 1.5, 5, (1, 6.0)))
    furrow = smoothstep(0.35, 0.02, ridge)
    tone = rgb("6f5f4c", "7d705f", "5d4e42")[rng.integers(3)]
    albedo = mix(tone * (1 + 0.2 * spectral(rng, size, 0.8, 16, (1, 2)))[..., None], tone * 0.3, furrow)
    return Texture(weather(rng, albedo, 0.4), (-0.012 * furrow).astype(np.float32), metres)


def clouds(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """Cloud cover, 0..1 in every channel."""
    cover = smoothstep(-0.2, 1.6, spectral(rng, size, 1.7, 2) + rng.uniform(-0.4, 0.4))
    albedo = np.repeat(cover[..., None], 3, axis=2)
    return Texture(albedo, np.zeros((size, size), np.float32), metres)
