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
_HIDDEN = np.int32(2**24)  # cost in a view that does not show the pixel: above that of any that does


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
        targets.reshape(len(targets), 1, -1, targets.shape[3]),  # places as one number
        H,
        e,
        depths.astype(np.float32),
        config.best_share,
        cap,
        np.float32(1 / (cap * histograms)),
        volume,
    )
    return volume


@over_rows()
def _compare(first, end, source, targets, H, e, depths, share, cap, scale, volume):
    views, steps = targets.shape[0], depths.shape[0]
    counted = np.empty(views + 1, np.int32)  # of so many that show a point, how many count
    for shown in range(views + 1):
        counted[shown] = max(1, math.ceil(shown * share))
    place, costs, counts = (
        np.empty(steps, np.int32),
        np.empty((views, steps), np.int32),
        np.empty((2, steps), np.int32),
    )
    for y in range(first, end):
        _compare_row(
            source, targets, H, e, depths, counted, cap, scale, volume, np.int64(y),
            place, costs, counts,
        )  # fmt: skip


@kernel()
def _compare_row(source, targets, H, e, depths, counted, cap, scale, volume, y, place, costs, counts):
    """A row; ``place`` (D,), ``costs`` (views, D) and ``counts`` (2, D) are room to work in.

    All depths of a pixel side by side: its places in each view, what they cost, and the cheapest views.
    """
    rows, columns = source.shape[:2]
    views, steps = targets.shape[0], depths.shape[0]
    shown, best = counts[0], counts[1]
    right, bottom = np.float32(columns - 1), np.float32(rows - 1)
    half = np.float32(0.5)
    for x in range(columns):
        for d in range(steps):
            shown[d] = 0
        for v in range(views):
            # where the view shows the pixel if it is infinitely far away, and how it moves as it comes near
            far_x = np.float32(H[v, 0, 0] * x + H[v, 0, 1] * y + H[v, 0, 2])
            far_y = np.float32(H[v, 1, 0] * x + H[v, 1, 1] * y + H[v, 1, 2])
            far_z = np.float32(H[v, 2, 0] * x + H[v, 2, 1] * y + H[v, 2, 2])
            near_x, near_y, near_z = np.float32(e[v, 0]), np.float32(e[v, 1]), np.float32(e[v, 2])
            for d in range(steps):
                w = np.float32(1) / (far_z + depths[d] * near_z)
                tx, ty = (far_x + depths[d] * near_x) * w, (far_y + depths[d] * near_y) * w
                seen = (w > 0) & (tx >= 0) & (ty >= 0) & (tx <= right) & (ty <= bottom)
                place[d] = (
                    np.int32(ty + half) * np.int32(columns) + np.int32(tx + half) if seen else np.int32(-1)
                )
                shown[d] += np.int32(seen)
            last, told = np.int32(-1), _HIDDEN
            line = costs[v]
            target = targets[v]
            for d in range(steps):
                if place[d] != last:  # a near view stays at a pixel for several steps
                    last = place[d]
                    told = _HIDDEN
                    if last >= 0:
                        told = daisy_distance(source, y, x, target, 0, np.uint32(last), cap)
                line[d] = told
        for d in range(steps):
            best[d] = counted[shown[d]]
        most = counted[views]
        for i in range(most):  # the cheapest first, as far as they count
            for v in range(views - 1, i, -1):
                one, two = costs[v - 1], costs[v]
                for d in range(steps):
                    low, high = min(one[d], two[d]), max(one[d], two[d])
                    one[d], two[d] = low, high
        out = volume[y, x]
        for d in range(steps):
            place[d] = 0
        for i in range(most):
            line = costs[i]
            for d in range(steps):
                place[d] += line[d] if i < best[d] else np.int32(0)
        for d in range(steps):
            out[d] = scale * np.float32(place[d]) / np.float32(best[d]) if shown[d] > 0 else _UNSEEN
