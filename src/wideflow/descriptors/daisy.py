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

from wideflow.compiled import kernel, over_rows
from wideflow.descriptors.distance import BINS
from wideflow.descriptors.eight import EIGHT, eight_histograms
from wideflow.instructions import prefetch

_COS = np.cos(2 * np.pi * np.arange(BINS) / BINS).astype(np.float32)
BLOCK = 64  # columns of a row at a time: what is worked out for them stays in the nearest cache
AHEAD = 8  # of the pixel that is described, what others are read from is asked for
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


@over_rows()
def _sample(first, end, maps, frames, offsets, rings, noise, out):
    n = len(offsets)
    whole = -(-n // EIGHT) * EIGHT
    flat, flat_out = maps.reshape(-1), out.reshape(-1)
    axes, parts = np.empty((4, BLOCK + AHEAD), np.float32), np.empty((2, BINS, BLOCK), np.float32)
    low, places = np.empty((BINS, BLOCK), np.int32), np.empty((whole, BLOCK + AHEAD), np.int32)
    last = np.empty(BINS * EIGHT, np.uint8)
    for y in range(first, end):
        for left in range(0, frames.shape[1], BLOCK):
            lay_pattern(frames, offsets, rings, maps.shape[1:3], BINS, np.int64(y), left, axes, places)
            _turn(axes, low, parts[0], parts[1])
            _describe(
                flat, places, low, parts[0], parts[1], noise * noise, n, flat_out,
                np.int64(y) * frames.shape[1] + left, min(frames.shape[1] - left, BLOCK), out.shape[2], last,
            )  # fmt: skip


@kernel()
def lay_pattern(frames, offsets, rings, shape, size, y, left, axes, places):
    """Axes of the pixels of a block and some beyond, and where their histograms begin in flat maps.

    ``axes`` (4, width) and ``places`` (at least histograms, width) are written; what is beyond the row is as
    its last pixel, and histograms beyond the last as that. ``size`` is the number of values of a map's pixel.
    """
    rows, columns = shape
    n = len(offsets)
    for i in range(axes.shape[1]):
        x = min(left + i, columns - 1)
        axes[0, i], axes[1, i] = frames[y, x, 0, 0], frames[y, x, 0, 1]
        axes[2, i], axes[3, i] = frames[y, x, 1, 0], frames[y, x, 1, 1]
    right, bottom = np.float64(columns - 1), np.float64(rows - 1)
    a, b, c, d = axes[0], axes[1], axes[2], axes[3]
    for i in range(len(places)):
        here, k = places[i], min(i, n - 1)
        across, along, start = offsets[k, 0], offsets[k, 1], np.int32(rings[k] * rows * columns)
        for j in range(axes.shape[1]):
            ix = (left + j) + a[j] * across + b[j] * along + np.float32(0.5)
            iy = y + c[j] * across + d[j] * along + np.float32(0.5)
            ix = ix if ix > 0 else 0.0
            iy = iy if iy > 0 else 0.0
            ix, iy = np.int32(ix if ix < right else right), np.int32(iy if iy < bottom else bottom)
            here[j] = np.int32(np.int32(start + np.int32(iy * np.int32(columns)) + ix) * np.int32(size))


@kernel()
def _turn(axes, low, of_low, of_high):
    """The bin below each bin's direction, and the shares of it and the one above.

    A derivative along the pattern's direction k is one along the frame's image of it, which falls between two
    bins.
    """
    a, b, c, d = axes[0], axes[1], axes[2], axes[3]
    for k in range(BINS):
        bins, one, two = low[k], of_low[k], of_high[k]
        cos, sin = _COS[k], _SIN[k]
        for i in range(low.shape[1]):
            x, y = a[i] * cos + b[i] * sin, c[i] * cos + d[i] * sin
            u, v = abs(x), abs(y)
            # eighth of the circle, 0..7, that the direction lies in, and how far through it (to 0.02)
            t = min(u, v) / (max(u, v) + np.float32(1e-20))
            t *= np.float32(1.273) - np.float32(0.273) * t
            octant = np.int32(0) if v <= u else np.int32(1)  # of the first quarter, then of its mirror image
            octant = np.int32(np.int32(3) - octant) if x < 0 else octant
            octant = np.int32(np.int32(7) - octant) if y < 0 else octant
            part = np.float64(t) if np.int32(octant & np.int32(1)) == 0 else 1 - np.float64(t)
            length = math.sqrt(x * x + y * y)
            bins[i], one[i], two[i] = octant, length * (1 - part), length * part


@kernel()
def _describe(maps, places, low, of_low, of_high, noise, n, out, start, count, size, last):
    """The pixels of a block; ``last`` is room for eight histograms that are not all wanted."""
    for done in range(0, n - EIGHT + 1, EIGHT):
        here = places[done : done + EIGHT]
        for x in range(count):
            for i in range(EIGHT):
                prefetch(maps, here[i, x + AHEAD])
            at = (start + x) * size + done
            eight_histograms(maps, here, low, of_low, of_high, x, noise, out, at, n)
    done = n // EIGHT * EIGHT
    for x in range(count if done < n else 0):
        eight_histograms(maps, places[done:], low, of_low, of_high, x, noise, last, 0, EIGHT)
        for k in range(BINS):
            for i in range(n - done):
                out[(start + x) * size + k * n + done + i] = last[k * EIGHT + i]
