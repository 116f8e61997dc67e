"""Depth below the step of a volume: the shift that other pictures still show, at full size.

Every picture is drawn as seen from here, through the depth so far. Where a window of it differs, its change
with depth tells by how much depth is off (Lucas and Kanade's step, in one unknown), and how well that is
known. Windows follow the surface, as they are drawn through its depth.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import over_rows
from wideflow.config import EvidenceConfig
from wideflow.evidence.glimpse import Floats, Glimpse
from wideflow.geometry import transfer

_UNLIKE = np.float32(0.5)  # square detail by which a window differs that is hidden there, or has moved
_ALIKE = np.float32(0.02)  # by which any two differ
_MOST = np.float32(4.0)  # square detail that one pixel may differ by
_REACH, _EDGE = 4, 1e-3  # px and square brightness: who shares, and at what difference no longer
_MOST_TOLD, _LEAST_TOLD = 4.0, 1e-3  # of the ordinary information
_DAMPED = np.float32(0.05)  # of the ordinary information: where there is less, depth stays


def sharpened(
    here: Glimpse, others: list[Glimpse], inverse: Floats, step: float, config: EvidenceConfig
) -> tuple[Floats, Floats, Floats]:
    """Inverse depth after some rounds, and what stands behind it.

    Parameters
    ----------
    here, others : Glimpse
        The picture, and those that it is compared with.
    inverse : (h, w) float32
        Inverse depth so far, to about a step.
    step : float
        Most that a round changes it by.
    config : EvidenceConfig
        Rounds and window.

    Returns
    -------
    inverse : (h, w) float32
    deviation : (h, w) float32
        Of the inverse depth, from noise.
    unlike : (h, w) float32
        Mean square difference of the windows that count; 0 alike, 2 have nothing in common.
    """
    shape = inverse.shape[:2]
    picture, guide = here.detail(shape), here.brightness(shape)
    details = np.stack([other.detail(shape) for other in others])
    maps = [transfer(here.at(shape), other.at(shape)) for other in others]
    window = (config.window, config.window)
    sums = np.empty((len(others), 3, *shape), np.float32)
    for _ in range(config.rounds):
        for v, (H, e) in enumerate(maps):
            misfit, mixed, slope, shown = _drawn(picture, details[v], H, e, inverse)
            share = np.maximum(cv2.blur(shown, window), np.float32(1e-3))
            sums[v, 0] = np.where(share < 0.5, np.float32(9), cv2.blur(misfit, window) / share)
            sums[v, 1], sums[v, 2] = cv2.blur(mixed, window), cv2.blur(slope, window)
        shift, information, unlike = _joined(sums)
        usual = np.median(information)
        shift = np.clip(shift / (information + _DAMPED * usual), -step, step)
        inverse = _settled(inverse + shift, information / usual, guide)
    deviation = np.sqrt((unlike + _ALIKE) / np.maximum(information * config.window**2, 1e-12))
    return inverse, deviation.astype(np.float32), unlike


def _settled(inverse: Floats, information: Floats, guide: Floats) -> Floats:
    """Neighbours of like brightness share what they know: each alone would follow its noise.

    A mean weighted by information, within the edges of the picture (a guided filter), of depth without
    single outliers.
    """
    weight = np.minimum(information, _MOST_TOLD).astype(np.float32)
    calm = cv2.medianBlur(inverse.astype(np.float32), 5)
    total = cv2.ximgproc.guidedFilter(guide, calm * weight, _REACH, _EDGE)
    share = cv2.ximgproc.guidedFilter(guide, weight, _REACH, _EDGE)
    return np.where(share > _LEAST_TOLD, total / np.maximum(share, _LEAST_TOLD), calm).astype(np.float32)


def _drawn(
    picture: Floats, other: Floats, H: NDArray[np.float64], e: NDArray[np.float64], inverse: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Square difference, difference times its change with inverse depth, square change; 1 where shown."""
    out = np.empty((4, *inverse.shape), np.float32)
    _draw(len(inverse), picture, other, H, e, inverse, out)
    return out[0], out[1], out[2], out[3]


@over_rows()
def _draw(first, end, picture, other, H, e, inverse, out):
    columns = inverse.shape[1]
    height, width = other.shape
    for y in range(first, end):
        for x in range(columns):
            out[:, y, x] = 0
            depth = inverse[y, x]
            w = H[2, 0] * x + H[2, 1] * y + H[2, 2] + depth * e[2]
            if w <= 0:
                continue
            tx = (H[0, 0] * x + H[0, 1] * y + H[0, 2] + depth * e[0]) / w
            ty = (H[1, 0] * x + H[1, 1] * y + H[1, 2] + depth * e[1]) / w
            if not (0 <= tx < width - 1 and 0 <= ty < height - 1):
                continue
            ix, iy = int(tx), int(ty)
            fx, fy = np.float32(tx - ix), np.float32(ty - iy)
            a, b = other[iy, ix], other[iy, ix + 1]
            c, d = other[iy + 1, ix], other[iy + 1, ix + 1]
            value = (a + fx * (b - a)) * (1 - fy) + (c + fx * (d - c)) * fy
            along_x = (b - a) * (1 - fy) + (d - c) * fy
            along_y = (c - a) * (1 - fx) + (d - b) * fx
            slope = np.float32(along_x * (e[0] - tx * e[2]) / w + along_y * (e[1] - ty * e[2]) / w)
            difference = picture[y, x] - value
            out[0, y, x] = min(difference * difference, _MOST)
            out[1, y, x] = difference * slope
            out[2, y, x] = slope * slope
            out[3, y, x] = 1


def _joined(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """What all pictures (V, 3, h, w) say together; the third best of three sets what is alike."""
    shape = sums.shape[2:]
    out = np.empty((3, *shape), np.float32)
    _join(shape[0], sums, out)
    return out[0], out[1], out[2]


@over_rows()
def _join(first, end, sums, out):
    views, _, _, columns = sums.shape
    for y in range(first, end):
        ranked = np.empty(views, np.float32)
        for x in range(columns):
            for v in range(views):  # a few numbers, faster in order than by a call
                i = v
                while i > 0 and ranked[i - 1] > sums[v, 0, y, x]:
                    ranked[i] = ranked[i - 1]
                    i -= 1
                ranked[i] = sums[v, 0, y, x]
            usual = ranked[views // 3] + _ALIKE
            weights, shift, information, misfit = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for v in range(views):
                unlike = sums[v, 0, y, x]
                ratio = unlike / usual
                weight = 1 / ((1 + ratio * ratio) * (1 + unlike / _UNLIKE))
                weights += weight
                misfit += weight * unlike
                shift += weight * sums[v, 1, y, x]
                information += weight * sums[v, 2, y, x]
            out[0, y, x], out[1, y, x] = shift, information
            out[2, y, x] = misfit / max(weights, np.float32(1e-6))
