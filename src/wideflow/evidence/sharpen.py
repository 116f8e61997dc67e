"""Depth below the step of a volume: the shift that other pictures still show, at full size.

Every picture is drawn as seen from here, through the depth so far. Where a window of it differs, its change
with depth tells by how much depth is off (Lucas and Kanade's step, in one unknown), and how well that is
known. Windows follow the surface, as they are drawn through its depth.
"""

from __future__ import annotations

import cv2
import numpy as np

from wideflow.compiled import kernel, over_rows
from wideflow.config import EvidenceConfig
from wideflow.evidence.glimpse import Floats, Glimpse
from wideflow.geometry import transfer

_UNLIKE = np.float32(0.5)  # square detail by which a window differs that is hidden there, or has moved
_ALIKE = np.float32(0.02)  # by which any two differ
_MOST = np.float32(4.0)  # square detail that one pixel may differ by
_HALF, _LEAST_SHOWN = np.float32(0.5), np.float32(1e-3)  # shares of a window
_HIDDEN = np.float32(9.0)  # square detail of a window of which less than half is shown
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
    details = [other.detail(shape) for other in others]
    maps = [transfer(here.at(shape), other.at(shape)) for other in others]
    share = cv2.ximgproc.createGuidedFilter(guide, _REACH, _EDGE)
    drawn, means = np.empty((4, *shape), np.float32), np.empty((len(others), 4, *shape), np.float32)
    for _ in range(config.rounds):
        for detail, (H, e), mean in zip(details, maps, means, strict=True):
            _draw(shape[0], picture, detail, H, e, inverse, drawn)
            # side by side, OpenCV takes half the time for the four
            cv2.split(cv2.blur(cv2.merge(list(drawn)), (config.window, config.window)), list(mean))
        shift, information, unlike = _joined(means)
        usual = np.median(information)
        shift = np.clip(shift / (information + _DAMPED * usual), -step, step)
        inverse = _settled(inverse + shift, information / usual, share)
    deviation = np.sqrt((unlike + _ALIKE) / np.maximum(information * config.window**2, 1e-12))
    return inverse, deviation.astype(np.float32), unlike


def _settled(inverse: Floats, information: Floats, share: cv2.ximgproc.GuidedFilter) -> Floats:
    """Neighbours of like brightness share what they know: each alone would follow its noise.

    A mean weighted by information, within the edges of the picture (a guided filter), of depth without
    single outliers.
    """
    weight = np.minimum(information, _MOST_TOLD).astype(np.float32)
    calm = cv2.medianBlur(inverse.astype(np.float32), 5)
    total, known = share.filter(calm * weight), share.filter(weight)
    return np.where(known > _LEAST_TOLD, total / np.maximum(known, _LEAST_TOLD), calm).astype(np.float32)


@over_rows()
def _draw(first, end, picture, other, H, e, inverse, out):
    """Square difference, difference times its change with inverse depth, square change; 1 where shown."""
    places = np.empty((9, inverse.shape[1]), np.float32)
    for y in range(first, end):
        _draw_row(picture, other, H, e, inverse, out, np.int64(y), places)


