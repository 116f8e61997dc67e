"""Ground truth of a rolling shutter: every row at its own time, from its own place.

What moves stands where it stands in the picture: bands of rows share a moment (`Shutter.grid`), half a band
from their own at most.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import ideal_camera, inside_picture, project
from wideflow.synth.camera.exposure import BAND, Shutter
from wideflow.synth.camera.hands import Hand
from wideflow.synth.rendering.scene import Scene, State
from wideflow.synth.rendering.shade import first_hits
from wideflow.synth.truth import NEARLY, follow_surface, joined
from wideflow.types import Camera, Truth, View

Points = NDArray[np.float64]

_ROUNDS = 3  # a point's row tells the time at which it is seen, and that its row


@dataclass(frozen=True, eq=False)
class Shot:
    """A picture of a rolling shutter: a camera in a hand, its time in seconds, and where things are."""

    hand: Hand
    time: float
    shutter: Shutter
    state: Callable[[float], State]

    @property
    def camera(self) -> Camera:
        return self.hand.lens(self.time)

    def view(self, row: int) -> View:
        """The camera when it exposes a row; its lens does not change within a picture."""
        held = replace(self.hand, camera=self.camera, zoom=(1.0, 1.0))
        return held.view(self.time + self.shutter.late(row, self.camera.height))

    def views(self) -> tuple[Points, Points]:
        """Rotations (H, 3, 3) and centres (H, 3) of all rows."""
        views = [self.view(row) for row in range(self.camera.height)]
        return np.stack([view.R for view in views]), np.stack([view.centre for view in views])

    def moment(self, band: int) -> float:
        """Time at which what moves is placed for a band of rows, as in the picture."""
        rows = self.camera.height
        top, stop = band * BAND, min((band + 1) * BAND, rows)
        grid = self.shutter.grid(rows)
        return self.time + round(self.shutter.late((top + stop - 1) / 2, rows) / grid) * grid


def render_rolling_truth(
    scene: Scene, now: tuple[Shot, Shot], later: tuple[Shot, Shot], threads: int
) -> Truth:
    """Ground truth of the first shot of ``now``.

    Parameters
    ----------
    scene : Scene
        What is there.
    now, later : (Shot, Shot)
        This camera and the other one, at the time of the picture and one time step later.
    threads : int
        Threads; the result does not depend on it.
    """
    seen_from = [(shot, *shot.views()) for shot in (now[1], later[0], later[1])]
    bands = range(-(-now[0].camera.height // BAND))
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(lambda band: _band(scene, now[0], later[0], seen_from, band), bands))
    return joined(parts, now[0].camera)


def _band(
    scene: Scene, shot: Shot, later: Shot, targets: list[tuple[Shot, Points, Points]], band: int
) -> tuple[NDArray[Any], ...]:
    camera = shot.camera
    K, rows = camera.K, range(band * BAND, min((band + 1) * BAND, camera.height))
    state, after = shot.state(shot.moment(band)), shot.state(later.moment(band))
    x = np.arange(camera.width)
    found, centres = [], []
    for row in rows:
        view = shot.view(row)
        pixels = np.stack(
            [(x - K[0, 2]) / K[0, 0], np.full(len(x), (row - K[1, 2]) / K[1, 1]), np.ones(len(x))], 1
        )
        found.append(first_hits(scene, state, view.centre, pixels @ view.R))
        centres.append(np.broadcast_to(view.centre, (len(x), 3)))
    hits, where = (np.concatenate(each) for each in zip(*found, strict=True))
    points, towards = follow_surface(scene, state, hits, where)
    moved, _ = follow_surface(scene, after, hits, where)
    side = np.sign(((np.concatenate(centres) - points) * towards).sum(1))
    guess = np.repeat(np.asarray(rows), len(x)) / camera.height
    return (
        np.where(hits < 0, np.nan, where[:, 0]),
        moved - points,
        *(_sees(scene, target, hits, where, side, guess) for target in targets),
        np.where(hits < 0, -1, scene.surfaces.object[hits]),
    )


def _sees(
    scene: Scene,
    target: tuple[Shot, Points, Points],
    hits: NDArray[np.int32],
    where: Points,
    side: NDArray[np.float64],
    guess: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Whether a shot shows what was hit while its row is open: in the picture, nothing before it, same side.

    ``guess`` (n,) is where to begin: the share of the picture's height.
    """
    shot, turns, centres = target
    camera = ideal_camera(shot.camera)
    last = camera.height - 1
    row = np.clip(guess * camera.height, 0, last).astype(np.int64)
    real = np.flatnonzero(hits >= 0)
    points, normals = np.full((2, len(hits), 3), np.nan)
    pixels = np.full((len(hits), 2), np.nan)
    for _ in range(_ROUNDS):
        for band in np.unique(row[real] // BAND):
            own = real[row[real] // BAND == band]
            points[own], normals[own] = follow_surface(
                scene, shot.state(shot.moment(band)), hits[own], where[own]
            )
        ahead = np.einsum("nij,nj->ni", turns[row[real]], points[real] - centres[row[real]])
        pixels[real] = project(camera, ahead)
        row[real] = np.clip(np.nan_to_num(pixels[real, 1]).round(), 0, last)
    seen = inside_picture(camera, pixels)
    seen &= np.sign(((centres[row] - points) * normals).sum(1)) == side
    for band in np.unique(row[seen] // BAND):
        ask = np.flatnonzero(seen & (row // BAND == band))
        origins = centres[row[ask]].astype(np.float32)
        rays = (points[ask] - centres[row[ask]]).astype(np.float32)
        hidden = scene.still.blocked(origins, rays, NEARLY)
        hidden |= shot.state(shot.moment(band)).moving.blocked(origins, rays, NEARLY)
        seen[ask] = ~hidden
    return seen
