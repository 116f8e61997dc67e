"""A slanted, textured plane that moves before two moving cameras: pictures and flows in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideflow.geometry import (
    camera_to_world,
    flow_between,
    fundamental_matrix,
    pixel_grid,
    unproject,
    world_to_camera,
)
from wideflow.geometry.flow_loop import FlowLoop
from wideflow.types import Camera, RigFrame, View

MOTION = np.array([0.03, -0.02, -0.04])
_NORMAL = np.array([0.35, -0.25, -1.0])
_WAVES = 24


@dataclass(frozen=True, eq=False)
class PlaneScene:
    """Pictures A, B at t, A, B at t + 1 of the plane, its true flows and depth, and the cameras."""

    frames: tuple[RigFrame, RigFrame]
    pictures: tuple[np.ndarray, ...]
    flows: FlowLoop
    depth: np.ndarray

    @property
    def fundamental(self) -> list[np.ndarray]:
        return [fundamental_matrix(*frame.views) for frame in self.frames]


def plane_scene(
    size_a: tuple[int, int] = (96, 72),
    size_b: tuple[int, int] = (96, 72),
    seed: int = 0,
    late: float = 0.0,
) -> PlaneScene:
    """The plane passes 3 units before camera A; the cameras stand about 10 degrees apart.

    B takes its pictures ``late`` of the time step after A.
    """
    camera_a, camera_b = (_camera(name, *size) for name, size in (("a", size_a), ("b", size_b)))
    frames = (
        RigFrame(0, (0.0, 0.0), (_view(camera_a, [0, 0, 0]), _view(camera_b, [0.5, 0.03, 0.02])), late=late),
        RigFrame(
            1,
            (1.0, 1.0),
            (_view(camera_a, [0.02, 0, 0.01]), _view(camera_b, [0.49, 0.05, 0.02])),
            late=late,
        ),
    )
    (a, b), (a_next, b_next) = (frame.views for frame in frames)
    points = _hit(a, np.zeros(3))
    optical = flow_between(points + MOTION, a, a_next)
    stereo = flow_between(points + late * MOTION, a, b)
    loop = flow_between(points + (1 + late) * MOTION, a, b_next)
    seen = np.ones(points.shape[:2], bool)
    flows = FlowLoop(
        *(f.astype(np.float32) for f in (optical, stereo, loop - optical - stereo)), seen, seen, seen
    )
    shifts = (0 * MOTION, late * MOTION, MOTION, (1 + late) * MOTION)
    pictures = tuple(
        _texture(_hit(view, shift) - shift, seed)
        for view, shift in zip((a, b, a_next, b_next), shifts, strict=True)
    )
    return PlaneScene(frames, pictures, flows, world_to_camera(a, points)[..., 2].astype(np.float32))


def disturbed(flows: FlowLoop, noise: float, seed: int = 0) -> FlowLoop:
    """The flows with smooth errors of about ``noise`` pixels, as matching leaves them."""
    import cv2

    rng = np.random.default_rng(seed)
    off = [cv2.GaussianBlur(rng.normal(size=(*flows.optical.shape[:2], 2)), (0, 0), 2) for _ in range(3)]
    fields = [
        (flow + noise * error / error.std()).astype(np.float32)
        for flow, error in zip((flows.optical, flows.stereo, flows.closure), off, strict=True)
    ]
    return FlowLoop(*fields, flows.optical_visible, flows.stereo_visible, flows.loop_visible)


def _camera(name: str, width: int, height: int) -> Camera:
    focal = 1.1 * width
    return Camera(name, width, height, np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]]))


def _view(camera: Camera, centre: list[float]) -> View:
    """Looking at the middle of the plane."""
    z = np.array([0, 0, 3.0]) - centre
    z /= np.linalg.norm(z)
    x = np.cross([0, 1, 0], z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z])
    return View(camera, np.column_stack([R, -R @ np.array(centre)]))


def _hit(view: View, shift: np.ndarray) -> np.ndarray:
    """World points where the rays of all pixels meet the plane after it moved by ``shift``."""
    far = camera_to_world(view, unproject(view.camera, pixel_grid(*view.camera.size)))
    ray = far - view.centre
    reach = (np.array([0, 0, 3.0]) + shift - view.centre) @ _NORMAL / (ray @ _NORMAL)
    return view.centre + ray * reach[..., None]


def _texture(points: np.ndarray, seed: int) -> np.ndarray:
    """RGB of points on the plane: a sum of waves, none shorter than about 5 pixels."""
    rng = np.random.default_rng(seed)
    total = np.zeros((*points.shape[:2], 3))
    for _ in range(_WAVES):
        frequency = rng.normal(size=2) * 9
        total += rng.normal(size=3) * np.cos(points[..., :2] @ frequency + rng.uniform(0, 6.3))[..., None]
    return np.clip(0.5 + 0.5 * total / np.sqrt(_WAVES) / 2, 0, 1).astype(np.float32)
