"""Random cameras, poses and points for the property tests of geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from wideflow.geometry import camera_to_world, project, unproject, world_to_camera
from wideflow.types import Camera, View

SEEDS = st.integers(0, 2**32 - 1)
EPIPOLES = ("inside, ahead", "inside, behind", "outside, ahead", "outside, behind", "at infinity")


def uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, allow_subnormal=False)


@st.composite
def cameras(draw: Any, distorted: bool = False) -> Camera:
    """A phone: any size, some skew, a principal point off the centre; a distorting lens if asked for."""
    width, height = draw(st.integers(64, 4000)), draw(st.integers(64, 4000))
    focal = max(width, height) * draw(uniform(0.6, 2.0))
    K = np.array(
        [
            [focal, draw(uniform(-2, 2)), width * draw(uniform(0.4, 0.6))],
            [0, focal * draw(uniform(0.95, 1.05)), height * draw(uniform(0.4, 0.6))],
            [0, 0, 1],
        ]
    )
    if not distorted:
        return Camera("phone", width, height, K)
    radial = draw(uniform(-0.3, 0.3)), draw(uniform(-0.1, 0.2))
    tangential = draw(uniform(-0.005, 0.005)), draw(uniform(-0.005, 0.005))
    return Camera("phone", width, height, K, np.array([*radial, *tangential]))


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def looking_at(camera: Camera, centre: np.ndarray, target: np.ndarray, rng: np.random.Generator) -> View:
    """A view from ``centre`` towards ``target`` with a random roll."""
    z = (target - centre) / np.linalg.norm(target - centre)
    x = np.cross(rng.normal(size=3), z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z])
    return View(camera, np.column_stack([R, -R @ centre]))


@st.composite
def rigs(draw: Any, *places: str) -> tuple[View, View]:
    """Two views of different cameras towards one point; the epipole of picture 1 in one of the places."""
    camera1, camera2 = draw(cameras()), draw(cameras())
    place, rng = draw(st.sampled_from(places or EPIPOLES)), np.random.default_rng(draw(SEEDS))
    R = random_rotation(rng)
    view1 = View(camera1, np.column_stack([R, rng.uniform(-10, 10, 3)]))
    corner = np.array(camera1.size)
    if place.startswith("inside"):
        epipole = rng.uniform(0.1, 0.9, 2) * corner
    else:
        epipole = corner / 2 + rng.choice([-1, 1], 2) * rng.uniform(0.7, 4.0, 2) * corner
    step = unproject(camera1, epipole)
    step[2] = 0.0 if place == "at infinity" else 1.0
    step *= rng.uniform(0.3, 3.0) / np.linalg.norm(step) * (-1 if place.endswith("behind") else 1)
    target = unproject(camera1, rng.uniform(0.2, 0.8, 2) * corner) * rng.uniform(2, 8)
    view2 = looking_at(camera2, camera_to_world(view1, step), camera_to_world(view1, target), rng)
    return view1, view2


def points_seen(view1: View, view2: View, count: int, seed: int) -> np.ndarray:
    """World points (N, 3) in picture 1, in front of camera 2, and off the base line; at least ten."""
    rng = np.random.default_rng(seed)
    pixels = rng.uniform(0, 1, (4 * count, 2)) * view1.camera.size
    local = unproject(view1.camera, pixels) * rng.uniform(1, 10, (4 * count, 1))
    points = camera_to_world(view1, local)
    depth = world_to_camera(view2, points)[:, 2]
    near, far = points - view1.centre, points - view2.centre
    sine = np.linalg.norm(np.cross(near, far), axis=1)
    sine /= np.linalg.norm(near, axis=1) * np.linalg.norm(far, axis=1)
    points = points[(depth > 0.3) & (sine > 0.02)][:count]
    assume(len(points) >= 10)
    return points


def see(view: View, points: np.ndarray) -> np.ndarray:
    """Pixels of world points."""
    return project(view.camera, world_to_camera(view, points))
