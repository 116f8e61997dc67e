"""Pictures made by people: posters, house fronts, book spines, doors, windows, a ball. One per tile."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from wideflow.geometry.tags import tag_cells
from wideflow.synth.textures.noise import Field, Random, blur, mix, smoothstep, spectral
from wideflow.synth.textures.texture import Texture, pick, rgb, weather

TAG = 7  # of the family: which one stands in a scene
_INKS = (
    rgb("f3e9d2", "c1121f", "003049", "669bbc", "fdc500"),
    rgb("fefae0", "606c38", "bc6c25", "283618", "dda15e"),
    rgb("edf2f4", "2b2d42", "ef233c", "8d99ae", "ffb703"),
    rgb("f7ede2", "84a59d", "f28482", "3d405b", "f6bd60"),
    rgb("0b132b", "5bc0be", "ffd166", "ef476f", "f8f9fa"),
)


def _canvas(colour: Field, size: int) -> Any:
    return np.full((size, size, 3), np.clip(colour**0.5 * 255, 0, 255), np.uint8)


def _ink(colour: Field) -> Any:
    return np.clip(colour**0.5 * 255, 0, 255).tolist()


def _texture(rng: Random, canvas: Any, metres: float, wear: float = 0.2) -> Texture:
    albedo = weather(rng, (canvas.astype(np.float32) / 255) ** 2, wear)
    return Texture(albedo, np.zeros(canvas.shape[:2], np.float32), metres)


def glyph(rng: Random, canvas: Any, box: tuple[int, int, int, int], ink: Any) -> None:
    """One sign of an invented script inside ``box`` (x, y, width, height): strokes, arcs and dots."""
    x, y, w, h = box
    thick = max(1, min(w, h) // 6)
    spots = [(x + int(w * a), y + int(h * b)) for a in (0.15, 0.5, 0.85) for b in (0.1, 0.5, 0.9)]
    for _ in range(int(rng.integers(2, 4))):
        a, b = rng.integers(len(spots), size=2)
        if rng.random() < 0.3:
            axes = (max(1, w // 3), max(1, h // 3))
            start = float(rng.uniform(0, 360))
            cv2.ellipse(canvas, spots[a], axes, 0, start, start + 200, ink, thick, cv2.LINE_AA)
        else:
            cv2.line(canvas, spots[a], spots[b], ink, thick, cv2.LINE_AA)


def writing(rng: Random, canvas: Any, box: tuple[int, int, int, int], line: int, ink: Any) -> None:
    """Lines of glyphs ``line`` pixels high, ragged on the right, with spaces between words."""
    x, y, w, h = box
    for top in range(y, y + h - line, int(line * 1.5)):
        left, end = x, x + w - int(rng.uniform(0, 0.3) * w)
        while left < end - line:
            if rng.random() < 0.18:
                left += line // 2
                continue
            width = int(line * rng.uniform(0.45, 0.75))
            glyph(rng, canvas, (left, top, width, line), ink)
            left += width + max(1, line // 6)


def poster(rng: Random, size: int, metres: float = 0.7) -> Texture:
    """A picture of hills, discs or figures with a title and small print."""
    inks = _INKS[rng.integers(len(_INKS))][rng.permutation(5)]
    canvas = _canvas(inks[0], size)
    horizon = int(size * rng.uniform(0.45, 0.6))
    cv2.circle(
        canvas,
        (int(size * rng.uniform(0.25, 0.75)), int(horizon * 0.6)),
        size // 6,
        _ink(inks[1]),
        -1,
        cv2.LINE_AA,
    )
    for layer in range(3):
        ridge = spectral(rng, size, 2.0, 1)[0] * size * 0.05 + horizon - size * 0.12 + layer * size * 0.09
        outline = np.stack([np.arange(size), ridge], 1).astype(np.int32)
        polygon = np.vstack([outline, [[size, int(size * 0.72)], [0, int(size * 0.72)]]]).astype(np.int32)
        cv2.fillPoly(canvas, [polygon], _ink(inks[2 + layer] * (0.7 + 0.2 * layer)), cv2.LINE_AA)
    for _ in range(int(rng.integers(3, 9))):
        centre = (rng.random(2) * [size, size * 0.7]).astype(int)
        spokes = int(rng.integers(3, 8))
        turn = np.arange(2 * spokes) * np.pi / spokes + rng.uniform(0, 6)
        reach = size * rng.uniform(0.02, 0.08) * np.where(np.arange(2 * spokes) % 2, 0.45, 1.0)
        star = centre + np.stack([np.cos(turn), np.sin(turn)], 1) * reach[:, None]
        cv2.fillPoly(canvas, [star.astype(np.int32)], _ink(inks[rng.integers(5)]), cv2.LINE_AA)
    writing(
        rng,
        canvas,
        (size // 12, int(size * 0.75), int(size * 0.95), size // 8),
        size // 11,
        _ink(inks[4] * 0.6),
    )
    writing(
        rng,
        canvas,
        (size // 12, int(size * 0.87), int(size * 0.84), size // 9),
        size // 40,
        _ink(inks[3] * 0.6),
    )
    cv2.rectangle(canvas, (0, 0), (size - 1, size - 1), _ink(rgb("f4f0e6")), size // 16)
    return _texture(rng, canvas, metres)


def facade(rng: Random, size: int, metres: float = 9.0) -> Texture:
    """A house front: three storeys of windows with shutters, cornices, stains."""
    wall = rgb("c9b48f", "b98f78", "a9b2ad", "c8c2b4", "b8a07c")[rng.integers(5)]
    canvas = _canvas(wall, size)
    shutter = _ink(rgb("3f5a4c", "5a3a2e", "43586e", "7a6a4a")[rng.integers(4)])
    columns = int(rng.integers(3, 5))
    w, h = int(size / columns * 0.34), int(size / 3 * 0.5)
    for row in range(3):
        y = int(size / 3 * (row + 0.22))
        cv2.rectangle(
            canvas, (0, int(size / 3 * row)), (size, int(size / 3 * row) + size // 60), _ink(wall * 0.6), -1
        )
        for column in range(columns):
            x = int(size / columns * (column + 0.33))
            cv2.rectangle(
                canvas, (x - 6, y - 8), (x + w + 6, y + h + 8), _ink(np.minimum(wall * 1.4, 0.9)), -1
            )
            pane = rgb("1c2730", "2b3a44", "394048", "6d7d86")[rng.integers(4)]
            cv2.rectangle(canvas, (x, y), (x + w, y + h), _ink(pane), -1)
            if rng.random() < 0.6:
                drape = int(h * rng.uniform(0.2, 0.7))
                cv2.rectangle(canvas, (x, y), (x + w, y + drape), _ink(rgb("cfc8ba") * 0.8), -1)
            for k in (1, 2):
                cv2.line(
                    canvas, (x, y + k * h // 3), (x + w, y + k * h // 3), _ink(rgb("d9d3c6")), size // 200 + 1
                )
            cv2.line(canvas, (x + w // 2, y), (x + w // 2, y + h), _ink(rgb("d9d3c6")), size // 150 + 1)
            if rng.random() < 0.75:
                for left in (x - w // 2 - 8, x + w + 8):
                    cv2.rectangle(canvas, (left, y), (left + w // 2, y + h), shutter, -1)
                    for slat in range(y, y + h, max(4, size // 120)):
                        cv2.line(canvas, (left, slat), (left + w // 2, slat), (40, 40, 36), 1)
    return _texture(rng, canvas, metres, 0.5)


def spines(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """A shelf of books seen from the front: two rows of spines with titles."""
    canvas = _canvas(rgb("1d1712"), size)
    palette = rgb(
        "7a2f2a", "2f4a5e", "c8b58a", "3f5a3a", "5a4634", "a5763f", "28323c", "8c8576", "b04a2f", "d8d2c2"
    )
    for top in (0, size // 2):
        x = 0
        while x < size:
            width = int(size * rng.uniform(0.018, 0.05))
            drop = int(size * rng.uniform(0.03, 0.14))
            colour = pick(rng, palette, 1, 0.25)[0]
            low, high = top + drop, top + size // 2 - 2
            cv2.rectangle(canvas, (x, low), (x + width - 2, high), _ink(colour), -1)
            cv2.line(canvas, (x, low), (x, high), _ink(colour * 0.4), 2)
            band = _ink(rgb("d9bf6a") if colour.mean() < 0.25 else rgb("3a2a20"))
            for y in (low + 8, high - 14):
                cv2.line(canvas, (x + 1, y), (x + width - 3, y), band, max(2, size // 300))
            for y in range(low + (high - low) // 4, high - (high - low) // 3, max(6, int(width * 0.5))):
                glyph(rng, canvas, (x + width // 4, y, width // 2, max(4, int(width * 0.35))), band)
            x += width
    return _texture(rng, canvas, metres, 0.3)


def door(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """A panelled door, painted."""
    paint = rgb("2f4a3a", "6b2f2a", "32475e", "70512f", "8a8578")[rng.integers(5)]
    albedo = paint * (1 + 0.1 * spectral(rng, size, 0.8, 20, (1, 8)))[..., None]
    height = np.zeros((size, size), np.float32)
    for low, high in ((0.06, 0.3), (0.35, 0.62), (0.67, 0.94)):
        for left, right in ((0.1, 0.46), (0.54, 0.9)):
            box = np.s_[int(low * size) : int(high * size), int(left * size) : int(right * size)]
            height[box] -= 0.012
            albedo[box] *= 0.85
    knob = np.s_[int(0.5 * size) : int(0.53 * size), int(0.87 * size) : int(0.95 * size)]
    albedo[knob] = rgb("c9a24a")
    return Texture(weather(rng, albedo, 0.4), blur(height, size / 200), metres)


def window(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """Panes in a frame that mirror sky and trees."""
    unit = (np.arange(size, dtype=np.float32) + 0.5) / size
    x, y = np.meshgrid(unit, unit)
    trees = smoothstep(-0.06, 0.06, y - 0.45 + 0.12 * spectral(rng, size, 1.4, 2))
    leaves = rgb("39482e") * (1 + 0.4 * spectral(rng, size, 0.7, 10))[..., None]
    albedo = mix(mix(rgb("8fa9bd"), rgb("c9d6dd"), y), np.clip(leaves, 0.01, 1), trees)
    frame = np.minimum(
        np.minimum(np.minimum(x, 1 - x), np.abs(x - 0.5) + 0.02),
        np.minimum(np.minimum(y, 1 - y), np.abs(y - 0.35) + 0.025),
    )
    wood = smoothstep(0.05, 0.045, frame)
    albedo = mix(albedo, rgb("d8d2c4") * (1 + 0.08 * spectral(rng, size, 0.6, 20))[..., None], wood)
    return Texture(albedo.astype(np.float32), (0.03 * wood).astype(np.float32), metres)


def ball(rng: Random, size: int, metres: float = 1.0) -> Texture:
    """Gores from pole to pole with stars and a belt."""
    inks = _INKS[rng.integers(len(_INKS))]
    canvas = _canvas(inks[0], size)
    for i in range(8):
        cv2.rectangle(canvas, (i * size // 8, 0), ((i + 1) * size // 8, size), _ink(inks[i % 4 + 1]), -1)
        for _ in range(9):
            x, y = int((i + rng.uniform(0.2, 0.8)) * size / 8), int(rng.uniform(0.12, 0.88) * size)
            glyph(rng, canvas, (x, y, size // 20, size // 14), _ink(inks[(i % 4 + 3) % 5]))
    cv2.rectangle(canvas, (0, int(size * 0.46)), (size, int(size * 0.54)), _ink(inks[0]), -1)
    for i in range(0, size, size // 16):
        cv2.circle(canvas, (i, size // 2), size // 60, _ink(inks[1]), -1, cv2.LINE_AA)
    return _texture(rng, canvas, metres, 0.25)


def tag(rng: Random, size: int) -> Texture:
    """A tag of `wideflow tag` with a white margin of one cell."""
    white = np.pad(tag_cells(TAG), 1, constant_values=True).astype(np.float32)
    # exact share of every texel: edges do not fall between texels
    edges = np.linspace(0, len(white), size + 1)
    area = np.pad(white.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    at = np.arange(len(white) + 1)
    rows = np.stack([np.interp(edges, at, column) for column in area.T], 1)
    whole = np.stack([np.interp(edges, at, row) for row in rows])
    share = np.diff(np.diff(whole, axis=0), axis=1) * (size / len(white)) ** 2
    albedo = np.repeat((0.04 + 0.76 * share)[..., None], 3, axis=2).astype(np.float32)
    return Texture(albedo, np.zeros((size, size), np.float32), 1.0)
