"""Does a lens zoom during a clip, also while the camera moves?

At one moment both cameras give points of the scene in space. At another moment the camera is sought that sees
those points where its picture has them, with a focal length (and a middle) of its own: a camera that comes
nearer moves near points more than far ones, a zoom moves all alike. What moves by itself is outvoted.

With a wrong lens, coming nearer looks like a zoom, the one way or the other as the lens is longer or shorter
than thought. So everything is done with the shortest and with the longest lens that phones have, and only
what both say counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from wideflow.check.agreement import Agreement
from wideflow.check.moments import Still
from wideflow.check.relative import Lens, Placed, Relative, fit_relative, ideal_points
from wideflow.geometry.features import match_features

Floats = NDArray[np.float64]

_FEWEST = 40  # points that must agree
_COARSE = 0.012  # of the longer side within which points agree before the lens is free
_NOISE = 0.4  # px that a point is off by, of a picture as it is looked at
_SURE = 2.0  # deviations that a change must exceed
_WIDER = 2.0  # times what independent errors would give: points err alike
_SHORTEST, _LONGEST = 0.65, 1.15  # focal lengths of phones' videos, as shares of the longer side
_VAGUE = 0.03  # deviation of a focal length above which it tells nothing


@dataclass(frozen=True)
class LensChange:
    """How much a camera's lens changes over the moments looked at, beyond what chance explains.

    Attributes
    ----------
    zoom : float
        Largest factor between the focal lengths of two moments; 1 for none.
    moments : int
        Moments that were compared; with none nothing is known.
    """

    zoom: float = 1.0
    moments: int = 0


def lens_changes(both: list[tuple[Still, Still]], moments: list[Agreement]) -> tuple[LensChange, LensChange]:
    """Of A and of B, by their pictures at the same moments, and those at which they agree."""
    # one moment alone: lenses that change would bend what all of them say together
    middle = moments[len(moments) // 2 :][:1]
    fits = [fit_relative(middle, focal) for focal in (_SHORTEST, _LONGEST)]
    known = [fit for fit in fits if fit is not None]
    if len(known) < len(fits):
        return LensChange(), LensChange()
    a, b = (_of_camera(known, camera, [pair[camera] for pair in both]) for camera in (0, 1))
    return a, b


def _of_camera(fits: list[Relative], camera: int, stills: list[Still]) -> LensChange:
    moment = fits[0].placed[0].moment
    here = (moment.first, moment.second)[camera]
    own = (moment.x, moment.y)[camera][moment.on_lines]
    clouds = [_points(fit.placed[0], fit, camera) for fit in fits]
    kept = np.all([ahead for _, ahead in clouds], axis=0)
    number = {tuple(xy): i for i, xy in enumerate(own.tolist()) if kept[i]}
    found, deviations = [np.zeros(len(fits))], [np.zeros(len(fits))]
    for other in stills:
        if other.index == here.index:
            continue
        pairs = match_features(here.points, other.points)
        rows = [(number.get(tuple(here.points.xy[i].astype(np.float64).tolist())), j) for i, j in pairs]
        both = [(i, j) for i, j in rows if i is not None]
        if len(both) < _FEWEST:
            continue
        chosen, there = np.array(both).T
        xy, shape = other.points.xy[there].astype(np.float64), other.grey.shape
        each = [
            _resected(points[chosen], xy, fit.lenses[camera], shape)
            for (points, _), fit in zip(clouds, fits, strict=True)
        ]
        sure = [one for one in each if one is not None and one[1] < _VAGUE]
        if len(sure) == len(fits):
            found.append(np.array([change for change, _ in sure]))
            deviations.append(np.array([deviation for _, deviation in sure]))
    if len(found) == 1:
        return LensChange()
    return LensChange(_largest(np.array(found), np.array(deviations)), len(found) - 1)


def _points(placed: Placed, relative: Relative, camera: int) -> tuple[Floats, NDArray[np.bool_]]:
    """What both cameras see at one moment, in the frame of one of them, and which of it is ahead of both."""
    chosen, rays = placed.moment.on_lines, []
    for points, still, lens in zip(
        (placed.moment.x, placed.moment.y),
        (placed.moment.first, placed.moment.second),
        relative.lenses,
        strict=True,
    ):
        ideal = ideal_points(points[chosen], still.grey.shape, lens)
        rays.append(np.column_stack([ideal, np.ones(len(ideal))]))
    # depth1 R ray1 + t = depth2 ray2
    turned = rays[0] @ placed.R.T
    normal = np.cross(turned, rays[1])
    squared = (normal**2).sum(axis=1)
    depth = (np.cross(rays[1], placed.t) * normal).sum(axis=1) / np.maximum(squared, 1e-18)
    in_a = rays[0] * depth[:, None]
    in_b = in_a @ placed.R.T + placed.t
    return (in_a, in_b)[camera], (depth > 0) & (in_b[:, 2] > 0)


def _resected(points: Floats, xy: Floats, lens: Lens, shape: tuple[int, ...]) -> tuple[float, float] | None:
    """Change of the log focal length of a picture that sees points (n, 3) at xy, and its deviation."""
    unit = max(shape)
    ideal = ideal_points(xy, shape, lens)
    near = _COARSE / lens[0]
    try:
        ok, rotation, shift, inliers = cv2.solvePnPRansac(
            points, ideal, np.eye(3), None, iterationsCount=500, reprojectionError=near, confidence=0.9999,
            flags=cv2.SOLVEPNP_SQPNP,
        )  # fmt: skip
    except cv2.error:
        return None
    if not ok or inliers is None or len(inliers) < _FEWEST:
        return None
    points, ideal = points[inliers.ravel()], ideal[inliers.ravel()]
    noise = _NOISE / (lens[0] * unit)

    def residuals(values: Floats) -> Floats:
        seen = points @ cv2.Rodrigues(values[:3])[0].T + values[3:6]
        with np.errstate(divide="ignore", invalid="ignore"):
            image = np.exp(values[6]) * seen[:, :2] / np.maximum(seen[:, 2:], 1e-6) + values[7:9] / lens[0]
        return ((image - ideal) / noise).ravel()

    start = np.concatenate([rotation.ravel(), shift.ravel(), np.zeros(3)])
    found = least_squares(residuals, start, loss="cauchy", method="trf", x_scale="jac", max_nfev=100)
    off = np.abs(residuals(found.x)).reshape(-1, 2).max(axis=1)
    good = np.repeat(off < 4, 2)
    if np.count_nonzero(off < 4) < _FEWEST:
        return None
    J = found.jac[good]  # of the loss: less than that of the residuals where these are large
    try:
        covariance = np.linalg.inv(J.T @ J)
    except np.linalg.LinAlgError:
        return None
    scale = max(1.0, 1.5 * float(np.median(off[off < 4])))
    return float(found.x[6]), _WIDER * scale * float(np.sqrt(covariance[6, 6]))


def _largest(values: Floats, deviations: Floats) -> float:
    """The largest factor between two moments (rows), less what chance may make of it, that all columns have.

    ``values`` are logarithms.
    """
    apart = values[:, None] - values[None]
    chance = _SURE * np.hypot(deviations[:, None], deviations[None])
    grows, shrinks = ((sign * apart - chance).min(axis=2) for sign in (1, -1))
    return float(np.exp(max(grows.max(), shrinks.max(), 0.0)))
