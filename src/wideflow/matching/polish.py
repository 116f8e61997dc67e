"""From matches that are right to the pixel to flow that is right below it.

The variational refinement of `variational` is linearised at the flow that it is given, so small pictures come
before large ones. (DeepFlow is the same from no flow at all.)
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import pixel_grid
from wideflow.geometry.picture import grey_bytes
from wideflow.geometry.vectors import outside, stretched, vectors_where
from wideflow.matching.variational import Rounds, Weights, refine_flow

Floats = NDArray[np.float32]

_ON_THE_WAY = Weights(4.0, 1 / 6, 5 / 3)
_AT_THE_END = Weights(6.0, 0.5, 5 / 3, contrast=80.0)  # brightness tells fractions of a pixel
_ON_LINES = Weights(3.0, 0.5, 5 / 3, contrast=25.0, line=200.0)
_STEPS_ON_THE_WAY, _STEPS_AT_THE_END = Rounds(3, 10), Rounds(5, 14)
_STEPS_ON_LINES, _STEPS_ONCE = Rounds(4, 12), Rounds(4, 14)
_BLUR, _BLUR_ON_LINES = 0.8, 0.6  # px: what is left to align is as small as the noise
_SHARP = 0.25, 0.5, 1.0  # sizes of the pictures in which matches are moved
_SMOOTH = 0.125, 0.18, 0.25, 0.35, 0.5, 0.7  # and in which their mean is followed
_NOTHING = 8  # px of a side below which nothing is refined
_LEAST = 16  # px of a side below which a size is left out
_WIDE = 2.0  # px of the smallest picture over which matches are averaged for it
_MOST, _OUTSIDE = 20.0, 10.0  # grey levels: most that a difference counts, and what a pixel outside counts
_LESS_BRIGHTNESS = 0.3  # of brightness against gradients
_AROUND, _SPECKLE = 2.0, 7  # px: over which differences are averaged, and what is too small to choose
_PREFERENCE = 1.0  # grey levels by which the smooth flow may be worse


class _Pair(NamedTuple):
    """Two grey pictures of one size, float32 in 0..255."""

    first: Floats
    second: Floats

    def resized(self, share: float) -> _Pair:
        if share == 1:
            return self
        height, width = (max(1, round(side * share)) for side in self.first.shape)
        one, two = (cv2.resize(each, (width, height), interpolation=cv2.INTER_AREA) for each in self)
        return _Pair(one, two)


def polish_stereo(
    source: Floats, target: Floats, flow: Floats, F: NDArray[np.float64] | None = None
) -> Floats:
    """A stereo flow below the pixel.

    Parameters
    ----------
    source, target, flow
        As for `polish_optical`.
    F : (3, 3), optional
        From pixels of the source to lines in the target, of known cameras: the flow is held to its lines.
        What is estimated from matches must not draw them.
    """
    if min(flow.shape[:2]) < _NOTHING or min(target.shape[:2]) < _NOTHING:
        return flow
    pair, start = _prepared(source, target, flow, 0 if F is None else _BLUR_ON_LINES)
    if F is None:
        polished = _smoothed(pair, start)
    else:
        polished = _laid(refine_flow(*pair, start, _ON_LINES, _STEPS_ON_LINES, F), F)
    return polished[: flow.shape[0], : flow.shape[1]]


def polish_optical(source: Floats, target: Floats, flow: Floats, confidence: Floats) -> Floats:
    """The flow of one camera below the pixel, and smooth where the pictures do not tell it.

    Two ways lead there. One moves the matches, so that things which are small and fast stay; the other begins
    with their mean over a large neighbourhood and follows it from small pictures to large ones, so that plain
    areas keep the motion of what surrounds them. Where it explains the pictures as well, the second is taken.

    Parameters
    ----------
    source, target : (H, W, 3), (H2, W2, 3) float32
        Pictures, 0..1, the source in the target's colours.
    flow : (H, W, 2) float32
        In pixels.
    confidence : (H, W) float32
        Of the flow, 0..1: the mean is weighted by its square.
    """
    if min(flow.shape[:2]) < _NOTHING or min(target.shape[:2]) < _NOTHING:
        return flow
    pair, start = _prepared(source, target, flow, _BLUR)
    sharp = _moved(pair, start)
    smooth = _followed(pair, start, _padded(confidence, pair.first.shape))
    worse = _unlike(pair, smooth) > _unlike(pair, sharp) + _PREFERENCE
    worse = cv2.medianBlur(worse.astype(np.uint8), _SPECKLE) > 0
    chosen = vectors_where(worse, sharp, smooth)
    return refine_flow(*pair, chosen, _AT_THE_END, _STEPS_AT_THE_END)[: flow.shape[0], : flow.shape[1]]


def polish_once(source: Floats, target: Floats, flow: Floats) -> Floats:
    """A flow of one camera that is nearly right, such as a refined one, in a few steps at full size.

    Parameters
    ----------
    source, target, flow
        As for `polish_optical`.
    """
    if min(flow.shape[:2]) < _NOTHING:
        return flow
    one, two = (_grey(picture, _BLUR) for picture in (source, target))
    return refine_flow(one, two, flow, _AT_THE_END, _STEPS_ONCE)


def _prepared(source: Floats, target: Floats, flow: Floats, blur: float) -> tuple[_Pair, Floats]:
    """Both pictures in a frame that holds either, and the flow there, small outliers out by a median."""
    shape = max(source.shape[0], target.shape[0]), max(source.shape[1], target.shape[1])
    one, two = (_padded(_grey(picture, blur), shape) for picture in (source, target))
    flow = np.stack([cv2.medianBlur(flow[..., i].copy(), 5) for i in range(2)], axis=-1)
    return _Pair(one, two), _padded(flow, shape)


def _smoothed(pair: _Pair, flow: Floats) -> Floats:
    """Where nothing holds the flow to a line, all the smoother: one call of OpenCV's refinement."""
    refinement = cv2.VariationalRefinement_create()
    refinement.setAlpha(50.0)
    refinement.setDelta(5.0)
    refinement.setGamma(10.0)
    refinement.setFixedPointIterations(20)
    refinement.setSorIterations(5)
    u, v = (np.ascontiguousarray(flow[..., i]) for i in range(2))
    refinement.calcUV(pair.first, pair.second, u, v)
    return np.stack([u, v], axis=-1)


