"""Planes of the scene: what the sure matches of a level lie on, and where else it may go on.

A floor or a wall is found wherever it has texture. Where it is plain, over-exposed or seen at a slant that no
descriptor follows, the same plane still holds: so it is proposed there, as far as the picture's edges let
its evidence spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit, over_rows
from wideflow.geometry import PairGeometry
from wideflow.geometry.edge_aware import EdgeAware
from wideflow.geometry.pyramid import scale_between

Floats = NDArray[np.float32]

_MOST = 20  # planes
_TRIALS = 600  # guesses for each of them
_SAMPLE = 8  # matches that a guess is fitted to
_NEAR = 0.12  # how far around they lie, as a share of the picture's longest side
_INLIER = 1.0  # px of the level
_SMALLEST = 0.008  # share of the matches that lie on a plane worth its name
_POINTS = 5_000  # matches that are enough
_FLAT = 1e-15  # share of its size from which a determinant is not that of a singular matrix
_FEWEST = 200  # matches below which nothing is said


@dataclass(frozen=True, eq=False)
class Planes:
    """Planes that the matches of a level lie on.

    Attributes
    ----------
    homographies : (P, 3, 3) float64
        From the first picture to the second, in pixels of the level.
    supports : pair of (h, w, P) float32
        In either picture, the share of the evidence around a pixel that lies on each plane; (h, w, 0) where
        that was not asked for.
    """

    homographies: NDArray[np.float64]
    supports: tuple[Floats, Floats]

    def from_picture(self, i: int, shapes: list[tuple[int, ...]]) -> NDArray[np.float64]:
        """(P, 3, 3) from picture ``i`` to the other one, of pictures of these shapes.

        What they map to a third coordinate above 0 lies in front.
        """
        scales = [
            scale_between(mine.shape, theirs) for mine, theirs in zip(self.supports, shapes, strict=True)
        ]
        maps = scales[1] @ self.homographies @ np.linalg.inv(scales[0])
        if i == 1:
            maps = np.linalg.inv(maps)
        centre = np.array([shapes[i][1] / 2, shapes[i][0] / 2, 1.0])
        return np.asarray(maps * np.sign(maps[:, 2] @ centre)[:, None, None], np.float64)


def find_planes(
    geometry: PairGeometry,
    pictures: tuple[Floats, Floats],
    flows: Sequence[Floats],
    sure: Sequence[NDArray[np.bool_]],
    seed: int,
) -> Planes | None:
    """The largest planes that the sure matches of a level lie on; None if there are too few matches.

    Parameters
    ----------
    geometry : PairGeometry
        In pixels of the level.
    pictures : pair of (h, w, 3) float32
        Of both directions.
    flows : one or two of (h, w, 2) float32
        Of the first direction, and of the other one if its supports are wanted too.
    sure : as many (h, w) bool
        Matches to go by.
    seed : int
        Where chance starts.
    """
    y, x = np.nonzero(sure[0])
    if len(y) < _FEWEST:
        return None
    base, epipole = _transfer(geometry)
    thin = max(1, len(y) // _POINTS)
    y, x = y[::thin], x[::thin]
    pixels = np.stack([x, y], axis=1).astype(np.float64)
    rays, depth, px = relative_depth(base, epipole, pixels, flows[0][y, x])
    near = _NEAR * max(pictures[0].shape[:2])
    found = _largest(rays, depth, px, near, _SMALLEST * len(depth), seed)
    homographies = base + epipole[:, None] * found[:, None, :]
    # a plane through a camera's centre is a line in its picture
    sizes = np.linalg.norm(homographies, axis=(1, 2)) ** 3
    homographies = homographies[np.abs(np.linalg.det(homographies)) > _FLAT * sizes]
    if not len(homographies):
        return None
    back = np.asarray(np.linalg.inv(homographies), np.float64)
    other = np.empty((*pictures[1].shape[:2], 0), np.float32)
    if len(flows) > 1:
        other = _support(pictures[1], flows[1], sure[1], back)
    return Planes(homographies, (_support(pictures[0], flows[0], sure[0], homographies), other))


def _transfer(geometry: PairGeometry) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """H and e: a pixel x at relative inverse depth rho lies at H x + rho e in the second picture."""
    epipole = -geometry.epipoles[1] / np.linalg.norm(geometry.epipoles[1])
    if geometry.infinity is not None:
        return geometry.infinity / np.linalg.norm(geometry.infinity), epipole
    a, b, c = epipole
    base = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]]) @ geometry.F
    return base / np.linalg.norm(base), epipole


def relative_depth(
    H: NDArray[np.float64], e: NDArray[np.float64], pixels: NDArray[np.float64], flow: Floats
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Homogeneous pixels (N, 3), their relative inverse depths, and px by which the match moves for each."""
    rays = np.column_stack([pixels, np.ones(len(pixels))])
    there = np.column_stack([pixels + flow, np.ones(len(pixels))])
    start, line = np.cross(there, rays @ H.T), np.cross(there, e)
    depth = -(start * line).sum(axis=1) / np.maximum((line**2).sum(axis=1), 1e-30)
    q = rays @ H.T + depth[:, None] * e
    px = np.linalg.norm(e[:2] - e[2] * there[:, :2], axis=1) / np.maximum(np.abs(q[:, 2]), 1e-12)
    return rays, depth, px


