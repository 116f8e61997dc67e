"""Pictures as the energy reads them: colour and gradient channels, interpolated with exact derivatives."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit

CHANNELS = 5  # red, green, blue, and the two derivatives of brightness
COLOURS = 3
_MARGIN = 2  # px beyond the border that a cubic kernel reaches


def feature_picture(picture: NDArray[np.float32], blur: float) -> NDArray[np.float32]:
    """Channels that the data terms compare, in grey levels 0..255, with a replicated margin.

    Parameters
    ----------
    picture : (H, W, 3) float32
        RGB in 0..1.
    blur : float
        Standard deviation of a Gaussian against noise, px; 0 for none.

    Returns
    -------
    (H + 4, W + 4, 5) float32
        Red, green, blue, and the derivatives of brightness along x and y per pixel.
    """
    smooth = cv2.GaussianBlur(picture, (0, 0), blur) if blur > 0 else picture
    smooth = smooth * np.float32(255)
    grey = cv2.cvtColor(smooth, cv2.COLOR_RGB2GRAY)
    taps = np.array([[-1, 8, 0, -8, 1]], np.float32) / -12  # fourth-order central difference
    along_x = cv2.filter2D(grey, cv2.CV_32F, taps, borderType=cv2.BORDER_REPLICATE)
    along_y = cv2.filter2D(grey, cv2.CV_32F, taps.T, borderType=cv2.BORDER_REPLICATE)
    features = np.dstack([smooth, along_x, along_y])
    margin = ((_MARGIN, _MARGIN), (_MARGIN, _MARGIN), (0, 0))
    return np.ascontiguousarray(np.pad(features, margin, mode="edge"), np.float32)


@njit(inline="always")
def cubic(features, x, y, value, along_x, along_y):
    """Catmull-Rom value and derivatives of all channels at a place, which is first held to the picture.

    The derivatives are those of the interpolant itself, so that a small step changes the energy as the
    linearised data term says it does.
    """
    width = features.shape[1]
    x = min(max(x, 0.0), width - 2 * _MARGIN - 1.0)
    y = min(max(y, 0.0), features.shape[0] - 2 * _MARGIN - 1.0)
    left, top = int(x), int(y)
    x0, x1, x2, x3, dx0, dx1, dx2, dx3 = _taps(np.float32(x - left))
    y0, y1, y2, y3, dy0, dy1, dy2, dy3 = _taps(np.float32(y - top))
    # unsigned offsets into the flat array: signed ones are checked for Python's negative indices
    flat = features.reshape(-1)
    line, pixel = np.uint64(width * CHANNELS), np.uint64(CHANNELS)
    corner = np.uint64(((top + _MARGIN - 1) * width + left + _MARGIN - 1) * CHANNELS)
    for c in range(CHANNELS):
        k = corner + np.uint64(c)
        v0, d0 = _along(flat, k, pixel, x0, x1, x2, x3, dx0, dx1, dx2, dx3)
        v1, d1 = _along(flat, k + line, pixel, x0, x1, x2, x3, dx0, dx1, dx2, dx3)
        v2, d2 = _along(flat, k + line + line, pixel, x0, x1, x2, x3, dx0, dx1, dx2, dx3)
        v3, d3 = _along(flat, k + line + line + line, pixel, x0, x1, x2, x3, dx0, dx1, dx2, dx3)
        value[c] = y0 * v0 + y1 * v1 + y2 * v2 + y3 * v3
        along_x[c] = y0 * d0 + y1 * d1 + y2 * d2 + y3 * d3
        along_y[c] = dy0 * v0 + dy1 * v1 + dy2 * v2 + dy3 * v3


@njit(inline="always")
def _taps(a):
    """Weights of four neighbours at the fraction a between the middle two, then their derivatives."""
    half, one = np.float32(0.5), np.float32(1)
    two, three, four, five = np.float32(2), np.float32(3), np.float32(4), np.float32(5)
    b = a * a
    c = b * a
    return (
        half * (two * b - a - c),
        half * (two - five * b + three * c),
        half * (a + four * b - three * c),
        half * (c - b),
        half * (four * a - one - three * b),
        half * (three * three * b - two * five * a),
        half * (one + two * four * a - three * three * b),
        half * (three * b - two * a),
    )


@njit(inline="always")
def _along(flat, k, pixel, x0, x1, x2, x3, dx0, dx1, dx2, dx3):
    """Value and derivative on one line of the picture."""
    p0, p1 = flat[k], flat[k + pixel]
    p2, p3 = flat[k + pixel + pixel], flat[k + pixel + pixel + pixel]
    return x0 * p0 + x1 * p1 + x2 * p2 + x3 * p3, dx0 * p0 + dx1 * p1 + dx2 * p2 + dx3 * p3
