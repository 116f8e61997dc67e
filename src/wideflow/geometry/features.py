"""Sparse features: SIFT points of a picture, and which of them are the same in two pictures."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry.pyramid import Grey, to_full

_RATIO = 0.85  # of the distances to the nearest and second-nearest descriptor
_CONTRAST = 0.015  # lower than usual: plain walls have weak texture
_SAME = 1e-6  # squared distance of descriptors that are equal but for rounding
_FEWEST = 8
_OFF_LINE = 2.0  # px: poses are not exact


@dataclass(frozen=True, eq=False)
class Features:
    """Points of one picture.

    Attributes
    ----------
    xy : (N, 2) float32
        Pixels of the full picture, centres at integers.
    descriptors : (N, 128) uint8
        Square roots of SIFT's histograms (Arandjelovic and Zisserman 2012), of length 255 or so.
    """

    xy: NDArray[np.float32]
    descriptors: NDArray[np.uint8]


def detect_features(
    grey: Grey, count: int, size: tuple[int, int] | None = None, contrast: float = _CONTRAST
) -> Features:
    """The strongest SIFT points of a picture.

    Parameters
    ----------
    grey : (h, w) uint8
        Brightness.
    count : int
        Points at most.
    size : (width, height), optional
        Of the full picture, if this one was scaled down from it.
    contrast : float
        Least contrast of a point.
    """
    found, histograms = cv2.SIFT_create(count, contrastThreshold=contrast).detectAndCompute(grey, None)
    if histograms is None:
        return Features(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.uint8))
    xy = np.array([keypoint.pt for keypoint in found], np.float32).reshape(-1, 2)
    # the order of equally strong points is not fixed, and a point may come with several orientations
    order = np.lexsort((histograms.sum(axis=1), xy[:, 1], xy[:, 0]))
    xy, histograms = xy[order], histograms[order]
    unit = histograms / np.maximum(histograms.sum(axis=1, keepdims=True), 1e-9)
    full = to_full(xy, grey, size or (grey.shape[1], grey.shape[0]))
    return Features(full.astype(np.float32), np.round(255 * np.sqrt(unit)).astype(np.uint8))


def match_features(a: Features, b: Features, F: NDArray[np.float64] | None = None) -> NDArray[np.int32]:
    """Indices (M, 2) of points that are nearest to each other and clearly nearer than the next.

    With a fundamental matrix from a to b, only points near their epipolar lines are compared: far more of
    them are then clearly nearest.
    """
    if min(len(a.xy), len(b.xy)) < _FEWEST:
        return np.zeros((0, 2), np.int32)
    one, two = (_unit(features.descriptors) for features in (a, b))
    similar = one @ two.T
    apart = None if F is None else _off_line(F, a.xy, b.xy) > _OFF_LINE
    if apart is not None:
        similar[apart] = -1
    rows = np.arange(len(similar))
    nearest = similar.argmax(axis=1)
    first = similar[rows, nearest]
    second = _second_best(similar, nearest, b.xy)
    near, next_near = (np.maximum(2 - 2 * value, _SAME) for value in (first, second))
    chosen = np.flatnonzero(near < _RATIO**2 * next_near)
    back = two[nearest[chosen]] @ one.T
    if apart is not None:
        back[apart[:, nearest[chosen]].T] = -1
    chosen = chosen[back.argmax(axis=1) == chosen]
    pairs = np.stack([chosen, nearest[chosen]], axis=1).astype(np.int32)
    return _one_per_place(pairs, a.xy, b.xy)


def _off_line(
    F: NDArray[np.float64], x: NDArray[np.floating], y: NDArray[np.floating]
) -> NDArray[np.float32]:
    """(N, M) px between points y and the epipolar lines of points x."""
    lines = np.column_stack([x, np.ones(len(x))]) @ F.T
    lines /= np.maximum(np.linalg.norm(lines[:, :2], axis=1, keepdims=True), 1e-12)
    return np.abs(lines.astype(np.float32) @ np.column_stack([y, np.ones(len(y))]).astype(np.float32).T)


def _unit(descriptors: NDArray[np.uint8]) -> NDArray[np.float32]:
    values = descriptors.astype(np.float32)
    return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-9)


def _second_best(
    similar: NDArray[np.float32], nearest: NDArray[np.int64], xy: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Similarity of each row's best column at another place than its nearest one; changes ``similar``."""
    rows = np.arange(len(similar))
    similar[rows, nearest] = -1
    rival = similar.argmax(axis=1)
    second = similar[rows, rival]
    # a point with two orientations is no rival of itself
    same = np.flatnonzero(np.linalg.norm(xy[rival] - xy[nearest], axis=1) < 0.5)
    similar[same, rival[same]] = -1
    second[same] = similar[same].max(axis=1)
    return second


def _one_per_place(
    pairs: NDArray[np.int32], a: NDArray[np.float32], b: NDArray[np.float32]
) -> NDArray[np.int32]:
    """Only one of the matches of a point that has several orientations."""
    keys = np.round(np.concatenate([a[pairs[:, 0]], b[pairs[:, 1]]], axis=1), 1)
    return pairs[np.sort(np.unique(keys, axis=0, return_index=True)[1])]