@kernel()
def _draw_row(picture, other, H, e, inverse, out, y, places):
    """A row; ``places`` (9, W): where each pixel lies, whether it is seen, how it moves with depth, and the
    four values around it."""
    columns = inverse.shape[1]
    depths, own = inverse[y], picture[y]
    misfit, mixed, square, shown = out[0, y], out[1, y], out[2, y], out[3, y]
    right, bottom = np.float32(other.shape[1] - 1), np.float32(other.shape[0] - 1)
    place_x, place_y, seen, move_x, move_y = places[0], places[1], places[2], places[3], places[4]
    corner_a, corner_b, corner_c, corner_d = places[5], places[6], places[7], places[8]
    ex, ey, ez = np.float32(e[0]), np.float32(e[1]), np.float32(e[2])
    start_x, start_y, start_z = H[0, 1] * y + H[0, 2], H[1, 1] * y + H[1, 2], H[2, 1] * y + H[2, 2]
    for x in range(columns):  # in vector registers: nothing here looks into a picture
        depth = depths[x]
        w = np.float32(H[2, 0] * x + start_z) + depth * ez
        scale = np.float32(1) / w
        tx = (np.float32(H[0, 0] * x + start_x) + depth * ex) * scale
        ty = (np.float32(H[1, 0] * x + start_y) + depth * ey) * scale
        inside = (w > 0) & (tx >= 0) & (tx < right) & (ty >= 0) & (ty < bottom)
        seen[x] = np.float32(inside)
        place_x[x], place_y[x] = tx if inside else np.float32(0), ty if inside else np.float32(0)
        move_x[x], move_y[x] = (ex - tx * ez) * scale, (ey - ty * ez) * scale
    to_right, below = np.uint32(other.shape[1] > 1), np.uint32(other.shape[0] > 1)
    for x in range(columns):
        ix, iy = np.uint32(place_x[x]), np.uint32(place_y[x])
        corner_a[x], corner_b[x] = other[iy, ix], other[iy, ix + to_right]
        corner_c[x], corner_d[x] = other[iy + below, ix], other[iy + below, ix + to_right]
    zero, one = np.float32(0), np.float32(1)
    for x in range(columns):  # in vector registers again
        fx = place_x[x] - np.float32(np.int32(place_x[x]))
        fy = place_y[x] - np.float32(np.int32(place_y[x]))
        a, b, c, d = corner_a[x], corner_b[x], corner_c[x], corner_d[x]
        value = (a + fx * (b - a)) * (one - fy) + (c + fx * (d - c)) * fy
        along_x = (b - a) * (one - fy) + (d - c) * fy
        along_y = (c - a) * (one - fx) + (d - b) * fx
        slope = along_x * move_x[x] + along_y * move_y[x]
        difference = own[x] - value
        known = seen[x] > 0
        misfit[x] = min(difference * difference, _MOST) if known else zero
        mixed[x] = difference * slope if known else zero
        square[x] = slope * slope if known else zero
        shown[x] = seen[x]


def _joined(means: Floats) -> tuple[Floats, Floats, Floats]:
    """What all pictures say together, by the means (V, 4, h, w) of what was drawn.

    The third best of three sets what is alike.
    """
    shape = means.shape[2:]
    out = np.empty((3, *shape), np.float32)
    _join(shape[0], means, out)
    return out[0], out[1], out[2]


@over_rows()
def _join(first, end, means, out):
    room = np.empty((2, means.shape[0], means.shape[3]), np.float32)
    for y in range(first, end):
        _join_row(means, out, np.int64(y), room[0], room[1])


@kernel()
def _join_row(means, out, y, ranked, unlikes):
    """All pixels of a row side by side; ``ranked`` and ``unlikes`` (V, W) are room to work in."""
    views, columns = ranked.shape
    for v in range(views):
        misfits, shown, unlike, one = means[v, 0, y], means[v, 3, y], unlikes[v], ranked[v]
        for x in range(columns):
            share = max(shown[x], _LEAST_SHOWN)
            value = misfits[x] / share
            value = _HIDDEN if share < _HALF else value
            unlike[x], one[x] = value, value
    usual = ranked[views // 3]
    for i in range(views // 3 + 1):  # the least of those that are left comes down to place i
        for v in range(views - 1, i, -1):
            one, two = ranked[v - 1], ranked[v]
            for x in range(columns):
                one[x], two[x] = min(one[x], two[x]), max(one[x], two[x])
    shift, information, misfit, weights = out[0, y], out[1, y], out[2, y], ranked[0]
    for x in range(columns):
        shift[x], information[x], misfit[x] = 0, 0, 0
    for v in range(views):
        unlike, mixed, slope = unlikes[v], means[v, 1, y], means[v, 2, y]
        for x in range(columns):
            ratio = unlike[x] / (usual[x] + _ALIKE)
            weight = 1 / ((1 + ratio * ratio) * (1 + unlike[x] / _UNLIKE))
            total = weight if v == 0 else weights[x] + weight
            weights[x] = total
            misfit[x] += weight * unlike[x]
            shift[x] += weight * mixed[x]
            information[x] += weight * slope[x]
    for x in range(columns):
        misfit[x] = misfit[x] / max(weights[x], np.float32(1e-6))
