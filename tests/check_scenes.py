"""Points in space seen by cameras of known pose, as pictures whose points match by their descriptors."""

import numpy as np

from wideflow.check.moments import Still
from wideflow.geometry.features import Features

SIZE = (640, 360)


def turn(axis: int, degrees: float) -> np.ndarray:
    """Rotation about an axis of the camera."""
    angle = np.radians(degrees)
    a, b = [(1, 2), (0, 2), (0, 1)][axis]
    out = np.eye(3)
    out[a, a] = out[b, b] = np.cos(angle)
    out[a, b], out[b, a] = -np.sin(angle), np.sin(angle)
    return out


def box(count: int = 500, seed: int = 0) -> np.ndarray:
    """Points of a room 4 to 9 in front of the origin."""
    rng = np.random.default_rng(seed)
    return rng.uniform((-3.5, -2, 4), (3.5, 2, 9), (count, 3))


def still(
    points: np.ndarray,
    R: np.ndarray | None = None,
    centre: tuple[float, float, float] = (0, 0, 0),
    focal: float = 0.95,
    index: int = 0,
    noise: float = 0.2,
) -> Still:
    """What a camera sees of points (N, 3); the same point has the same descriptor everywhere."""
    width, height = SIZE
    seen = (points - np.array(centre)) @ (np.eye(3) if R is None else R).T
    xy = focal * width * seen[:, :2] / seen[:, 2:] + (np.array(SIZE) - 1) / 2
    xy += np.random.default_rng(100 + index).normal(0, noise, xy.shape)
    inside = (seen[:, 2] > 0.1) & (xy > 0).all(axis=1) & (xy < np.array(SIZE) - 1).all(axis=1)
    descriptors = np.random.default_rng(7).integers(0, 256, (len(points), 128)).astype(np.uint8)
    grey = np.full((height, width), 128, np.uint8)
    return Still(
        index,
        np.repeat(grey[..., None], 3, axis=2),
        grey,
        Features(xy[inside].astype(np.float32), descriptors[inside]),
    )


def ray_angle(points: np.ndarray, first: tuple[float, ...], second: tuple[float, ...]) -> float:
    """Median angle in degrees at the points between the rays to two places."""
    rays = [points - np.array(place) for place in (first, second)]
    units = [ray / np.linalg.norm(ray, axis=1, keepdims=True) for ray in rays]
    return float(np.degrees(np.median(np.arccos((units[0] * units[1]).sum(axis=1)))))
