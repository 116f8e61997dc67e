"""How well other pictures agree with each depth of each pixel: a volume over inverse depth."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, over_rows
from wideflow.config import EvidenceConfig
from wideflow.descriptors.daisy import Pattern
from wideflow.descriptors.distance import daisy_distance
from wideflow.evidence.glimpse import Floats, Glimpse
from wideflow.geometry import transfer

_UNSEEN = np.float32(0.6)  # cost of a depth at which no other picture shows the pixel
_FULL = np.float32(255**2)  # square norm of a histogram


def cost_volume(
    here: Glimpse,
    others: list[Glimpse],
    depths: NDArray[np.float64],
    shape: tuple[int, int],
    config: EvidenceConfig,
) -> Floats:
    """Costs (h, w, D) of the inverse depths (D,) at this size, 0..1.

    Of the views that show a point, those that agree best count: the others may be hidden behind something,
    or see a thing that has moved.
    """
    pattern = Pattern(config.descriptor_radius, config.descriptor_rings, config.descriptor_angles)
    source = here.descriptors(shape, pattern, config.descriptor_noise)
    targets = np.stack([other.descriptors(shape, pattern, config.descriptor_noise) for other in others])
    maps = [transfer(here.at(shape), other.at(shape)) for other in others]
    H, e = np.stack([each[0] for each in maps]), np.stack([each[1] for each in maps])
    histograms = pattern.rings * pattern.angles
    cap = np.int32(config.descriptor_cap * _FULL)
    volume = np.empty((*shape, len(depths)), np.float32)
    _compare(
        shape[0],
        source,
        targets,
        H,
        e,
        depths,
        config.best_share,
        cap,
        np.float32(1 / (cap * histograms)),
        volume,
    )
    return volume


@over_rows()
def _compare(first, end, source, targets, H, e, depths, share, cap, scale, volume):
    views = targets.shape[0]
    for y in range(first, end):
        place, told = np.empty(views, np.int64), np.empty((2, views), np.float32)
        far = np.empty((views, 3), np.float64)
        _compare_row(
            source, targets, H, e, depths, share, cap, scale, volume, np.int64(y),
            far, place, told[0], told[1],
        )  # fmt: skip


@kernel()
def _compare_row(source, targets, H, e, depths, share, cap, scale, volume, y, far, place, told, costs):
    """A row; ``far`` (views, 3), ``place``, ``told`` and ``costs`` (views,) are room to work in."""
    rows, columns = source.shape[:2]
    views, steps = targets.shape[0], depths.shape[0]
    for x in range(columns):
        for v in range(views):
            place[v] = -1
            for k in range(3):  # where the view shows the pixel if it is infinitely far away
                far[v, k] = H[v, k, 0] * x + H[v, k, 1] * y + H[v, k, 2]
        for d in range(steps):
            count = 0
            for v in range(views):
                w = far[v, 2] + depths[d] * e[v, 2]
                if w <= 0:
                    continue
                tx = (far[v, 0] + depths[d] * e[v, 0]) / w
                ty = (far[v, 1] + depths[d] * e[v, 1]) / w
                if tx < 0 or ty < 0 or tx > columns - 1 or ty > rows - 1:
                    continue
                row, column = int(ty + 0.5), int(tx + 0.5)
                if place[v] != row * columns + column:  # a near view stays at a pixel for several steps
                    place[v] = row * columns + column
                    told[v] = daisy_distance(source, y, x, targets[v], row, column, cap)
                cost, i = told[v], count
                while i > 0 and costs[i - 1] > cost:
                    costs[i] = costs[i - 1]
                    i -= 1
                costs[i] = cost
                count += 1
            if count == 0:
                volume[y, x, d] = _UNSEEN
                continue
            best = max(1, math.ceil(count * share))
            total = np.float32(0)
            for i in range(best):
                total += costs[i]
            volume[y, x, d] = scale * total / best
