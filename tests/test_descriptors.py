"""Descriptors in registers are what they are one number at a time, however many histograms there are."""

from __future__ import annotations

import numpy as np
import pytest

from wideflow.compiled import njit
from wideflow.descriptors.daisy import Pattern, describe, gradient_maps
from wideflow.descriptors.distance import BINS, weighted_distance


@njit()
def _distances(a, b, cap, out):
    for x in range(len(out)):
        out[x] = weighted_distance(a, 0, x, b, 0, x, cap)


@pytest.mark.parametrize("count", [6, 8, 12])
@pytest.mark.parametrize("cap", [0, 7_000, 65_535, 65_536, 130_050])
def test_weighted_distance_is_that_of_whole_numbers(count: int, cap: int) -> None:
    chance = np.random.default_rng(count)
    a = chance.integers(0, 256, (1, 50, (BINS + 1) * count), dtype=np.uint8)
    b = chance.integers(0, 256, (1, 50, BINS * count), dtype=np.uint8)
    a[0, 0], b[0, 0] = 255, 0  # the largest that there is
    out = np.empty(50, np.int32)
    _distances(a, b, np.int32(cap), out)
    steps = a[0, :, : BINS * count].astype(np.int64) - b[0]
    apart = (steps**2).reshape(50, BINS, count).sum(axis=1)
    assert np.array_equal(out, (np.minimum(apart, cap) * a[0, :, BINS * count :]).sum(axis=1))


@pytest.mark.parametrize(("rings", "angles"), [(1, 3), (2, 4), (2, 6)])
def test_upright_descriptors_are_the_maps_where_the_pattern_says(rings: int, angles: int) -> None:
    pattern, noise, height, width = Pattern(4.0, rings, angles), 0.01, 20, 150
    maps = gradient_maps(np.random.default_rng(1).random((height, width), np.float32), pattern)
    frames = np.broadcast_to(np.eye(2, dtype=np.float32), (height, width, 2, 2)).copy()
    offsets, ring = pattern.samples()
    found = describe(maps, frames, pattern, noise).reshape(height, width, BINS, len(ring))
    for i, (x, y) in enumerate(offsets):
        column = np.clip(np.floor(np.arange(width) + x + 0.5), 0, width - 1).astype(int)
        row = np.clip(np.floor(np.arange(height) + y + 0.5), 0, height - 1).astype(int)
        read = maps[ring[i]][row[:, None], column]
        wanted = 255 * read / np.sqrt((read**2).sum(axis=2, keepdims=True) + noise**2)
        assert np.abs(found[..., i] - wanted).max() < 2