def _laid(flow: Floats, F: NDArray[np.float64]) -> Floats:
    """The flow on its epipolar lines, which it is held to but for a few hundredths of a pixel."""
    height, width = flow.shape[:2]
    x, y = np.arange(width), np.arange(height)[:, None]
    a, b, c = ((F[i, 0] * x + (F[i, 1] * y + F[i, 2])).astype(np.float32) for i in range(3))
    norms = a * a + b * b
    off = a * (x.astype(np.float32) + flow[..., 0]) + b * (y.astype(np.float32) + flow[..., 1]) + c
    off /= np.where(norms > 0, norms, np.float32(np.inf))  # at the epipole there is no line
    return np.stack([flow[..., 0] - a * off, flow[..., 1] - b * off], axis=-1)


def _moved(pair: _Pair, flow: Floats) -> Floats:
    """The flow moved from small pictures to large ones; what each moves is added, so that edges stay."""
    for share in _sizes(pair, _SHARP):
        small = pair.resized(share)
        before = _resized(flow, small.first.shape)
        moved = refine_flow(*small, before, _ON_THE_WAY, _STEPS_ON_THE_WAY)
        flow = flow + _resized(moved - before, flow.shape)
    return flow


def _followed(pair: _Pair, flow: Floats, confidence: Floats) -> Floats:
    """The mean of the matches around each pixel, followed from small pictures to large ones."""
    sizes = _sizes(pair, _SMOOTH)
    shape = pair.resized(sizes[0]).first.shape
    weight = confidence**2 + np.float32(1e-4)
    sums, weights = (
        cv2.GaussianBlur(cv2.resize(each, shape[::-1], interpolation=cv2.INTER_AREA), (0, 0), _WIDE)
        for each in (flow * weight[..., None], weight)
    )
    scale = np.array([shape[1] / flow.shape[1], shape[0] / flow.shape[0]], np.float32)
    found = sums / weights[..., None] * scale
    for share in sizes:
        small = pair.resized(share)
        found = refine_flow(*small, _resized(found, small.first.shape), _ON_THE_WAY, _STEPS_ON_THE_WAY)
    return _resized(found, flow.shape)


def _sizes(pair: _Pair, shares: tuple[float, ...]) -> list[float]:
    """Those in which there is something to see; always the largest."""
    return [share for share in shares if share * min(pair.first.shape) >= _LEAST or share == shares[-1]]


def _unlike(pair: _Pair, flow: Floats) -> Floats:
    """(H, W) grey levels in which the pictures differ around a pixel and its match."""
    height, width = flow.shape[:2]
    there = pixel_grid(width, height).astype(np.float32) + flow
    second = cv2.remap(pair.second, there, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    apart = np.float32(_LESS_BRIGHTNESS) * np.minimum(np.abs(pair.first - second), np.float32(_MOST))
    slopes = sum(
        np.abs(cv2.Sobel(pair.first - second, cv2.CV_32F, x, 1 - x, ksize=1, scale=0.5)) for x in (0, 1)
    )
    apart += np.minimum(slopes, np.float32(_MOST))
    apart[outside(there, width, height)] = _OUTSIDE
    return cv2.GaussianBlur(apart, (0, 0), _AROUND)


def _grey(picture: Floats, blur: float) -> Floats:
    grey = grey_bytes(picture).astype(np.float32)
    return cv2.GaussianBlur(grey, (0, 0), blur) if blur else grey


def _resized(flow: Floats, shape: tuple[int, ...]) -> Floats:
    """A flow of a picture and another of its size, after both are resized."""
    height, width = shape[:2]
    if flow.shape[:2] == (height, width):
        return flow
    shrinks = height < flow.shape[0]
    resized = cv2.resize(flow, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    return stretched(resized, width / flow.shape[1], height / flow.shape[0])


def _padded(array: Floats, shape: tuple[int, int]) -> Floats:
    bottom, right = shape[0] - array.shape[0], shape[1] - array.shape[1]
    return cv2.copyMakeBorder(array, 0, bottom, 0, right, cv2.BORDER_REPLICATE)
