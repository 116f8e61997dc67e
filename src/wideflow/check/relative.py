"""Where the cameras stood to each other: lenses like a phone's and a pose for every moment, fitted together.

One pair of pictures cannot tell its lens and its angle apart: at 0.75 and 0.95 widths of focal length the
same matches say 5 and 9 degrees. Several moments with one lens each can, to some ten percent.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from wideflow.check.agreement import Agreement
from wideflow.geometry import sampson_distance

Floats = NDArray[np.float64]
Lens = tuple[float, float]  # focal length as a share of the longer side, and k1
_FOCAL = 0.87  # of the longer side: 60 degrees of view, as videos of phones have
# what a lens may differ by: logarithm of the focal length of A and B, k1 of A and B
_SPREAD = np.array([0.1, 0.1, 0.03, 0.03])
_NOISE = 0.25  # px of a match
_MOST = 300  # matches of a moment that are fitted


@dataclass(frozen=True, eq=False)
class Relative:
    """How both cameras stood to each other.

    Attributes
    ----------
    focal : (float, float)
        Of A and B, as shares of the longer side of their pictures.
    angles : (M,) float64
        Degrees between the rays to what both see, the median of each moment.
    rolls : (M,) float64
        Degrees by which B was turned about its viewing direction against A.
    error : float
        Median distance of the matches from their epipolar lines, px.
    lenses : (Lens, Lens)
        Of A and B.
    placed : tuple of Placed
        The moments that gave a pose.
    """

    focal: tuple[float, float]
    angles: Floats
    rolls: Floats
    error: float
    lenses: tuple[Lens, Lens]
    placed: tuple[Placed, ...]


@dataclass(frozen=True, eq=False)
class Placed:
    """A moment with the pose (R, t) of B: x_b = R x_a + t, in units of the distance between the cameras."""

    moment: Agreement
    R: Floats
    t: Floats


@dataclass(frozen=True, eq=False)
class _Pair:
    """A pose, and matches about the middles of their pictures, in shares of the longer sides."""

    x: Floats
    y: Floats
    R: Floats
    t: Floats


def fit_relative(moments: list[Agreement], focal: float = _FOCAL) -> Relative | None:
    """Fit the matches between A and B that agree, of all moments; None where no moment gives a pose.

    Lenses are sought around ``focal``, a share of the longer side.
    """
    started = [(moment, pair) for moment in moments if (pair := _start(moment, focal)) is not None]
    if not started:
        return None
    pairs = [pair for _, pair in started]
    unit = max(moments[0].first.grey.shape)

    def residuals(parameters: Floats) -> Floats:
        lenses = _lenses(parameters, focal)
        parts = [
            _off_lines(pair, lenses, *_moved(pair, step)) * (unit / _NOISE)
            for pair, step in zip(pairs, parameters[4:].reshape(-1, 5), strict=True)
        ]
        return np.concatenate(parts)

    def objective(parameters: Floats) -> Floats:
        # beyond a few spreads a match counts no more; the lens is pulled to what phones have
        error = residuals(parameters)
        soft = np.sign(error) * np.sqrt(np.log1p(error**2))
        return np.concatenate([soft, parameters[:4] / _SPREAD])

    start = np.zeros(4 + 5 * len(pairs))
    found = least_squares(objective, start, method="lm", max_nfev=12 * len(start)).x
    lenses = _lenses(found, focal)
    poses = [_moved(pair, step) for pair, step in zip(pairs, found[4:].reshape(-1, 5), strict=True)]
    return Relative(
        (lenses[0][0], lenses[1][0]),
        np.array([_ray_angle(pair, lenses, R) for pair, (R, _) in zip(pairs, poses, strict=True)]),
        np.array([np.degrees(np.arctan2(R[1, 0], R[0, 0])) for R, _ in poses]),
        float(np.median(np.abs(residuals(found)))) * _NOISE,
        lenses,
        tuple(Placed(moment, R, t) for (moment, _), (R, t) in zip(started, poses, strict=True)),
    )


def ideal_points(points: Floats, shape: tuple[int, ...], lens: Lens) -> Floats:
    """Ideal image points (n, 2) of pixels of a picture of the shape (h, w), seen through a lens."""
    return _ideal((points - (np.array(shape[1::-1]) - 1) / 2) / max(shape), lens)


def _start(moment: Agreement, focal: float) -> _Pair | None:
    chosen = np.flatnonzero(moment.on_lines)
    chosen = chosen[:: max(1, len(chosen) // _MOST)]
    x, y = (
        (points[chosen] - (np.array(grey.shape[::-1]) - 1) / 2) / max(grey.shape)
        for points, grey in ((moment.x, moment.first.grey), (moment.y, moment.second.grey))
    )
    rays = x / focal, y / focal
    near = 2 / (focal * max(moment.first.grey.shape))
    try:
        E, inliers = cv2.findEssentialMat(*rays, np.eye(3), cv2.USAC_MAGSAC, prob=0.999, threshold=near)
    except cv2.error:  # OpenCV 5 ends so where it finds no model at all
        return None
    if E is None or E.shape != (3, 3):
        return None
    # far points are as good as near ones, so none is too far
    _, R, t, _, _ = cv2.recoverPose(E, *rays, np.eye(3), distanceThresh=1e9, mask=inliers)
    return _Pair(x, y, R, t.ravel())


def _moved(pair: _Pair, step: Floats) -> tuple[Floats, Floats]:
    """The pose a small step away: three numbers turn the camera, two the direction to it."""
    axes = np.linalg.svd(pair.t[None])[2][1:]
    t = pair.t + step[3:] @ axes
    return cv2.Rodrigues(step[:3])[0] @ pair.R, t / np.linalg.norm(t)


def _lenses(parameters: Floats, around: float) -> tuple[Lens, Lens]:
    focal = around * np.exp(parameters[:2])
    return (float(focal[0]), float(parameters[2])), (float(focal[1]), float(parameters[3]))


def _ideal(points: Floats, lens: Lens) -> Floats:
    """Ideal image points of points about the middle: distortion undone to first order."""
    ideal = points / lens[0]
    return ideal * (1 - lens[1] * (ideal**2).sum(axis=1, keepdims=True))


def _off_lines(pair: _Pair, lenses: tuple[Lens, Lens], R: Floats, t: Floats) -> Floats:
    """Signed distance of the matches from their lines, in shares of the longer side."""
    E = np.array([[0, -t[2], t[1]], [t[2], 0, -t[0]], [-t[1], t[0], 0]]) @ R
    (focal_x, _), (focal_y, _) = lenses
    F = np.diag([1 / focal_y, 1 / focal_y, 1]) @ E @ np.diag([1 / focal_x, 1 / focal_x, 1])
    return sampson_distance(F, focal_x * _ideal(pair.x, lenses[0]), focal_y * _ideal(pair.y, lenses[1]))


def _ray_angle(pair: _Pair, lenses: tuple[Lens, Lens], R: Floats) -> float:
    rays = []
    for points, lens in ((pair.x, lenses[0]), (pair.y, lenses[1])):
        ray = np.concatenate([_ideal(points, lens), np.ones((len(points), 1))], axis=1)
        rays.append(ray / np.linalg.norm(ray, axis=1, keepdims=True))
    cosine = np.clip((rays[0] @ R.T * rays[1]).sum(axis=1), -1, 1)
    return float(np.degrees(np.median(np.arccos(cosine))))
