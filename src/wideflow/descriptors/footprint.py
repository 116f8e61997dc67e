"""Descriptors that stop at edges: a histogram taken across an edge of the picture counts less.

Beside the silhouette of something near, a part of a pixel's descriptor lies on something else, which the
other camera shows elsewhere. What has another colour than the pixel is more often that than what has the
same one.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, over_rows
from wideflow.descriptors.daisy import BLOCK, Pattern, lay_pattern
from wideflow.descriptors.distance import BINS, SAME

Bytes = NDArray[np.uint8]
_LEAST = np.float32(0.1)  # weight of a histogram across an edge, against 1


def weigh(
    descriptors: Bytes, colours: Bytes, frames: NDArray[np.float32], pattern: Pattern, contrast: float
) -> None:
    """Write a weight for each histogram behind the descriptors, as `weighted_distance` takes them.

    The weights of a pixel have the mean `SAME`, but for the largest, which end at 255.

    Parameters
    ----------
    descriptors : (H, W, H·Q·T + Q·T) uint8
        Of `describe` with the same frames and pattern, and with room for the weights.
    colours : (H, W, 4) uint8
        Of the picture; the fourth byte is not used.
    frames : (H, W, 2, 2) float32
        Axes that the pattern was laid along.
    pattern : Pattern
        Where the histograms were taken.
    contrast : float
        Difference of colour, 0..1, at which a histogram counts two fifths; 0: all count alike.
    """
    offsets, rings = pattern.samples()
    if contrast <= 0:
        descriptors[..., BINS * len(offsets) :] = SAME
        return
    centre = cv2.medianBlur(colours, 3)  # without noise, but with edges
    around = np.stack([cv2.GaussianBlur(colours, (0, 0), blur) for blur in pattern.blurs])
    _weigh(
        len(descriptors),
        centre.view(np.int32)[..., 0],
        around.view(np.int32)[..., 0],
        frames,
        offsets,
        rings,
        np.float32(0.5 / (255 * contrast) ** 2),
        descriptors,
    )


@over_rows()
def _weigh(first, end, centre, around, frames, offsets, rings, steep, out):
    columns, flat = centre.shape[1], around.reshape(-1)
    axes, places = np.empty((4, BLOCK), np.float32), np.empty((len(offsets), BLOCK), np.int32)
    weights, total = np.empty((len(offsets), BLOCK), np.float32), np.empty(BLOCK, np.float32)
    for y in range(first, end):
        for left in range(0, columns, BLOCK):
            lay_pattern(frames, offsets, rings, centre.shape, 1, np.int64(y), left, axes, places)
            _weigh_block(centre[y, left:], flat, places, steep, weights, total, out[y, left:])


@kernel()
def _weigh_block(centre, around, places, steep, weights, total, out):
    """The pixels of a block; ``weights`` (histograms, width) and ``total`` (width) are room to work in."""
    n, count, byte = len(places), min(len(centre), len(total)), np.int32(255)
    total[:] = 0
    for i in range(n):
        place, weight = places[i], weights[i]
        for x in range(count):
            one, two = centre[x], around[place[x]]
            r = np.int32(np.int32(two & byte) - np.int32(one & byte))
            g = np.int32(np.int32((two >> 8) & byte) - np.int32((one >> 8) & byte))
            b = np.int32(np.int32((two >> 16) & byte) - np.int32((one >> 16) & byte))
            # nearly the exponential of -q, at a tenth of its price
            q = steep * np.float32(np.int32(np.int32(np.int32(r * r) + np.int32(g * g)) + np.int32(b * b)))
            weight[x] = _LEAST + (1 - _LEAST) / (1 + q + np.float32(0.5) * q * q)
            total[x] += weight[x]
    for x in range(count):
        total[x] = np.float32(SAME * n) / total[x]
    for x in range(count):
        for i in range(n):
            out[x, BINS * n + i] = np.uint8(
                np.int32(min(total[x] * weights[i, x] + np.float32(0.5), np.float32(255)))
            )
