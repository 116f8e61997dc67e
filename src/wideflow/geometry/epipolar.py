"""Epipolar geometry of two pinhole views, with signs that mean something.

Epipoles are oriented: with b = C2 - C1 they are e1 = K1 R1 b and e2 = K2 R2 b as homogeneous vectors, and
e_xy - e_w x is the image of a step along +b at pixel x. It means the same in both pictures for every point
in front of both cameras, wherever the epipoles lie. Lens distortion is not considered: undistort first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import InputError
from wideflow.types import View

Floats = NDArray[np.float64]


def fundamental_matrix(view1: View, view2: View) -> Floats:
    """F with y^T F x = 0 for the pixels x, y of one point in views 1 and 2.

    Parameters
    ----------
    view1, view2 : View
        Pinhole views of any two sizes.

    Returns
    -------
    (3, 3) float64
        Of unit Frobenius norm; its sign is such that F x is a positive multiple of cross(e2, y), and F^T y
        one of cross(x, e1), for the oriented epipoles and every point in front of both cameras.
    """
    step = view2.R @ _base(view1, view2)
    cross = np.cross(np.eye(3), step)  # [step]_x
    K1_inverse, K2_inverse = np.linalg.inv(view1.camera.K), np.linalg.inv(view2.camera.K)
    F = K2_inverse.T @ cross @ (view2.R @ view1.R.T) @ K1_inverse
    return F / np.linalg.norm(F)


def oriented_epipoles(view1: View, view2: View) -> tuple[Floats, Floats]:
    """The images of the base line's direction in both views.

    Parameters
    ----------
    view1, view2 : View
        Pinhole views of any two sizes.

    Returns
    -------
    e1, e2 : (3,) float64
        Homogeneous pixels of unit length: K1 R1 b and K2 R2 b with b = C2 - C1. The sign matters.
    """
    b = _base(view1, view2)
    e1, e2 = (view.camera.K @ view.R @ b for view in (view1, view2))
    return e1 / np.linalg.norm(e1), e2 / np.linalg.norm(e2)


def oriented_epipoles_from_fundamental(
    F: ArrayLike, matches1: ArrayLike, matches2: ArrayLike
) -> tuple[Floats, Floats]:
    """Oriented epipoles of a fundamental matrix whose cameras are unknown.

    An epipole from a singular vector has a random sign. For a true match the line F x, which has a direction,
    runs along the oriented epipolar direction at y, not against it. Every match votes with the cosine between
    the two, so that a minority of wrong ones does no harm.

    Parameters
    ----------
    F : (3, 3) array_like
        y^T F x = 0.
    matches1, matches2 : (N, 2) array_like
        Corresponding pixels x and y; those that are not finite are left out.

    Returns
    -------
    e1, e2 : (3,) float64
        Of unit length. The common sign of the two follows that of F (b and -b cannot be told apart without
        cameras); for an F of :func:`fundamental_matrix` they are :func:`oriented_epipoles`.
    """
    F = np.asarray(F, dtype=np.float64)
    x, y = np.asarray(matches1, dtype=np.float64), np.asarray(matches2, dtype=np.float64)
    if F.shape != (3, 3) or not np.isfinite(F).all():
        raise InputError(f"the fundamental matrix must be 3 x 3 and finite, not {F.shape}")
    if x.ndim != 2 or x.shape[1] != 2 or x.shape != y.shape:
        raise InputError(f"matches must be two lists of as many pixels, not {x.shape} and {y.shape}")
    known = np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    x, y = x[known], y[known]
    U, _, Vt = np.linalg.svd(F)
    e1 = Vt[2] * _vote(_line_directions(F.T, y), -epipolar_directions(Vt[2], x))
    e2 = U[:, 2] * _vote(_line_directions(F, x), epipolar_directions(U[:, 2], y))
    return e1, e2


def epipolar_directions(epipole: ArrayLike, pixels: ArrayLike) -> Floats:
    """Direction of the epipolar line through each pixel.

    Parameters
    ----------
    epipole : (3,) array_like
        Oriented homogeneous epipole of the picture.
    pixels : (..., 2) array_like
        A list or a whole :func:`~wideflow.geometry.pixel_grid`.

    Returns
    -------
    (..., 2) float64
        Unit vectors e_xy - e_w x; zero at the epipole itself, where there is no direction.
    """
    epipole = np.asarray(epipole, dtype=np.float64)
    direction = epipole[:2] - epipole[2] * np.asarray(pixels, dtype=np.float64)
    length = np.sqrt(direction[..., 0] ** 2 + direction[..., 1] ** 2)
    rounding = 1e-12 * np.abs(epipole[:2]).max()
    length = np.where(length <= rounding, np.inf, length)
    return direction / length[..., None]


def sampson_distance(F: ArrayLike, x: ArrayLike, y: ArrayLike) -> Floats:
    """Signed Sampson distance of matches to the epipolar geometry: the root of the paper's eq. 4, unweighted.

    Parameters
    ----------
    F : (3, 3) or (T, 3, 3) array_like
        One fundamental matrix, or T of them, of any scale.
    x, y : (..., 2) array_like
        Pixels in pictures 1 and 2; for T matrices (N, 2), or (T, N, 2) where they differ.

    Returns
    -------
    (...) float64
        Pixels, of one sign on either side of the line; zero where x and y are both epipoles.
    """
    F = np.asarray(F, dtype=np.float64)
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    line2, line1 = _lines(F, x), _lines(np.swapaxes(F, -1, -2), y)
    residual = y[..., 0] * line2[..., 0] + y[..., 1] * line2[..., 1] + line2[..., 2]
    slope = line2[..., 0] ** 2 + line2[..., 1] ** 2 + line1[..., 0] ** 2 + line1[..., 1] ** 2
    rounding = 1e-28 * (np.sum(F[..., :2, 2] ** 2, axis=-1) + np.sum(F[..., 2, :2] ** 2, axis=-1))
    limit = rounding if F.ndim == 2 else rounding[:, None]
    return np.asarray(residual / np.sqrt(np.where(slope <= limit, np.inf, slope)))


def _base(view1: View, view2: View) -> Floats:
    """C2 - C1 in world units, (3,)."""
    b = view2.centre - view1.centre
    if np.linalg.norm(b) <= 1e-12 * max(np.linalg.norm(view1.centre), np.linalg.norm(view2.centre)):
        raise InputError(
            f"cameras '{view1.camera.name}' and '{view2.camera.name}' stand at the same place, "
            "so there is no epipolar geometry between them; check the poses of the rig"
        )
    return b


def _lines(F: Floats, pixels: Floats) -> Floats:
    """The lines F x of pixels (..., 2), as (..., 3)."""
    offset = F[:, 2] if F.ndim == 2 else F[:, None, :, 2]
    return pixels @ np.swapaxes(F[..., :2], -1, -2) + offset


def _line_directions(F: Floats, pixels: Floats) -> Floats:
    """Unit directions of the lines F x, (N, 2): the line (a, b, c) runs along (-b, a)."""
    line = _lines(F, pixels)
    direction = np.stack([-line[:, 1], line[:, 0]], axis=-1)
    length = np.linalg.norm(direction, axis=-1, keepdims=True)
    return direction / np.where(length > 0, length, np.inf)


def _vote(line: Floats, direction: Floats) -> float:
    vote = float(np.sum(line * direction))
    if vote == 0:
        raise InputError("no match fixes the direction of the epipolar lines; give at least one good match")
    return float(np.sign(vote))
