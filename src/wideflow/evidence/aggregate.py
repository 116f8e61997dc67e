"""Costs of a volume gathered along the rows and columns of the picture (semi-global matching)."""

from __future__ import annotations

import numpy as np

from wideflow.compiled import over_rows
from wideflow.config import EvidenceConfig
from wideflow.evidence.glimpse import Floats

_EDGE = np.float32(30)  # a step of brightness of 1 / 30 halves what a jump of depth costs


def best_depths(volume: Floats, brightness: Floats, config: EvidenceConfig) -> tuple[Floats, Floats]:
    """The number of the best step for every pixel, to a fraction, and how far it leads.

    Parameters
    ----------
    volume : (h, w, D) float32
        Costs, 0..1.
    brightness : (h, w) float32
        0..1: depth may jump where it does.
    config : EvidenceConfig
        Prices of a step and of a jump.

    Returns
    -------
    step, lead : (h, w) float32
        ``lead`` is how much more the best depth elsewhere costs, as a mean over the paths.
    """
    total = np.zeros_like(volume)
    step, jump = np.float32(config.step), np.float32(config.jump)
    across = _EDGE * np.abs(np.diff(brightness, axis=1, prepend=brightness[:, :1]))
    down = _EDGE * np.abs(np.diff(brightness, axis=0, prepend=brightness[:1]))
    _along_rows(len(volume), volume, across, step, jump, total)
    turned, result = volume.transpose(1, 0, 2), total.transpose(1, 0, 2)
    _along_rows(len(turned), turned, np.ascontiguousarray(down.T), step, jump, result)
    best, lead = np.empty(volume.shape[:2], np.float32), np.empty(volume.shape[:2], np.float32)
    _winners(len(total), total, best, lead)
    return best, lead / np.float32(4)


@over_rows()
def _along_rows(first, end, volume, edges, step, jump, total):
    """Add both directions along each row; ``edges`` (rows, columns): between a pixel and the one before."""
    _, columns, steps = volume.shape
    for y in range(first, end):
        before = np.zeros(steps, np.float32)
        here = np.empty(steps, np.float32)
        for backward in range(2):
            before[:] = 0
            for i in range(columns):
                x = columns - 1 - i if backward else i
                edge = edges[y, min(x + 1, columns - 1)] if backward else edges[y, x]
                least = before[0]
                for d in range(1, steps):
                    least = min(least, before[d])
                price = max(jump / (1 + edge), step)
                for d in range(steps):
                    cheapest = min(before[d], least + price)
                    if d > 0:
                        cheapest = min(cheapest, before[d - 1] + step)
                    if d < steps - 1:
                        cheapest = min(cheapest, before[d + 1] + step)
                    here[d] = volume[y, x, d] + cheapest - least
                    total[y, x, d] += here[d]
                before[:] = here


@over_rows()
def _winners(first, end, total, best, lead):
    _, columns, steps = total.shape
    for y in range(first, end):
        for x in range(columns):
            b = 0
            for d in range(1, steps):
                if total[y, x, d] < total[y, x, b]:
                    b = d
            part = np.float32(0)
            if 0 < b < steps - 1:
                low, mid, high = total[y, x, b - 1], total[y, x, b], total[y, x, b + 1]
                bend = low - 2 * mid + high
                if bend > 0:
                    part = np.float32(0.5) * (low - high) / bend
            best[y, x] = b + part
            rival = np.float32(np.inf)
            for d in range(steps):
                if abs(d - b) > 2:
                    rival = min(rival, total[y, x, d])
            lead[y, x] = rival - total[y, x, b]
