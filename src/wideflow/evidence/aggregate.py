"""Costs of a volume gathered along the rows and columns of the picture (semi-global matching)."""

from __future__ import annotations

import numpy as np

from wideflow.compiled import kernel, njit, over_rows
from wideflow.config import EvidenceConfig
from wideflow.evidence.glimpse import Floats

_LANES = 16  # of vector registers, side by side: the least of so many rows first, then the least of these
_EDGE = np.float32(30)  # a step of brightness of 1 / 30 halves what a jump of depth costs


def best_depths(volume: Floats, brightness: Floats, config: EvidenceConfig) -> Floats:
    """The number of the best step for every pixel (h, w), to a fraction.

    Parameters
    ----------
    volume : (h, w, D) float32
        Costs, 0..1.
    brightness : (h, w) float32
        0..1: depth may jump where it does.
    config : EvidenceConfig
        Prices of a step and of a jump.
    """
    rows, columns, _ = volume.shape
    total = np.zeros_like(volume)
    step, jump = np.float32(config.step), np.float32(config.jump)
    across = _EDGE * np.abs(np.diff(brightness, axis=1, prepend=brightness[:, :1]))
    down = _EDGE * np.abs(np.diff(brightness, axis=0, prepend=brightness[:1]))
    costs, sums = (values.reshape(rows * columns, -1) for values in (volume, total))
    _along_lines(rows, costs, across.reshape(-1), columns, 1, columns, step, jump, sums)
    _along_lines(columns, costs, down.reshape(-1), rows, columns, 1, step, jump, sums)
    best = np.empty(volume.shape[:2], np.float32)
    _winners(rows, total, best)
    return best


@over_rows()
def _along_lines(first, end, volume, edges, length, near, far, step, jump, total):
    """Add both directions along each row, or each column, of pixels (h w, D).

    Pixels of a line are ``near`` apart, lines ``far``; ``edges`` (h w): between a pixel and the one before.
    """
    steps = volume.shape[1]
    room = np.empty((3, _LANES * (1 + (steps + 1) // _LANES)), np.float32)
    for line in range(first, end):
        for backward in range(2):
            _along_line(
                volume, edges, length, near, np.int64(line) * far, step, jump, total, backward, room,
            )  # fmt: skip


@kernel()
def _along_line(volume, edges, length, near, start, step, jump, total, backward, room):
    """One direction of a line; ``room`` (3, D and more) is to work in."""
    steps = np.uint64(volume.shape[1])
    before, here, least_of = room[0], room[1], room[2]
    for d in range(before.shape[0]):
        before[d] = np.inf  # before the first depth and after the last: nothing comes from there
    one, two = np.uint64(1), np.uint64(2)
    for d in range(steps):
        before[d + one] = 0
    for i in range(length):
        along = length - 1 - i if backward else i
        pixel = start + along * near
        edge = edges[start + min(along + 1, length - 1) * near] if backward else edges[pixel]
        least = _least(before, least_of)
        jumped = least + max(jump / (1 + edge), step)
        cost, added = volume[pixel], total[pixel]
        for d in range(steps):
            cheapest = min(before[d + one], jumped)
            cheapest = min(cheapest, before[d] + step)
            cheapest = min(cheapest, before[d + two] + step)
            value = np.float32(cost[d] + cheapest - least)
            here[d] = value
            added[d] += value
        for d in range(steps):
            before[d + one] = here[d]


@njit(inline="always")
def _least(values, lanes):
    """The least of some multiple of so many values."""
    for j in range(_LANES):
        lanes[j] = values[j]
    for d in range(_LANES, values.shape[0], _LANES):
        for j in range(_LANES):
            lanes[j] = min(lanes[j], values[d + j])
    width = _LANES // 2
    while width > 0:
        for j in range(width):
            lanes[j] = min(lanes[j], lanes[j + width])
        width //= 2
    return lanes[0]


@over_rows()
def _winners(first, end, total, best):
    _, columns, steps = total.shape
    for y in range(first, end):
        for x in range(columns):
            b, lowest = 0, total[y, x, 0]
            for d in range(1, steps):
                cost = total[y, x, d]
                b, lowest = (d, cost) if cost < lowest else (b, lowest)
            part = np.float32(0)
            if 0 < b < steps - 1:
                low, mid, high = total[y, x, b - 1], total[y, x, b], total[y, x, b + 1]
                bend = low - 2 * mid + high
                if bend > 0:
                    part = np.float32(0.5) * (low - high) / bend
            best[y, x] = b + part
