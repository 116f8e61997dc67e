"""Periodic random fields, the raw material of every texture."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

from wideflow.compiled import njit

Field = NDArray[np.floating[Any]]
Random = np.random.Generator


def spectral(
    rng: Random, size: int, beta: float = 1.0, low: float = 1.0, stretch: tuple[float, float] = (1.0, 1.0)
) -> Field:
    """Periodic noise whose amplitude falls with frequency as f^-beta; mean 0, deviation 1.

    Parameters
    ----------
    rng : Generator
        Only its children are used, so it is left as it was.
    size : int
        Pixels per side.
    beta : float
        0 is white, 1 is pink (detail at all scales), 2 is cloudy.
    low : float
        Frequencies below this many cycles per tile are damped.
    stretch : (float, float)
        Features are this much longer in x and in y.

    Returns
    -------
    (size, size) float32
    """
    fy = fft.fftfreq(size, 1 / size)[:, None].astype(np.float32) * stretch[1]
    fx = fft.rfftfreq(size, 1 / size)[None, :].astype(np.float32) * stretch[0]
    radius2 = fx * fx + fy * fy
    amplitude = (radius2 + np.float32(low * low)) ** np.float32(-0.5 * beta)
    amplitude *= radius2 / (radius2 + np.float32(0.25 * low * low))
    noise = fft.irfft2(_white_spectrum(rng, size) * amplitude, (size, size))
    return ((noise - noise.mean()) / noise.std()).astype(np.float32)


def _white_spectrum(rng: Random, size: int) -> NDArray[np.complex64]:
    """Random spectrum (size, size / 2 + 1) whose low frequencies are those of any smaller size.

    Drawn from a child of ``rng``: a texture looks the same at every resolution, only finer.
    """
    child = rng.spawn(1)[0]
    spectrum = np.zeros((2, 2), np.complex64)
    octave = 32
    while len(spectrum) < size:
        octave = min(2 * octave, size)
        white = child.standard_normal((octave, octave // 2 + 1, 2), dtype=np.float32).view(np.complex64)[
            ..., 0
        ]
        half = len(spectrum) // 2
        white[:half, :half] = spectrum[:half, :half]
        white[-half:, :half] = spectrum[-half:, :half]
        spectrum = white
    return spectrum


def smoothstep(low: float, high: float, x: Field) -> Field:
    """0 below ``low``, 1 above ``high``, smooth between; ``low`` > ``high`` falls instead."""
    t = np.clip((x - np.float32(low)) / np.float32(high - low), 0, 1)
    return t * t * (3 - 2 * t)


def mix(a: Any, b: Any, weight: Field) -> Field:
    """a where ``weight`` is 0, b where it is 1; weight (H, W) against colours (3,) or (H, W, 3)."""
    weight = weight[..., None]
    return (np.asarray(a, np.float32) * (1 - weight) + np.asarray(b, np.float32) * weight).astype(np.float32)


def warp(image: NDArray[Any], dx: Field, dy: Field) -> NDArray[Any]:
    """Periodic image pulled from ``(x + dx, y + dy)``, offsets in pixels."""
    h, w = image.shape[:2]
    x = np.arange(w, dtype=np.float32)[None, :] + dx
    y = np.arange(h, dtype=np.float32)[:, None] + dy
    return cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)


def blur(image: NDArray[Any], sigma: float) -> NDArray[Any]:
    """Periodic Gaussian blur."""
    pad = int(3 * sigma) + 1
    padded = cv2.copyMakeBorder(image, pad, pad, pad, pad, cv2.BORDER_WRAP)
    return cv2.GaussianBlur(padded, (0, 0), sigma)[pad:-pad, pad:-pad]


def cells(
    rng: Random, size: int, columns: int, rows: int, jitter: float = 0.9
) -> tuple[Field, Field, NDArray[np.int32]]:
    """Periodic Voronoi cells around a jittered grid of points.

    Returns
    -------
    edge : (size, size) float32
        Second nearest minus nearest distance, in mean cell widths: 0 on the border between two cells.
    centre : (size, size) float32
        Distance to the nearest point, in mean cell widths.
    index : (size, size) int32
        Which cell, 0 .. rows * columns - 1.
    """
    offsets = (rng.random((rows, columns, 2)) - 0.5) * jitter + 0.5
    edge = np.empty((size, size), np.float32)
    centre = np.empty((size, size), np.float32)
    index = np.empty((size, size), np.int32)
    _cells(offsets, edge, centre, index)
    return edge, centre, index


@njit()
def _cells(offsets: Any, edge: Any, centre: Any, index: Any) -> None:
    rows, columns, _ = offsets.shape
    size = edge.shape[0]
    for j in range(size):
        y = (j + 0.5) / size * rows
        cy = int(y)
        for i in range(size):
            x = (i + 0.5) / size * columns
            cx = int(x)
            first = 1e9
            second = 1e9
            owner = 0
            for b in range(cy - 2, cy + 3):
                for a in range(cx - 2, cx + 3):
                    bb = b % rows
                    aa = a % columns
                    dx = a + offsets[bb, aa, 0] - x
                    dy = b + offsets[bb, aa, 1] - y
                    d = dx * dx + dy * dy
                    if d < first:
                        second = first
                        first = d
                        owner = bb * columns + aa
                    elif d < second:
                        second = d
            edge[j, i] = np.sqrt(second) - np.sqrt(first)
            centre[j, i] = np.sqrt(first)
            index[j, i] = owner
