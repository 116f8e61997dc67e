"""Two people with phones: lenses that differ, hands that drift and tremble."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from wideflow.synth.config import SynthConfig
from wideflow.synth.things.mesh import at, rotation
from wideflow.types import Camera, View

CENTRE = np.array([0.0, 0.3, 0.95])  # both cameras look here
_DISTANCE = 4.7  # metres from the centre of the scene
_WAVES = 6
_TURN = 2.5  # times the rotation of a hand: a camera that only turns pans over some ten degrees
_STRIDE = 0.4  # metres per second sideways of a camera that walks


@dataclass(frozen=True, eq=False)
class Hand:
    """A camera in a hand.

    Attributes
    ----------
    camera : Camera
    place : (3,) float64
        Mean position in the world.
    amplitude : (6, waves) float64
        Of x, y, z in metres and of yaw, pitch, roll in radians.
    pace, phase : (6, waves) float64
        Radians per second, radians.
    velocity : (3,) float64
        Metres per second of a hand that walks.
    zoom : (float, float)
        Factor of the focal length at the end of a zoom, and the seconds until then.
    """

    camera: Camera
    place: NDArray[np.float64]
    amplitude: NDArray[np.float64]
    pace: NDArray[np.float64]
    phase: NDArray[np.float64]
    velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    zoom: tuple[float, float] = (1.0, 1.0)

    @property
    def zooms(self) -> bool:
        """Whether the lens changes over time."""
        return self.zoom[0] != 1

    def lens(self, time: float) -> Camera:
        """The camera with the focal length that it has at ``time``; it grows by equal factors."""
        if not self.zooms:
            return self.camera
        factor, seconds = self.zoom
        return replace(self.camera, K=self.camera.K * [[factor ** (time / seconds)] * 2 + [1]])

    def view(self, time: float) -> View:
        """Lens and pose at ``time`` seconds of the scene."""
        # Zero at time 0, so that the angle between the cameras is exact in the first picture.
        shake = (self.amplitude * (np.sin(self.pace * time + self.phase) - np.sin(self.phase))).sum(axis=1)
        centre = self.place + shake[:3] + self.velocity * time
        R = _turn(shake[3:]) @ _look_at(centre, CENTRE)
        return View(self.lens(time), np.concatenate([R, (-R @ centre)[:, None]], axis=1))


def hands(config: SynthConfig) -> tuple[Hand, Hand]:
    """Both cameras, ``config.angle`` apart around the centre of the scene."""
    return _hand(config, 0), _hand(config, 1)


def _hand(config: SynthConfig, number: int) -> Hand:
    both = np.random.default_rng([config.seed, 3])
    middle = np.radians(both.uniform(-6, 6))
    height, distance = both.uniform(1.35, 1.6), _DISTANCE * both.uniform(0.95, 1.05)
    rng = np.random.default_rng([config.seed, 4, number])
    # Equal heights and distances make the angle at the centre exact; the hands then move on their own.
    flat = np.sqrt(distance**2 - (height - CENTRE[2]) ** 2)
    half = np.arcsin(min(1.0, np.sin(np.radians(config.angle) / 2) * distance / flat))
    azimuth = middle + half * (2 * number - 1)
    place = CENTRE + at(flat * np.sin(azimuth), -flat * np.cos(azimuth), height - CENTRE[2])
    reach = np.array([0.06, 0.05, 0.04, 0.030, 0.024, 0.020])[:, None]
    pace = 2 * np.pi * np.geomspace(0.25, 3.0, _WAVES) * rng.uniform(0.85, 1.15, (6, _WAVES))
    reach = reach * config.tremor
    amplitude = reach * rng.uniform(0.5, 1.0, (6, _WAVES)) * (np.geomspace(0.25, 3.0, _WAVES) / 0.25) ** -1.1
    hand = Hand(_lens(config, number, rng), place, amplitude, pace, rng.uniform(0, 2 * np.pi, (6, _WAVES)))
    hand = replace(hand, zoom=(config.zoom[number], config.duration))
    if config.path == "tripod":
        return replace(hand, amplitude=np.zeros_like(amplitude))
    if config.path == "turn":
        return replace(hand, amplitude=amplitude * np.repeat([0, _TURN], 3)[:, None])
    if config.path == "walk":
        sideways = at(np.cos(azimuth), np.sin(azimuth), 0) * both.choice([-1.0, 1.0])
        return replace(hand, velocity=_STRIDE * rng.uniform(0.8, 1.2) * sideways)
    return hand


def _lens(config: SynthConfig, number: int, rng: np.random.Generator) -> Camera:
    width, height = config.sizes[number]
    focal = 0.86 * float(np.hypot(width, height)) * rng.uniform(0.92, 1.08)
    cx = (width - 1) / 2 + rng.uniform(-0.012, 0.012) * width
    cy = (height - 1) / 2 + rng.uniform(-0.015, 0.015) * height
    K = np.array([[focal, 0, cx], [0, focal, cy], [0, 0, 1]])
    return Camera(
        "ab"[number], width, height, K, np.array([config.lenses[number], 0, 0, 0]), config.rolling_shutter
    )


def _look_at(centre: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotation (3, 3) of a camera at ``centre`` with ``target`` on its axis and the world's z upwards."""
    forward = (target - centre) / np.linalg.norm(target - centre)
    right = np.cross(forward, (0, 0, 1.0))
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward])


def _turn(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Small rotation of the camera by yaw, pitch and roll."""
    yaw, pitch, roll = angles
    return rotation((0, 0, 1), roll) @ rotation((1, 0, 0), pitch) @ rotation((0, 1, 0), yaw)
