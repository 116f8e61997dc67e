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
from wideflow.descriptors.daisy import Pattern
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
        centre,
        around,
        frames,
        offsets,
        rings,
        np.float32(0.5 / (255 * contrast) ** 2),
        descriptors,
    )


@over_rows()
def _weigh(first, end, centre, around, frames, offsets, rings, steep, out):
    for y in range(first, end):
        _weigh_row(
            centre, around, frames, offsets, rings, steep, out, np.int64(y), np.empty(len(rings), np.float32)
        )


@kernel()
def _weigh_row(centre, around, frames, offsets, rings, steep, out, y, weights):
    rows, columns = centre.shape[:2]
    n = offsets.shape[0]
    for x in range(columns):
        a, b = frames[y, x, 0, 0], frames[y, x, 0, 1]
        c, d = frames[y, x, 1, 0], frames[y, x, 1, 1]
        total = np.float32(0)
        for i in range(n):
            ix = int(x + a * offsets[i, 0] + b * offsets[i, 1] + np.float32(0.5))
            iy = int(y + c * offsets[i, 0] + d * offsets[i, 1] + np.float32(0.5))
            ix, iy = min(max(ix, 0), columns - 1), min(max(iy, 0), rows - 1)
            apart = np.int32(0)
            for k in range(3):
                step = np.int32(np.int32(around[rings[i], iy, ix, k]) - np.int32(centre[y, x, k]))
                apart = np.int32(apart + np.int32(step * step))
            # nearly the exponential of -q, at a tenth of its price
            q = steep * np.float32(apart)
            weights[i] = _LEAST + (1 - _LEAST) / (1 + q + np.float32(0.5) * q * q)
            total += weights[i]
        scale = np.float32(SAME * n) / total
        for i in range(n):
            out[y, x, BINS * n + i] = np.uint8(min(scale * weights[i] + np.float32(0.5), np.float32(255)))
