"""A room with textured walls, filmed by two cameras in trembling hands: rendered in milliseconds a frame."""

from functools import cache
from pathlib import Path

import cv2
import numpy as np

from wideflow.geometry import pixel_grid, unproject
from wideflow.types import Camera, Rig, RigFrame, View
from wideflow.video.write import write_video

FPS = 10.0
# a point of each wall, and two unit vectors along it
_WALLS = [
    ((0, 0, 8), (1, 0, 0), (0, 1, 0)),
    ((0, 1.6, 0), (1, 0, 0), (0, 0, 1)),
    ((-3, 0, 0), (0, 0, 1), (0, 1, 0)),
    ((3, 0, 0), (0, 0, 1), (0, 1, 0)),
    ((0, -2.2, 0), (1, 0, 0), (0, 0, 1)),
    ((0, 0, -9), (1, 0, 0), (0, 1, 0)),
]
_BOARD = ((-1.0, 0.4, 4.6), (0.8, 0, 0.6), (0, 1, 0), 1.2)  # stands in the room
_GHOST = ((0.6, -0.4, 4.2), (1, 0, 0), (0, 1, 0), 0.9)  # wanders through it


def camera(name: str, size: tuple[int, int] = (320, 240), k1: float = -0.04) -> Camera:
    width, height = size
    focal = {"a": 0.95, "b": 0.88}[name] * max(size)
    K = [[focal, 0, width / 2 - 2], [0, focal, height / 2 + 1.5], [0, 0, 1]]
    return Camera(name, width, height, np.array(K), np.array([k1, 0, 0, 0]))


def view(cam: Camera, time: float, angle: float, move: float = 1.0, turn: float = 0.0) -> View:
    """Seen from ``angle`` degrees around the middle of the room, turned away by ``turn`` degrees."""
    phase = {"a": 0.0, "b": 1.3}[cam.name]
    shake = move * np.sin(np.array([1.1, 1.7, 2.3, 1.9, 1.3, 0.7]) * 2 * time + phase * np.arange(1, 7))
    shake -= move * np.sin(phase * np.arange(1, 7))
    yaw = np.radians(angle)
    centre = np.array([-5.5 * np.sin(yaw), 0, 5.5 - 5.5 * np.cos(yaw)]) + 0.12 * shake[:3]
    R = cv2.Rodrigues(0.02 * shake[3:])[0] @ cv2.Rodrigues(np.array([0, -yaw - np.radians(turn), 0]))[0]
    return View(cam, np.column_stack([R, -R @ centre]))


@cache
def texture(seed: int) -> np.ndarray:
    """(512, 512, 3) float32 with detail of all sizes; 50 pixels a metre."""
    rng = np.random.default_rng(seed)
    total = np.zeros((512, 512, 3), np.float32)
    for cells in (8, 32, 128, 256):
        noise = rng.random((cells, cells, 3)).astype(np.float32) - 0.5
        total += cv2.resize(noise, (512, 512), interpolation=cv2.INTER_CUBIC)
    return np.clip(0.5 + 0.5 * total, 0, 1)


@cache
def camera_rays(cam: Camera) -> np.ndarray:
    return unproject(cam, pixel_grid(*cam.size))


GHOST = len(_WALLS) + 1  # its number among what is shown


def shown(seen: View, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Colours (H, W, 3) 0..1, depth (H, W) and the number of the surface that each pixel shows."""
    rays = camera_rays(seen.camera) @ seen.R
    depth = np.full(rays.shape[:2], np.inf)
    out = np.full((*rays.shape[:2], 3), 0.5, np.float32)
    surface = np.full(rays.shape[:2], -1)
    walk = np.array([0.9 * np.sin(3 * time), 0.3 * np.cos(4 * time), 0.5 * np.sin(2 * time)])
    ghost = (tuple(np.add(_GHOST[0], walk)), *_GHOST[1:])
    for number, (point, u, v, *half) in enumerate((*_WALLS, _BOARD, ghost)):
        normal = np.cross(u, v)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = ((np.array(point) - seen.centre) @ normal) / (rays @ normal)
            where = seen.centre + distance[..., None] * rays - point
            x, y = where @ np.array(u, float), where @ np.array(v, float)
        hit = (distance > 0.05) & (distance < depth)
        if half:
            hit &= (np.abs(x) < half[0]) & (np.abs(y) < half[0])
        colours = cv2.remap(
            texture(number),
            (50 * x + 256).astype(np.float32),
            (50 * y + 256).astype(np.float32),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REFLECT,
        )
        out[hit], depth[hit], surface[hit] = colours[hit], distance[hit], number
    return out, depth, surface


def picture(seen: View, time: float, plain: bool = False) -> np.ndarray:
    """(H, W, 3) uint8 RGB."""
    out = shown(seen, time)[0]
    if plain:
        out[:] = 0.5
    noise = np.random.default_rng([int(1000 * time), ord(seen.camera.name)]).normal(0, 0.006, out.shape)
    return np.round(255 * np.clip(out + noise, 0, 1)).astype(np.uint8)


def film(
    folder: Path,
    frames: int,
    angle: float = 14.0,
    moves: tuple[float, float] = (1.0, 1.0),
    turn: float = 0.0,
    plain: bool = False,
    size_b: tuple[int, int] = (320, 240),
) -> Rig:
    """Write a.mp4 and b.mp4 of one moment into the folder and return the true rig."""
    cameras = camera("a"), camera("b", size_b)
    times = np.arange(frames) / FPS
    views = [[view(cameras[c], t, (c - 0.5) * angle, moves[c], turn * c) for t in times] for c in (0, 1)]
    for c, name in enumerate("ab"):
        write_video(
            folder / f"{name}.mp4", [picture(v, t, plain) for v, t in zip(views[c], times, strict=True)], FPS
        )
    rig_frames = [RigFrame(k, (t, t), (views[0][k], views[1][k])) for k, t in enumerate(times.tolist())]
    return Rig(cameras, tuple(rig_frames))


def off_the_walls(points: np.ndarray) -> np.ndarray:
    """(N,) metres from each of (N, 3) points to the nearest wall, or the board."""
    planes = [(np.array(each[0]), np.cross(*np.array(each[1:3], float))) for each in (*_WALLS, _BOARD)]
    return np.min([np.abs((points - point) @ normal) for point, normal in planes], axis=0)
