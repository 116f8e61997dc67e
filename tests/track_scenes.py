"""A result in closed form: textured planes, one of which slides behind another."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from result_scenes import put_moment
from wideflow.files import write_rig
from wideflow.geometry import pixel_grid, points_from_depth, project, world_to_camera
from wideflow.storage.place import Place
from wideflow.storage.result import Result
from wideflow.storage.store import Store
from wideflow.types import Camera, Rig, RigFrame, View

SIZE, MOMENTS = (96, 64), 14
CAMERA = Camera("a", *SIZE, np.array([[80.0, 0, 47.5], [0, 80.0, 31.5], [0, 0, 1]]))
WALL, SLIDER, POST = 10.0, 6.0, 4.0  # depths
SPEED = np.array([0.16, 0.02, 0.0])  # of the slider, world units a moment


def view_at(t: int) -> View:
    """Camera A drifts to the right by a tenth of a unit over all moments, without turning."""
    return View(CAMERA, np.column_stack([np.eye(3), [-0.1 * t / MOMENTS, 0.0, 0.0]]))


def seen_at(t: int, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Depth of what pixels (..., 2) show, and its number: 0 the wall, 1 the slider, 2 the post."""
    rays = (pixels - CAMERA.K[:2, 2]) / 80.0
    centre = view_at(t).centre
    number = np.zeros(pixels.shape[:-1], int)
    at = rays * SLIDER + centre[:2] - SPEED[:2] * t  # on the slider, which starts at the left
    number[(np.abs(at + (1.9, 0)) < (0.9, 1.2)).all(axis=-1)] = 1
    number[np.abs((rays * POST + centre[:2])[..., 0] - 0.1) < 0.35] = 2
    return np.choose(number, [WALL, SLIDER, POST]).astype(np.float32), number


def colours(number: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Grey levels of places (..., 2) on each plane: a pattern of waves of its own."""
    rng = np.random.default_rng(7)
    levels = np.zeros(number.shape)
    for plane, depth in enumerate((WALL, SLIDER, POST)):
        turn, length = rng.uniform(0, 7, 30), rng.uniform(4, 14, 30)  # px
        waves = np.stack([np.cos(turn), np.sin(turn)], axis=1) * (2 * np.pi * 80 / depth / length)[:, None]
        pattern = np.sin(place @ waves.T + rng.uniform(0, 7, 30)).sum(axis=-1)
        levels = np.where(number == plane, 128 + 12 * pattern, levels)
    return np.clip(levels, 0, 255)


def sliding_result(folder: Path, bias: float = 0.0) -> Result:
    """The truth as a result, but ``bias`` px a step too much to the right in the optical flow."""
    other = Camera("b", *SIZE, CAMERA.K)
    store = Store.create(Place(folder), MOMENTS, (CAMERA, other))
    grid = pixel_grid(*SIZE)
    frames = []
    for t in range(MOMENTS):
        view = view_at(t)
        side = View(other, np.column_stack([np.eye(3), view.t - (1.0, 0, 0)]))
        frames.append(RigFrame(t, (t / 30, t / 30), (view, side)))
        depth, number = seen_at(t, grid)
        points = points_from_depth(view, depth)
        own = np.where((number == 1)[..., None], SPEED, 0.0)
        picture = np.repeat(np.rint(colours(number, (points - own * t)[..., :2]))[..., None], 3, axis=2)
        moved = project(CAMERA, world_to_camera(view_at(t + 1), points + own)) - grid
        put_moment(
            store,
            t,
            depth=depth,
            picture_a=picture.astype(np.uint8),
            motion=own.astype(np.float32),
            optical_flow_a=(moved + (bias, 0)).astype(np.float32),
            moving=(number == 1).astype(np.float32),
            confidence=np.full(depth.shape, 0.9, np.float32),
            confidence_5=np.full(depth.shape, 0.95, np.float32),
        )
    write_rig(folder / "rig.json", Rig((CAMERA, other), tuple(frames)))
    return Result(folder)


def truth_of(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """World points (T, N, 3), whether A sees them (T, N), and which move (N,)."""
    pixels, starts = queries[:, :2].astype(float), queries[:, 2].astype(int)
    depth, number = np.zeros(len(queries)), np.zeros(len(queries), int)
    centres = np.stack([view_at(t).centre for t in range(MOMENTS)])
    for t in np.unique(starts):
        depth[starts == t], number[starts == t] = seen_at(int(t), pixels[starts == t])
    rays = np.column_stack([(pixels - CAMERA.K[:2, 2]) / 80.0, np.ones(len(pixels))])
    points = rays * depth[:, None] + centres[starts]
    away = np.arange(MOMENTS)[:, None] - starts
    xyz = points + away[..., None] * np.where(number == 1, 1.0, 0.0)[:, None] * SPEED
    visible = np.zeros((MOMENTS, len(queries)), bool)
    for t in range(MOMENTS):
        there = project(CAMERA, world_to_camera(view_at(t), xyz[t]))
        inside = (there >= 0).all(axis=1) & (there <= np.array(SIZE) - 1).all(axis=1)
        visible[t] = inside & (seen_at(t, there)[1] == number)
    return xyz, visible, number == 1
