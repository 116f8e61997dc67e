"""DAISY descriptors for every pixel, oriented along the epipolar lines.

A descriptor is Q·T histograms of H gradient orientations, read from blurred gradient maps at T points on each
of Q rings (Tola et al.). Two things differ from the usual: each histogram is normalised on its own against a
noise floor, so that a plain area has a weak descriptor rather than an amplified one, and the histogram at the
centre is left out, as it brought nothing and Q·T histograms, a multiple of eight, fill the vector registers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, njit, over_rows
from wideflow.descriptors.distance import BINS

_COS = np.cos(2 * np.pi * np.arange(BINS) / BINS).astype(np.float32)
_SIN = np.sin(2 * np.pi * np.arange(BINS) / BINS).astype(np.float32)


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
    maps: NDArray[np.float32], frames: NDArray[np.float32], pattern: Pattern, noise: float, room: int = 0
) -> NDArray[np.uint8]:
    """Descriptor of every pixel.

    Parameters
    ----------
    maps : (Q, H, W, bins) float32
        Of `gradient_maps` with the same pattern.
    frames : (H, W, 2, 2) float32
        Columns are the vectors in the picture that the pattern's axes are laid along: a rotation to lay it
        along an epipolar line, with a shear to follow a slanted surface.
    pattern : Pattern
        Where its histograms are taken.
    noise : float
        Norm of a histogram, in brightness per pixel, below which it counts as noise.
    room : int
        Bytes to leave behind each descriptor.

    Returns
    -------
    (H, W, H·Q·T + room) uint8
        Byte ``k * Q·T + i`` is bin k of histogram i; a histogram's norm is at most 255.
    """
    offsets, rings = pattern.samples()
    out = np.empty((*frames.shape[:2], len(offsets) * BINS + room), np.uint8)
    _sample(len(out), maps, frames, offsets, rings, np.float32(noise), out)
    return out


def texture(descriptors: NDArray[np.uint8]) -> NDArray[np.float32]:
    """How much of each pixel's descriptor (H, W, bytes) stands above the noise: (H, W), 0 (plain) .. 1."""
    energy = np.empty(descriptors.shape[:2], np.float32)
    _energy(len(energy), descriptors, energy)
    return energy


@over_rows()
def _energy(first, end, descriptors, out):
    _, columns, size = descriptors.shape
    for y in range(first, end):
        for x in range(columns):
            total = np.int64(0)
            for i in range(size):
                total += np.int64(descriptors[y, x, i]) ** 2
            out[y, x] = min(1.0, total / (size // BINS * 255.0**2))


def gradient_maps(grey: NDArray[np.float32], pattern: Pattern) -> NDArray[np.float32]:
    """Positive parts of the directional derivatives, blurred for each ring: (Q, H, W, bins)."""
    smooth = cv2.GaussianBlur(grey, (0, 0), 0.7)
    gx = cv2.Scharr(smooth, cv2.CV_32F, 1, 0, scale=1 / 32)
    gy = cv2.Scharr(smooth, cv2.CV_32F, 0, 1, scale=1 / 32)
    maps = np.empty((pattern.rings, *grey.shape, BINS), np.float32)
    angles = [2 * math.pi * k / BINS for k in range(BINS)]
    layers = cv2.merge([cv2.max(gx * math.cos(angle) + gy * math.sin(angle), 0) for angle in angles])
    done = 0.0
    for ring, blur in enumerate(pattern.blurs):
        layers = cv2.GaussianBlur(layers, (0, 0), math.sqrt(blur**2 - done**2), maps[ring])
        done = blur
    return maps


@njit(inline="always")
def _octant(x, y):
    """Eighth of the circle, 0..7, that a direction lies in, and how far through it, 0..1 (to 0.02)."""
    u, v = abs(x), abs(y)
    t = min(u, v) / (max(u, v) + np.float32(1e-20))
    t *= np.float32(1.273) - np.float32(0.273) * t
    octant = 0 if v <= u else 1  # of the first quarter, then of the one it was folded from
    if x < 0:
        octant = 3 - octant
    if y < 0:
        octant = 7 - octant
    return octant, t if octant % 2 == 0 else 1 - t


@over_rows()
def _sample(first, end, maps, frames, offsets, rings, noise, out):
    for y in range(first, end):
        # indices that cannot be negative: Numba asks that of all others, each time
        bins, parts = np.empty((2, BINS), np.uint32), np.empty((2, BINS), np.float32)
        room = np.empty((2 * BINS + 1, len(offsets)), np.float32)
        _sample_row(maps, frames, offsets, rings, noise, out, np.int64(y), bins, parts, room)


@kernel()
def _sample_row(maps, frames, offsets, rings, noise, out, y, bins, parts, room):
    """A row; ``bins`` and ``parts`` (2, bins) and ``room`` (2 bins + 1, Q T) are room to work in.

    The histograms of a pixel lie side by side, one bin of all in a row of ``room``.
    """
    rows, columns = maps.shape[1:3]
    n = np.uint32(offsets.shape[0])
    low, high, of_low, of_high = bins[0], bins[1], parts[0], parts[1]
    read, turned, scale = room[:BINS], room[BINS : 2 * BINS], room[2 * BINS]
    for x in range(columns):
        a, b = frames[y, x, 0, 0], frames[y, x, 0, 1]
        c, d = frames[y, x, 1, 0], frames[y, x, 1, 1]
        # a derivative along the pattern's direction k is one along the frame's image of it, which falls
        # between two bins
        for k in range(BINS):
            ex = a * _COS[k] + b * _SIN[k]
            ey = c * _COS[k] + d * _SIN[k]
            octant, part = _octant(ex, ey)
            low[k], high[k] = octant, (octant + 1) % BINS
            length = math.sqrt(ex * ex + ey * ey)
            of_low[k], of_high[k] = length * (1 - part), length * part
        for i in range(n):
            ix = int(x + a * offsets[i, 0] + b * offsets[i, 1] + np.float32(0.5))
            iy = int(y + c * offsets[i, 0] + d * offsets[i, 1] + np.float32(0.5))
            here = maps[rings[i], min(max(iy, 0), rows - 1), min(max(ix, 0), columns - 1)]
            for k in range(BINS):
                read[k, i] = here[k]
            scale[i] = noise * noise
        for k in range(BINS):
            one, two, bin_k = read[low[k]], read[high[k]], turned[k]
            p, q = of_low[k], of_high[k]
            for i in range(n):
                value = p * one[i] + q * two[i]
                bin_k[i] = value
                scale[i] += value * value
        for i in range(n):
            scale[i] = np.float32(255) / math.sqrt(scale[i])
        for k in range(BINS):
            bin_k = turned[k]
            place = out[y, x, k * n : k * n + n]
            for i in range(n):
                place[i] = np.uint8(np.int32(bin_k[i] * scale[i] + np.float32(0.5)))