def _support(
    picture: Floats, flow: Floats, sure: NDArray[np.bool_], homographies: NDArray[np.float64]
) -> Floats:
    height, width = sure.shape
    on = np.zeros((height, width, len(homographies) + 1), np.float32)
    _mark(height, flow, sure, homographies, on)
    EdgeAware(picture).spread(on)
    return on[..., :-1] / (on[..., -1:] + np.float32(1e-4))


@over_rows()
def _mark(first, end, flow, sure, homographies, on):
    """Which planes each sure match lies on; the last of ``on`` counts them all."""
    columns = sure.shape[1]
    for y in range(first, end):
        for x in range(columns):
            if not sure[y, x]:
                continue
            on[y, x, -1] = 1
            for k in range(len(homographies)):
                H = homographies[k]
                w = H[2, 0] * x + H[2, 1] * y + H[2, 2]
                if w == 0:
                    continue
                u = (H[0, 0] * x + H[0, 1] * y + H[0, 2]) / w - x - flow[y, x, 0]
                v = (H[1, 0] * x + H[1, 1] * y + H[1, 2]) / w - y - flow[y, x, 1]
                if u * u + v * v < _INLIER * _INLIER:
                    on[y, x, k] = 1


def _largest(
    rays: NDArray[np.float64],
    depth: NDArray[np.float64],
    px: NDArray[np.float64],
    near: float,
    smallest: float,
    seed: int,
) -> NDArray[np.float64]:
    """Planes (P, 3) in relative inverse depth, found one after the other among what is left."""
    planes: list[NDArray[np.float64]] = []
    for turn in range(2 * _MOST):
        if len(depth) < smallest or len(planes) == _MOST:
            break
        guesses = _guesses(rays, depth, px, near, seed + turn)
        # px by which each match is off, were it on the plane: p0 x + p1 y + p2 - depth, times px
        table = np.stack([px * rays[:, 0], px * rays[:, 1], px, px * depth]).astype(np.float32) / _INLIER
        scores = np.empty(len(guesses), np.float32)
        _scores(len(guesses), guesses.astype(np.float32), table, scores)
        if scores.max() < smallest / 2:
            break
        plane = guesses[scores.argmax()]
        for _ in range(3):
            on = px * np.abs(rays @ plane - depth) < _INLIER
            plane = _fitted(rays[on], depth[on], px[on]) if on.any() else plane
        on = px * np.abs(rays @ plane - depth) < _INLIER
        if not on.any():
            break
        if np.count_nonzero(on) >= smallest:
            planes.append(plane)
        rays, depth, px = rays[~on], depth[~on], px[~on]
    return np.array(planes).reshape(-1, 3)


def _fitted(
    rays: NDArray[np.float64], depth: NDArray[np.float64], px: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.asarray(np.linalg.lstsq(rays * px[:, None], depth * px, rcond=None)[0], np.float64)


def _guesses(
    rays: NDArray[np.float64], depth: NDArray[np.float64], px: NDArray[np.float64], near: float, seed: int
) -> NDArray[np.float64]:
    """(trials, 3): planes through some matches that lie close together."""
    normals, rights = np.zeros((_TRIALS, 3, 3)), np.zeros((_TRIALS, 3))
    taken = np.zeros(_TRIALS, np.int64)
    _gather(rays, depth, px, near, seed, normals, rights, taken)
    diagonals = np.einsum("tii->ti", normals)  # a view of them
    diagonals *= 1 + 1e-9
    # else they are one point
    told = (taken >= 4) & (np.abs(np.linalg.det(normals)) > _FLAT * diagonals.prod(axis=1))
    guesses = np.zeros((_TRIALS, 3))
    guesses[told] = np.linalg.solve(normals[told], rights[told, :, None])[..., 0]
    return guesses


@njit()
def _gather(rays, depth, px, near, seed, normals, rights, taken):
    """Normal equations of each guess, and of how many matches."""
    state = np.uint64(seed + 1)
    for trial in range(len(taken)):
        state, centre = _pick(state, len(depth))
        for _ in range(8 * _SAMPLE):
            state, i = _pick(state, len(depth))
            beside = abs(rays[i, 0] - rays[centre, 0]) < near and abs(rays[i, 1] - rays[centre, 1]) < near
            if beside and taken[trial] < _SAMPLE:
                weight = px[i] * px[i]
                for r in range(3):
                    rights[trial, r] += weight * rays[i, r] * depth[i]
                    for c in range(3):
                        normals[trial, r, c] += weight * rays[i, r] * rays[i, c]
                taken[trial] += 1


@over_rows()
def _scores(first, end, guesses, table, scores):
    """(trials,): how much lies on each plane; what is off by less counts more."""
    for trial in range(first, end):
        a, b, c = guesses[trial]
        score = np.float32(0)
        for i in range(table.shape[1]):
            off = a * table[0, i] + b * table[1, i] + c * table[2, i] - table[3, i]
            score += max(np.float32(0), np.float32(1) - off * off)
        scores[trial] = score


@njit(inline="always")
def _pick(state, count):
    state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return state, np.int64((state >> np.uint64(33)) % np.uint64(count))
