"""What both phones heard: claps, voices, a tune and the wind, each from its place at the speed of sound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wideflow.synth.config import SynthConfig

RATE = 48000
_SPEED_OF_SOUND = 343.0  # m/s
Wave = NDArray[np.float64]
Event = tuple[float, NDArray[np.float64], Callable[[Wave], Wave], float]  # start, place, wave, length


def tracks(config: SynthConfig, places: NDArray[np.float64]) -> list[NDArray[np.float32]]:
    """Mono tracks of both cameras, each as long as its pictures.

    Parameters
    ----------
    config : SynthConfig
        Seed, length and offset.
    places : (2, 3) float64
        Where the cameras are.

    Returns
    -------
    list of (n,) float32
        In -1..1, RATE samples a second; sample i of camera c is heard at ``config.time_of(c, 0) + i / RATE``.
    """
    length = config.duration
    first = min(0.0, config.offset)
    last = max(0.0, config.offset) + length
    events = _events(np.random.default_rng([config.seed, 8]), first, last)
    out = []
    for camera in (0, 1):
        rng = np.random.default_rng([config.seed, 9, camera])
        time = config.time_of(camera, 0) + np.arange(round(length * RATE)) / RATE
        track = 0.02 * _wind(config.seed, time, first)
        for start, place, wave, lasts in events:
            distance = float(np.linalg.norm(place - places[camera]))
            begin = start + distance / _SPEED_OF_SOUND
            span = slice(*np.searchsorted(time, [begin, begin + lasts]))
            track[span] += wave(time[span] - begin) * 4.7 / distance
        track += 0.004 * rng.standard_normal(len(track))
        track *= rng.uniform(0.45, 0.75)
        out.append(np.clip(track, -1, 1).astype(np.float32))
    return out


def _events(rng: np.random.Generator, first: float, last: float) -> list[Event]:
    """Sounds between ``first`` and ``last`` seconds, about five a second."""
    events: list[Event] = []
    now = first - 0.3
    while now < last:
        place = np.array([rng.uniform(-1.5, 1.5), rng.uniform(-0.8, 1.5), rng.uniform(0.5, 1.6)])
        make, lasts = ((_clap, 0.12), (_syllable, 0.22), (_syllable, 0.22), (_note, 0.4))[rng.integers(4)]
        events.append((now, place, make(np.random.default_rng(rng.integers(2**32))), lasts))
        now += rng.uniform(0.08, 0.32)
    return events


def _clap(rng: np.random.Generator) -> Callable[[Wave], Wave]:
    tones = rng.uniform(700, 5000, 24)
    phases = rng.uniform(0, 2 * np.pi, 24)
    return lambda t: 0.12 * np.exp(-t / 0.012) * np.sin(2 * np.pi * np.outer(t, tones) + phases).sum(1)


def _syllable(rng: np.random.Generator) -> Callable[[Wave], Wave]:
    """Harmonics of a gliding pitch under two resonances, like a vowel, with some breath."""
    hiss = rng.standard_normal(2000)
    pitch, glide, low, high = (
        rng.uniform(110, 240),
        rng.uniform(-80, 80),
        rng.uniform(400, 800),
        rng.uniform(1100, 2400),
    )

    def wave(t: Wave) -> Wave:
        phase = 2 * np.pi * (pitch * t + 0.5 * glide * t**2)
        total = np.zeros_like(t)
        for k in range(1, 20):
            f = k * pitch
            total += (
                np.exp(-(((f - low) / 200) ** 2)) + 0.5 * np.exp(-(((f - high) / 300) ** 2)) + 0.05
            ) * np.sin(k * phase)
        breath = np.interp(t * 9000, np.arange(len(hiss)), hiss)
        return 0.1 * np.sin(np.pi * np.clip(t / 0.2, 0, 1)) ** 2 * (total + breath)

    return wave


def _note(rng: np.random.Generator) -> Callable[[Wave], Wave]:
    pitch = 220 * 2 ** (rng.integers(0, 25) / 12)
    return lambda t: (
        0.15 * np.exp(-t / 0.12) * (np.sin(2 * np.pi * pitch * t) + 0.4 * np.sin(4 * np.pi * pitch * t))
    )


def _wind(seed: int, time: Wave, first: float) -> Wave:
    """Soft noise that is the same everywhere, sampled at any ``time`` from ``first`` on."""
    rng = np.random.default_rng([seed, 10])
    count = int((time[-1] - first) * 4000) + 16
    return np.interp((time - first) * 4000, np.arange(count), rng.standard_normal(count))
