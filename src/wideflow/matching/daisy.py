"""DAISY descriptors for every pixel, oriented along the epipolar lines.

A descriptor is Q·T histograms of H gradient orientations, read from blurred gradient maps at T points on each
of Q rings (Tola et al.). Two things differ from the usual: each histogram is normalised on its own against a
noise floor, so that a plain area has a weak descriptor rather than an amplified one, and the histogram at the
centre is left out, as it brought nothing and sixteen histograms fill the vector registers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from wideflow.matching.cost import BINS


@dataclass(frozen=True)
class Pattern:
    """Where the histograms of a descriptor are taken: R in pixels, Q and T."""

    radius: float
    rings: int = 2
    angles: int = 8

    @property
    def blurs(self) -> list[float]:
        """Standard deviation of the blur that each ring reads, in pixels."""
        return [self.radius * (ring + 1) / (2 * self.rings) for ring in range(self.rings)]

    def samples(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Offsets (Q·T, 2) from the centre in pixels and the ring (Q·T,) of each."""
        ring, angle = np.divmod(np.arange(self.rings * self.angles), self.angles)
        radius = self.radius * (ring + 1) / self.rings
        turn = 2 * np.pi * (angle + ring / 2) / self.angles  # each ring fills the last one's gaps
        offsets = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=-1)
        return offsets.astype(np.float32), ring.astype(np.int64)


def describe(
    grey: NDArray[np.float32], directions: NDArray[np.float32] | None, pattern: Pattern, noise: float
) -> NDArray[np.uint8]:
    """Descriptor of every pixel.

    Parameters
    ----------
    grey : (H, W) float32
        Brightness, 0..1.
    directions : (H, W, 2) float32 or None
        Unit vector that the pattern's x axis is laid along; None for the picture's own.
    pattern : Pattern
        Where its histograms are taken.
    noise : float
        Norm of a histogram, in brightness per pixel, below which it counts as noise.

    Returns
    -------
    (H, W, H·Q·T) uint8
        Byte ``k * Q·T + i`` is bin k of histogram i; a histogram's norm is at most 255.
    """
    if directions is None:
        directions = np.broadcast_to(np.array([1, 0], np.float32), (*grey.shape, 2))
    offsets, rings = pattern.samples()
    out = np.empty((*grey.shape, len(offsets) * BINS), np.uint8)
    _sample(_gradient_maps(grey, pattern), directions, offsets, rings, np.float32(noise), out)
    return out


def texture(descriptors: NDArray[np.uint8]) -> NDArray[np.float32]:
    """How much of each pixel's descriptor (H, W, bytes) stands above the noise: (H, W), 0 (plain) .. 1."""
    energy = np.empty(descriptors.shape[:2], np.float32)
    _energy(descriptors, energy)
    return energy


@njit(parallel=True, cache=True)
def _energy(descriptors, out):
    rows, columns, size = descriptors.shape
    for y in prange(rows):
        for x in range(columns):
            total = np.int64(0)
            for i in range(size):
                total += np.int64(descriptors[y, x, i]) ** 2
            out[y, x] = min(1.0, total / (size // BINS * 255.0**2))


def _gradient_maps(grey: NDArray[np.float32], pattern: Pattern) -> NDArray[np.float32]:
    """Positive parts of the directional derivatives, blurred for each ring: (Q, H, W, bins)."""
    smooth = cv2.GaussianBlur(grey, (0, 0), 0.7)
    gx = cv2.Scharr(smooth, cv2.CV_32F, 1, 0, scale=1 / 32)
    gy = cv2.Scharr(smooth, cv2.CV_32F, 0, 1, scale=1 / 32)
    maps = np.empty((pattern.rings, *grey.shape, BINS), np.float32)
    for k in range(BINS):
        angle = 2 * math.pi * k / BINS
        layer = cv2.max(gx * math.cos(angle) + gy * math.sin(angle), 0)
        done = 0.0
        for ring, blur in enumerate(pattern.blurs):
            layer = cv2.GaussianBlur(layer, (0, 0), math.sqrt(blur**2 - done**2))
            maps[ring, ..., k] = layer
            done = blur
    return maps


@njit(parallel=True, cache=True, fastmath=True)
def _sample(maps, directions, offsets, rings, noise, out):
    rows, columns = maps.shape[1:3]
    n = offsets.shape[0]
    for y in prange(rows):
        histogram = np.empty(BINS, np.float32)
        for x in range(columns):
            c, s = directions[y, x, 0], directions[y, x, 1]
            turn = math.atan2(s, c) * (BINS / (2 * math.pi))
            whole = math.floor(turn)
            part = np.float32(turn - whole)
            first = int(whole) % BINS
            for i in range(n):
                ix = int(x + c * offsets[i, 0] - s * offsets[i, 1] + np.float32(0.5))
                iy = int(y + s * offsets[i, 0] + c * offsets[i, 1] + np.float32(0.5))
                ix = min(max(ix, 0), columns - 1)
                iy = min(max(iy, 0), rows - 1)
                total = noise * noise
                # turning the histogram with the pattern falls between two bins
                for k in range(BINS):
                    low = maps[rings[i], iy, ix, (first + k) % BINS]
                    high = maps[rings[i], iy, ix, (first + k + 1) % BINS]
                    histogram[k] = low + part * (high - low)
                    total += histogram[k] * histogram[k]
                scale = np.float32(255) / math.sqrt(total)
                for k in range(BINS):
                    out[y, x, k * n + i] = np.uint8(histogram[k] * scale + np.float32(0.5))
