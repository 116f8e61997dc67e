"""Pictures as the energy reads them: colour and gradient channels, interpolated with exact derivatives."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, njit
from wideflow.instructions import add_eight, prefetch
from wideflow.refine.lanes import LANES, aligned

CHANNELS = 5  # red, green, blue, and the two derivatives of brightness
COLOURS = 3
STORED = 8  # numbers of a pixel, so that all of it is read at once
TAPS = 18  # weights of four columns, their derivatives, the same of four rows; the first column and row
READ = 3  # of every channel: its value, and the derivatives along x and y
_TWO = 2 * STORED  # numbers of two pixels
HALVES = READ * _TWO
_AHEAD = 4 * STORED  # numbers: what is soon read of the lowest line, which no earlier row has read
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
    (H + 4, W + 4, 8) float32
        Red, green, blue, the derivatives of brightness along x and y per pixel, and zeros.
    """
    smooth = cv2.GaussianBlur(picture, (0, 0), blur) if blur > 0 else picture
    smooth = smooth * np.float32(255)
    grey = cv2.cvtColor(smooth, cv2.COLOR_RGB2GRAY)
    taps = np.array([[-1, 8, 0, -8, 1]], np.float32) / -12  # fourth-order central difference
    along_x = cv2.filter2D(grey, cv2.CV_32F, taps, borderType=cv2.BORDER_REPLICATE)
    along_y = cv2.filter2D(grey, cv2.CV_32F, taps.T, borderType=cv2.BORDER_REPLICATE)
    known = [
        cv2.copyMakeBorder(each, *[_MARGIN] * 4, cv2.BORDER_REPLICATE) for each in (smooth, along_x, along_y)
    ]
    nothing = np.zeros(known[0].shape[:2], np.float32)
    return cv2.merge([*known, *[nothing] * (STORED - CHANNELS)], aligned((*nothing.shape, STORED)))


@kernel()
def find(width, height, where, place, taps):
    """Where places lie in a picture, to which they are first held; the weights of what is around.

    ``where`` (places, 2 * LANES) has their x, then their y; ``taps`` (18 * LANES) is filled.
    """
    right, bottom = width - 1.0, height - 1.0
    for n in range(LANES):
        px, py = where[place, n], where[place, LANES + n]
        px, py = min(max(px, 0.0), right), min(max(py, 0.0), bottom)
        left, top = np.floor(px), np.floor(py)
        taps[16 * LANES + n], taps[17 * LANES + n] = np.float32(left), np.float32(top)
        x0, x1, x2, x3, dx0, dx1, dx2, dx3 = _taps(np.float32(px - left))
        taps[n], taps[LANES + n] = x0, x1
        taps[2 * LANES + n], taps[3 * LANES + n] = x2, x3
        taps[4 * LANES + n], taps[5 * LANES + n] = dx0, dx1
        taps[6 * LANES + n], taps[7 * LANES + n] = dx2, dx3
        y0, y1, y2, y3, dy0, dy1, dy2, dy3 = _taps(np.float32(py - top))
        taps[8 * LANES + n], taps[9 * LANES + n] = y0, y1
        taps[10 * LANES + n], taps[11 * LANES + n] = y2, y3
        taps[12 * LANES + n], taps[13 * LANES + n] = dy0, dy1
        taps[14 * LANES + n], taps[15 * LANES + n] = dy2, dy3


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


@kernel()
def cubic(flat, width, taps, seen, i, place, halves, found):
    """Catmull-Rom value and derivatives of all channels at places that were found.

    The derivatives are those of the interpolant itself, so that a small step changes the energy as the
    linearised data term says it does.

    ``flat`` is a feature picture, ``width`` that of its picture. ``found`` (3 * LANES * 8) is filled: values,
    derivatives along x and along y, each pixel after pixel; it keeps what it had where the pixel is not seen,
    ``seen[i, place]``. ``halves`` (48) is scratch.
    """
    stored = width + 2 * _MARGIN
    line = np.uint64(stored * STORED)
    for n in range(LANES):
        if seen[i, place, n] == 0:
            continue
        left, top = int(taps[16 * LANES + n]), int(taps[17 * LANES + n])
        corner = ((top + _MARGIN - 1) * stored + left + _MARGIN - 1) * STORED
        x0, x1, x2, x3 = taps[n], taps[LANES + n], taps[2 * LANES + n], taps[3 * LANES + n]
        dx0, dx1 = taps[4 * LANES + n], taps[5 * LANES + n]
        dx2, dx3 = taps[6 * LANES + n], taps[7 * LANES + n]
        y0, y1, y2, y3 = (
            taps[8 * LANES + n],
            taps[9 * LANES + n],
            taps[10 * LANES + n],
            taps[11 * LANES + n],
        )
        dy0, dy1 = taps[12 * LANES + n], taps[13 * LANES + n]
        dy2, dy3 = taps[14 * LANES + n], taps[15 * LANES + n]
        # unsigned offsets into the flat array: signed ones are checked for Python's negative indices
        line0 = np.uint64(corner)
        line1, line2, line3 = line0 + line, line0 + line + line, line0 + line + line + line
        prefetch(flat, line3 + np.uint64(_AHEAD))
        # two pixels at once; the sum of the two halves is what is looked for
        for c in range(_TWO):
            near, far = np.uint64(c), np.uint64(c + _TWO)
            here, there = (x0, x2) if c < STORED else (x1, x3)
            here_d, there_d = (dx0, dx2) if c < STORED else (dx1, dx3)
            p, q = flat[line0 + near], flat[line0 + far]
            v0, d0 = here * p + there * q, here_d * p + there_d * q
            p, q = flat[line1 + near], flat[line1 + far]
            v1, d1 = here * p + there * q, here_d * p + there_d * q
            p, q = flat[line2 + near], flat[line2 + far]
            v2, d2 = here * p + there * q, here_d * p + there_d * q
            p, q = flat[line3 + near], flat[line3 + far]
            v3, d3 = here * p + there * q, here_d * p + there_d * q
            halves[c] = y0 * v0 + y1 * v1 + y2 * v2 + y3 * v3
            halves[_TWO + c] = y0 * d0 + y1 * d1 + y2 * d2 + y3 * d3
            halves[2 * _TWO + c] = dy0 * v0 + dy1 * v1 + dy2 * v2 + dy3 * v3
        for k in range(READ):
            add_eight(found, (k * LANES + n) * STORED, halves, k * _TWO, k * _TWO + STORED)


@kernel()
def by_channel(pixels, channels):
    """From pixel after pixel to the layout of `lanes`; written out, so that registers are shuffled."""
    for n in range(LANES):
        i = n * STORED
        channels[n], channels[LANES + n] = pixels[i], pixels[i + 1]
        channels[2 * LANES + n], channels[3 * LANES + n] = pixels[i + 2], pixels[i + 3]
        channels[4 * LANES + n], channels[5 * LANES + n] = pixels[i + 4], pixels[i + 5]
        channels[6 * LANES + n], channels[7 * LANES + n] = pixels[i + 6], pixels[i + 7]
