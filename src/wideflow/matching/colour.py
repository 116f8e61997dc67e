"""The colour transform between two pictures (paper, equation 3), fitted to their matches.

The paper's transform is affine, [A a]. Phones also differ in their tone curves, which an affine transform
cannot follow; powers of each channel beside the channels themselves can. Degree 1 is the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

_ENOUGH = 200  # matches below which a fit says more of the mismatches than of the cameras
_SAMPLE = 6_000  # matches that a transform is fitted to
_SAME_LIGHT = 0.003  # median change of colour, 0..1, below which light is constant
_BY_CHANCE = 8.0  # so many median differences over the root of their number: a median that means nothing
_PRIOR = 1e-4  # pull towards no change, so that a picture of one colour invents no transform


@dataclass(frozen=True, eq=False)
class ColourTransform:
    """Colours of one picture as the other camera would have seen them.

    Attributes
    ----------
    matrix : (3, 3 * degree + 1) float64
        Applied to (c, c², …, 1); for degree 1 this is the paper's [A a].
    spread : float
        Median distance left between matched colours, 0..1: how far the transform can be trusted.
        Infinite before any fit.
    """

    matrix: NDArray[np.float64]
    spread: float

    @classmethod
    def identity(cls, degree: int) -> ColourTransform:
        return cls(np.eye(3, 3 * degree + 1), float("inf"))

    def __call__(self, picture: NDArray[np.float32]) -> NDArray[np.float32]:
        """Transform (..., 3) colours; clipped to 0..1 as the other sensor would."""
        power = colours = np.ascontiguousarray(picture, np.float32).reshape(-1, 1, 3)
        matrix = self.matrix.astype(np.float32)
        total = cv2.transform(colours, matrix[:, [0, 1, 2, -1]])
        for first in range(3, matrix.shape[1] - 1, 3):
            power = power * colours
            total += cv2.transform(power, matrix[:, first : first + 3])
        return np.clip(total, 0, 1).reshape(picture.shape)


def fit_colour_transform(
    source: NDArray[np.float32], target: NDArray[np.float32], degree: int
) -> ColourTransform:
    """Robust least squares between the (N, 3) colours of matched pixels.

    Where there are too few usable matches, nothing is transformed and nothing is trusted.
    """
    # a channel at its limit says nothing of the light that hit it
    usable = _all_three(np.minimum(source, target) > 0.01) & _all_three(np.maximum(source, target) < 0.98)
    if np.count_nonzero(usable) < _ENOUGH:
        return ColourTransform.identity(degree)
    x = source[usable].astype(np.float64)
    y = target[usable].astype(np.float64)
    weight = np.ones(len(x))
    # the affine fit first: with mismatches about, a curve of higher degree would follow them
    powers = np.concatenate([x**power for power in range(1, degree + 1)], axis=1)
    ones = np.ones((len(x), 1))
    affine, curved = (np.concatenate([powers[:, :columns], ones], axis=1) for columns in (3, 3 * degree))
    for lifted in [affine] * 6 + [curved] * 6:
        weighted = lifted * weight[:, None]
        prior = _PRIOR * len(x)
        left = weighted.T @ lifted + prior * np.eye(lifted.shape[1])
        right = weighted.T @ y + prior * np.eye(lifted.shape[1], 3)
        matrix = np.linalg.solve(left, right)
        off = lifted @ matrix - y
        off *= off
        residual = np.sqrt(off[:, 0] + off[:, 1] + off[:, 2])
        spread = float(np.median(residual)) + 1e-3
        weight = 1 / (1 + (residual / spread) ** 2) ** 2
    return ColourTransform(matrix.T, spread)


def _all_three(told: Mask) -> Mask:
    """Of (N, 3); NumPy takes ten times as long over an axis that short."""
    return np.asarray(told[:, 0] & told[:, 1] & told[:, 2])


def matched_colours(first: Floats, second: Floats, flow: Floats, seen: Mask) -> tuple[Floats, Floats]:
    """Colours (N, 3) of some of the pixels that are seen, and of what the flow leads them to."""
    y, x = np.nonzero(seen)
    thin = max(1, len(y) // _SAMPLE)
    y, x = y[::thin], x[::thin]
    there = np.rint(np.stack([x, y], axis=-1) + flow[y, x]).astype(np.int64)
    inside = (there >= 0).all(axis=1) & (there < second.shape[1::-1]).all(axis=1)
    return first[y[inside], x[inside]], second[there[inside, 1], there[inside, 0]]


def in_one_light(
    first: Floats, second: Floats, flow: Floats, seen: Mask, degree: int
) -> tuple[Floats, Floats]:
    """Two pictures of one camera as if light and exposure had been the same.

    The darker one is brightened: what is blown out in the other is then blown out in both. The arrays
    themselves if nothing differs, so that constant light leaves no trace.

    Parameters
    ----------
    first, second : (H, W, 3) float32
        RGB in 0..1.
    flow : (H, W, 2) float32
        From the first to the second.
    seen : (H, W) bool
        Where the flow can be believed.
    degree : int
        Of the transform.
    """
    before, after = matched_colours(first, second, flow, seen)
    if not len(before):
        return first, second
    change = np.median(after - before, axis=0)
    chance = _BY_CHANCE * float(np.median(np.abs(after - before))) / np.sqrt(len(before))
    if np.abs(change).max() < max(_SAME_LIGHT, chance):
        return first, second
    if change.mean() > 0:
        return fit_colour_transform(before, after, degree)(first), second
    return first, fit_colour_transform(after, before, degree)(second)
