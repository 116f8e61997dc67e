"""From light to bytes: exposure, white balance, vignetting, noise, tone curve, each phone its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wideflow.synth.camera.exposure import Shutter
from wideflow.synth.config import SynthConfig

Image = NDArray[np.float32]
_LAMP = 100.0  # Hz: twice the mains
_WARMER = 0.15  # of the drift of exposure that red gains over green, or loses, and blue the other way


@dataclass(frozen=True)
class Response:
    """How one phone turns light into numbers.

    Attributes
    ----------
    balance : gains of red, green and blue, exposure included
    gamma : exponent of the tone curve, 1 / 2.2 for the ideal one
    contrast : share of an S-shaped curve
    saturation : 1 keeps colours as they are
    vignette : share of light that the corners lose
    noise : deviation of the sensor's noise at full scale, in 0..1
    """

    balance: tuple[float, float, float]
    gamma: float = 1 / 2.2
    contrast: float = 0.0
    saturation: float = 1.0
    vignette: float = 0.0
    noise: float = 0.0


def responses(config: SynthConfig, exposure: float) -> tuple[Response, Response]:
    """Responses of both cameras; ``exposure`` is the gain that exposes camera A well."""
    if config.photometric == "off":
        one, two = (Response((exposure * 2.0**stop,) * 3) for stop in config.stops)
        return one, two
    strength = {"on": 0.4, "strong": 1.0}[config.photometric]
    out = []
    signs = np.random.default_rng([config.seed, 5]).choice([-1.0, 1.0], 4)
    for number in (0, 1):
        rng = np.random.default_rng([config.seed, 6, number])
        way = signs * (2 * number - 1)  # the two phones differ in opposite directions
        stops = strength * way[0] * rng.uniform(0.2, 0.45)
        warm = strength * way[1] * rng.uniform(0.08, 0.18)
        tint = strength * rng.uniform(-0.05, 0.05)
        gain = exposure * 2.0 ** (stops + config.stops[number])
        balance = gain * np.exp([warm, tint, -warm])
        out.append(
            Response(
                balance=tuple(balance.tolist()),
                gamma=float(np.exp(strength * way[2] * rng.uniform(0.04, 0.14)) / 2.2),
                contrast=float(strength * rng.uniform(0.1, 0.5)),
                saturation=float(1 + strength * way[3] * rng.uniform(0.1, 0.3)),
                vignette=float(strength * rng.uniform(0.25, 0.5)),
                noise=float(strength * rng.uniform(0.016, 0.03)),
            )
        )
    return out[0], out[1]


def drifted(response: Response, config: SynthConfig, camera: int, frame: int) -> Response:
    """The response at a frame of a camera whose exposure and white balance drift, up or down, to the end."""
    if config.exposure_drift == 1:
        return response
    rng = np.random.default_rng([config.seed, 17, camera])
    way, warmer = rng.choice([-1.0, 1.0], 2)
    share = frame / max(config.counts[camera] - 1, 1)
    stops = np.log(config.exposure_drift) * (1 - np.cos(np.pi * share)) / 2
    warm = warmer * _WARMER * stops
    balance = np.array(response.balance) * np.exp(way * stops + np.array([warm, 0.0, -warm]))
    return replace(response, balance=tuple(balance.tolist()))


def lamp(config: SynthConfig, time: float, shutter: Shutter, rows: int) -> Image:
    """Factor (rows,) on the light of a 100 Hz lamp while each row of the picture at ``time`` is open."""
    phase = np.random.default_rng([config.seed, 18]).uniform(0, 2 * np.pi)
    late = np.array([shutter.late(row, rows) for row in range(rows)])
    dims = np.sinc(_LAMP * shutter.open)  # the mean over the opening
    wave = np.cos(2 * np.pi * _LAMP * (time + late) + phase)
    return (1 + config.lamp_flicker * dims * wave).astype(np.float32)


def develop(linear: Image, response: Response, seed: tuple[int, ...]) -> NDArray[np.uint8]:
    """Bytes (H, W, 3) of linear radiance (H, W, 3); ``seed`` belongs to the noise of this one picture."""
    light = linear * np.array(response.balance, np.float32)
    if response.vignette:
        light *= _vignette(light.shape[:2], response.vignette)[..., None]
    if response.saturation != 1:
        grey = light.mean(axis=2, keepdims=True)
        light = np.maximum(grey + np.float32(response.saturation) * (light - grey), 0)
    if response.noise:
        normal = np.random.default_rng(seed).standard_normal(light.shape, dtype=np.float32)
        deviation = np.float32(response.noise) * np.sqrt(np.clip(light, 0, 1) + np.float32(0.02))
        light = light + normal * deviation * np.float32(0.7)
    tone = np.clip(light, 0, 1) ** np.float32(response.gamma)
    if response.contrast:
        tone = tone + np.float32(response.contrast) * (tone * tone * (3 - 2 * tone) - tone)
    return np.clip(tone * 255 + 0.5, 0, 255).astype(np.uint8)


def _vignette(shape: tuple[int, int], amount: float) -> Image:
    """Factor (H, W) on the light: 1 in the middle, ``1 - amount`` in the corners."""
    y, x = np.meshgrid(np.linspace(-1, 1, shape[0]), np.linspace(-1, 1, shape[1]), indexing="ij")
    radius2 = (x**2 * shape[1] ** 2 + y**2 * shape[0] ** 2) / (shape[0] ** 2 + shape[1] ** 2)
    return (1 - amount * radius2 * (0.4 + 0.6 * radius2)).astype(np.float32)


def meter(linear: Image) -> float:
    """Exposure at which the brightest 4 % of linear radiances (n, 3) reach the top of the scale."""
    return float(0.9 / np.quantile(linear.mean(axis=-1), 0.96))
