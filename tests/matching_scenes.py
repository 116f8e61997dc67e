"""Pictures with known matches: a texture warped by a given flow, and two cameras before a slanted wall."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from wideflow.geometry import pixel_grid, points_from_depth, project, world_to_camera
from wideflow.types import Camera, View

MARGIN = 64  # px of texture around a picture


def texture(height: int, width: int, seed: int) -> np.ndarray:
    """(height, width, 3) float32 in 0..1 with detail of 1 to 30 px."""
    chance = np.random.default_rng(seed)
    picture = np.zeros((height, width, 3), np.float32)
    for blur in (1.0, 2.0, 4.0, 10.0):
        layer = cv2.GaussianBlur(chance.normal(size=picture.shape).astype(np.float32), (0, 0), blur)
        picture += layer / layer.std()
    return np.clip(0.5 + 0.09 * picture, 0.03, 0.95)


def look_up(picture: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Colours at (..., 2) places of a picture."""
    places = places.astype(np.float32)
    return np.clip(cv2.remap(picture, places[..., 0], places[..., 1], cv2.INTER_CUBIC), 0, 1)


def warped_pair(
    flow: Callable[[np.ndarray], np.ndarray], size: tuple[int, int] = (160, 120), seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two pictures and the exact flow from the first to the second, ``flow`` of its pixels (H, W, 2)."""
    width, height = size
    sheet = texture(height + 2 * MARGIN, width + 2 * MARGIN, seed)
    grid = pixel_grid(width, height)
    uv = flow(grid)
    return look_up(sheet, grid + uv + MARGIN), look_up(sheet, grid + MARGIN), uv


def stays_inside(uv: np.ndarray, size: tuple[int, int], border: float = 0) -> np.ndarray:
    """Pixels (H, W) whose match lies in a picture of ``size``, at least ``border`` px from its edge."""
    target = pixel_grid(uv.shape[1], uv.shape[0]) + uv
    return ((target >= border) & (target <= np.array(size) - 1 - border)).all(-1)


def two_views(sizes: tuple[tuple[int, int], tuple[int, int]] = ((160, 120), (144, 128))) -> tuple[View, View]:
    """Two different cameras, 15 degrees apart, towards a point 4 units away."""
    views = []
    for side, (width, height) in zip((-1, 1), sizes, strict=True):
        K = np.array([[1.1 * width, 0, width / 2 - 3], [0, 1.1 * width, height / 2 + side], [0, 0, 1]])
        angle = np.deg2rad(7.5) * side
        centre = np.array([4 * np.sin(angle), 0.1 * side, 4 - 4 * np.cos(angle)])
        c, s = np.cos(-angle), np.sin(-angle)
        R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]).T
        views.append(View(Camera(f"camera {side}", width, height, K), np.column_stack([R, -R @ centre])))
    return views[0], views[1]


def rendered(view: View, box: bool = True, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Picture and depth (H, W) of a slanted wall, with a smaller board in front of it if asked for."""
    rays = np.concatenate(
        [pixel_grid(*view.camera.size), np.ones((view.camera.height, view.camera.width, 1))], -1
    )
    rays = rays @ np.linalg.inv(view.camera.K).T @ view.R
    depth = np.full(rays.shape[:2], np.inf)
    picture = np.zeros((*rays.shape[:2], 3), np.float32)
    boards = [(np.array([0.2, 0.3, 1.0]), 4.2, np.inf)] + [(np.array([0.0, 0.0, 1.0]), 3.2, 0.45)] * box
    for number, (normal, distance, reach) in enumerate(boards):
        t = (distance - normal @ view.centre) / (rays @ normal)
        points = view.centre + t[..., None] * rays
        nearer = (t > 0) & (t < depth) & (np.abs(points[..., :2]) < reach).all(-1)
        colours = look_up(texture(640, 640, seed + number), points[..., :2] * 110 + 320)
        picture[nearer], depth[nearer] = colours[nearer], t[nearer]
    return picture, depth


def stereo_truth(
    views: tuple[View, View], depths: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Flow (H, W, 2) from the first view to the second, and which pixels (H, W) the second sees."""
    width, height = views[0].camera.size
    local = world_to_camera(views[1], points_from_depth(views[0], depths[0]))
    there = project(views[1].camera, local)
    inside = stays_inside(there - pixel_grid(width, height), views[1].camera.size)
    nearest = np.rint(np.where(inside[..., None], there, 0)).astype(int)
    seen = inside & (np.abs(depths[1][nearest[..., 1], nearest[..., 0]] - local[..., 2]) < 0.05)
    return there - pixel_grid(width, height), seen


def end_point_error(uv: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.linalg.norm(uv - truth, axis=-1)
