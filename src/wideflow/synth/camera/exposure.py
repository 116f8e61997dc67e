"""One picture: samples over pixels, rows and shutter time, averaged."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import unproject
from wideflow.synth.camera.hands import Hand
from wideflow.synth.rendering.scene import Scene, State
from wideflow.synth.rendering.shade import radiance
from wideflow.types import Camera

BAND = 15  # rows that a thread renders at once, and that share one moment of a rolling shutter
_SUBPIXELS = ((-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25))
_SPREAD = {4: (0, 1, 2, 3), 2: (0, 3)}  # the sub-pixels of so many samples
_BLUR_SAMPLES = 16


@dataclass(frozen=True)
class Shutter:
    """Seconds from the first row to the last, and seconds that it is open for each row."""

    readout: float = 0.0
    open: float = 0.0

    def late(self, row: float, rows: int) -> float:
        """Seconds from the frame's nominal time to the middle of the opening of a row."""
        return self.readout * ((row + 0.5) / rows - 0.5)

    def grid(self, rows: int) -> float:
        """Seconds between the moments at which what moves is placed, for bands of rows; 0: no grid."""
        return max(self.readout * BAND / rows, self.open / _BLUR_SAMPLES) if self.readout else 0.0

    def moments(self, row: float, rows: int) -> list[float]:
        """Times of the samples of a row, in seconds about the frame's nominal time.

        The nominal time is in the middle of the opening of the middle row.
        """
        late = self.late(row, rows)
        if not self.open:
            return [late]
        return [late + self.open * ((i + 0.5) / _BLUR_SAMPLES - 0.5) for i in range(_BLUR_SAMPLES)]


def sample_rays(camera: Camera) -> NDArray[np.float32]:
    """Viewing rays (4, H, W, 2) of the four samples of every pixel: x and y at depth 1."""
    x, y = np.meshgrid(np.arange(camera.width, dtype=float), np.arange(camera.height, dtype=float))
    rays = [unproject(camera, np.stack([x + dx, y + dy], -1))[..., :2] for dx, dy in _SUBPIXELS]
    return np.stack(rays).astype(np.float32)


def render_picture(
    scene: Scene,
    hand: Hand,
    rays: NDArray[np.float32],
    time: float,
    shutter: Shutter,
    gloss: bool,
    threads: int,
    count: int = 4,
) -> NDArray[np.float32]:
    """Linear radiance (H, W, 3) of the picture that ``hand`` takes at ``time``.

    ``threads`` work at it, ``count`` the samples of a pixel that is not blurred.
    """
    camera = hand.camera
    steps = np.array([[0.5 / camera.K[0, 0], 0, 0], [0, 0.5 / camera.K[1, 1], 0]])

    # What moves is rebuilt for every moment, so bands of a rolling shutter share moments on a grid.
    grid = shutter.grid(camera.height)

    @lru_cache(maxsize=_BLUR_SAMPLES + 4)
    def state(moment: float) -> State:
        return scene.state(time + moment)

    def band(top: int) -> NDArray[np.float32]:
        rows = slice(top, min(top + BAND, camera.height))
        samples = _samples(shutter.moments((rows.start + rows.stop - 1) / 2, camera.height), count)
        total = np.zeros(((rows.stop - rows.start) * camera.width, 3), np.float32)
        for moment, sub in samples:
            now = state(round(moment / grid) * grid if grid else moment)
            for own, late in _parts(rows, shutter, camera):
                view = hand.view(time + moment + late)
                pixel = rays[sub, own].reshape(-1, 2).astype(float)
                directions = np.concatenate([pixel, np.ones((len(pixel), 1))], axis=1) @ view.R
                part = slice((own.start - top) * camera.width, (own.stop - top) * camera.width)
                total[part] += radiance(scene, now, view.centre, directions, steps @ view.R, sub, gloss)
        return total.reshape(-1, camera.width, 3) / np.float32(len(samples))

    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(band, range(0, camera.height, BAND))))


def _parts(rows: slice, shutter: Shutter, camera: Camera) -> list[tuple[slice, float]]:
    """Rows that are seen from one place, and how much later than the middle of all of them."""
    if not shutter.readout:
        return [(rows, 0.0)]
    middle = shutter.late((rows.start + rows.stop - 1) / 2, camera.height)
    return [
        (slice(row, row + 1), shutter.late(row, camera.height) - middle)
        for row in range(rows.start, rows.stop)
    ]


def _samples(moments: list[float], count: int) -> list[tuple[float, int]]:
    """(time, sub-pixel) pairs: all ``count`` at a single moment, else one a moment in turn."""
    if len(moments) == 1:
        return [(moments[0], sub) for sub in _SPREAD[count]]
    return [(moment, i % 4) for i, moment in enumerate(moments)]
