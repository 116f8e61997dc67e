"""What makes depth readable in a still picture: edges in shade, and haze over what is far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import over_rows
from wideflow.types import Array

_STRENGTH = 4.0  # of the shade: a step of a tenth of the depth takes an eighth of the light behind it
_DARKEST = 0.45  # of the light that is left in the deepest shade
_HAZE = 0.35  # share of the background's colour in what is farthest
_ACROSS = np.array([[0, 1], [1, 1], [1, 0], [1, -1]])  # the directions in which a pixel has two neighbours


def cue_depth(
    picture: NDArray[np.uint8],
    depth: NDArray[np.float32],
    background: NDArray[np.uint8],
    radius: int,
    clear: float,
    far: float,
) -> NDArray[np.uint8]:
    """A picture of points with eye-dome lighting and haze.

    A pixel is darker the more its surroundings are nearer to the camera than a plane through it would be,
    which draws the outline of things onto what lies behind them. On a plane inverse depth is linear in the
    picture, so a plane is not shaded, however slanted, and a fold is as dark near as far.

    Parameters
    ----------
    picture : (H, W, 3) uint8
        RGB.
    depth : (H, W) float32
        Of what is seen in each pixel; infinite where nothing is, which stays as it is.
    background : (H, W, 3) uint8
        The colour of haze.
    radius : int
        Distance in pixels of the surroundings.
    clear, far : float
        Depth up to which there is no haze, and from which on there is the most.

    Returns
    -------
    (H, W, 3) uint8
        RGB.
    """
    out = np.empty_like(picture)
    _cue(len(out), picture, 1 / depth, background, radius, clear, max(far, 1.001 * clear), out)
    return out


@over_rows()
def _cue(
    first: int,
    end: int,
    picture: Array,
    inverse: Array,
    background: Array,
    radius: int,
    clear: float,
    far: float,
    out: Array,
) -> None:
    height, width = inverse.shape
    for y in range(first, end):
        for x in range(width):
            here = inverse[y, x]
            if here <= 0:
                out[y, x] = picture[y, x]
                continue
            fold = 0.0
            for k in range(_ACROSS.shape[0]):
                down, right = radius * _ACROSS[k, 0], radius * _ACROSS[k, 1]
                if down <= y < height - down and abs(right) <= x < width - abs(right):
                    around = 0.5 * (inverse[y - down, x - right] + inverse[y + down, x + right])
                    fold += max(0.0, around / here - 1)
            light = max(_DARKEST, np.exp(-_STRENGTH * fold / _ACROSS.shape[0]))
            haze = _HAZE * min(1.0, max(0.0, (1 / here - clear) / (far - clear)))
            for channel in range(3):
                lit = (1 - haze) * light * picture[y, x, channel] + haze * background[y, x, channel]
                out[y, x, channel] = round(lit)
