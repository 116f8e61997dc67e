"""A flow that is locally affine: what surfaces do that are not parallel to the picture.

Around each pixel a plane is fitted to the flow of reliable pixels, near ones on the same side of the
picture's edges counting most. Its slope says how a floor or a wall is sheared from one picture to the other,
so that its descriptors can be laid along it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import over_rows
from wideflow.geometry.edge_aware import EdgeAware
from wideflow.geometry.vectors import lengths

_ROUNDS = 2
_STEEPEST = 2.0  # px of flow per px
_STRETCH = 3.0  # most that a surface grows or shrinks from one picture to the other
_RIDGE = 1.0  # px: evidence narrower than this tells no slope
_INLIER = 1.0  # px of the level


@dataclass(frozen=True, eq=False)
class Slant:
    """An affine model of the flow at every pixel.

    Attributes
    ----------
    flow : (h, w, 2) float32
    slope : (h, w, 2, 2) float32
        Derivative of the flow (rows u, v) by x and y.
    """

    flow: NDArray[np.float32]
    slope: NDArray[np.float32]

    def enlarged(self, height: int, width: int) -> Slant:
        """The same at twice the size."""
        flow, slope = np.empty((height, width, 2), np.float32), np.empty((height, width, 2, 2), np.float32)
        _enlarge(height, self.flow, self.slope, flow, slope)
        return Slant(flow, slope)

    def frames(self, epipole: NDArray[np.float64] | None) -> NDArray[np.float32]:
        """Axes (h, w, 2, 2) of descriptors that see a slanted surface as the target's descriptors do.

        The target's lie towards its ``epipole`` (3,), or upright for None.
        """
        frames = np.empty((*self.flow.shape[:2], 2, 2), np.float32)
        _frames(len(frames), self.flow, self.slope, np.zeros(3) if epipole is None else epipole, frames)
        return frames


def level_frames(height: int, width: int, epipole: NDArray[np.float64] | None) -> NDArray[np.float32]:
    """Axes (h, w, 2, 2) along and across the lines to the picture's own epipole, or upright for None."""
    still = Slant(np.zeros((height, width, 2), np.float32), np.zeros((height, width, 2, 2), np.float32))
    return still.frames(epipole)


def fit_slant(picture: NDArray[np.float32], flow: NDArray[np.float32], weight: NDArray[np.float32]) -> Slant:
    """Fit an affine flow around every pixel.

    Parameters
    ----------
    picture : (h, w, 3) float32
        Its edges part the evidence.
    flow : (h, w, 2) float32
        Right, up to noise, where it is trusted.
    weight : (h, w) float32
        How much each pixel's flow is trusted; 0 for not at all.
    """
    height, width = weight.shape
    kept = EdgeAware(picture)
    grid = np.empty((height, width, 2), np.float32)
    grid[..., 0], grid[..., 1] = np.arange(width) - width / 2, (np.arange(height) - height / 2)[:, None]
    trust = weight.astype(np.float32)
    model = np.empty((height, width, 6), np.float32)
    for _ in range(_ROUNDS):
        moments = np.empty((height, width, 12), np.float32)
        _moments(height, grid, flow, trust, moments)
        kept.spread(moments)
        _solve(height, moments, grid, np.float32(_RIDGE), np.float32(_STEEPEST), model)
        residual = lengths(flow - model[..., :2])
        trust = weight / (1 + (residual / _INLIER) ** 2)
    slope = np.ascontiguousarray(model[..., 2:]).reshape(height, width, 2, 2)
    return Slant(np.ascontiguousarray(model[..., :2]), slope)


@over_rows()
def _moments(first, end, grid, flow, weight, out):
    columns = weight.shape[1]
    for r in range(first, end):
        for c in range(columns):
            w = weight[r, c] + np.float32(1e-6)
            x, y, u, v = grid[r, c, 0], grid[r, c, 1], flow[r, c, 0], flow[r, c, 1]
            o = out[r, c]
            o[0], o[1], o[2] = w, w * x, w * y
            o[3], o[4], o[5] = w * x * x, w * x * y, w * y * y
            o[6], o[7], o[8] = w * u, w * u * x, w * u * y
            o[9], o[10], o[11] = w * v, w * v * x, w * v * y


@over_rows()
def _solve(first, end, moments, grid, ridge, steepest, model):
    columns = moments.shape[1]
    for r in range(first, end):
        for c in range(columns):
            m = moments[r, c]
            w = m[0]
            x, y = m[1] / w, m[2] / w
            xx, xy, yy = m[3] / w - x * x, m[4] / w - x * y, m[5] / w - y * y
            xx, yy = xx + ridge * ridge, yy + ridge * ridge
            det = xx * yy - xy * xy
            for k in range(2):
                u = m[6 + 3 * k] / w
                ux, uy = m[7 + 3 * k] / w - u * x, m[8 + 3 * k] / w - u * y
                a = (ux * yy - uy * xy) / det
                b = (uy * xx - ux * xy) / det
                a = min(max(a, -steepest), steepest)
                b = min(max(b, -steepest), steepest)
                model[r, c, k] = u + a * (grid[r, c, 0] - x) + b * (grid[r, c, 1] - y)
                model[r, c, 2 + 2 * k], model[r, c, 3 + 2 * k] = a, b


@over_rows()
def _enlarge(first, end, flow, slope, large_flow, large_slope):
    columns = large_flow.shape[1]
    for y in range(first, end):
        r = min(y // 2, flow.shape[0] - 1)
        dy = np.float32((y - 0.5) / 2 - r)
        for x in range(columns):
            c = min(x // 2, flow.shape[1] - 1)
            dx = np.float32((x - 0.5) / 2 - c)
            for k in range(2):
                a, b = slope[r, c, k, 0], slope[r, c, k, 1]
                large_flow[y, x, k] = 2 * (flow[r, c, k] + a * dx + b * dy)
                large_slope[y, x, k, 0], large_slope[y, x, k, 1] = a, b


@over_rows()
def _frames(first, end, flow, slope, epipole, frames):
    columns = flow.shape[1]
    for y in range(first, end):
        for x in range(columns):
            tx, ty = x + flow[y, x, 0], y + flow[y, x, 1]
            c, s = epipole[0] - epipole[2] * tx, epipole[1] - epipole[2] * ty
            norm = np.sqrt(c * c + s * s)
            c, s = (c / norm, s / norm) if norm > 0 else (1.0, 0.0)
            a, b = 1 + slope[y, x, 0, 0], slope[y, x, 0, 1]
            p, q = slope[y, x, 1, 0], 1 + slope[y, x, 1, 1]
            det = a * q - b * p
            if det < 1 / _STRETCH or det > _STRETCH:  # no surface looks so: take it as parallel
                a, b, p, q, det = 1.0, 0.0, 0.0, 1.0, 1.0
            # the flow takes a step here to (1 + slope) times it there; this is its inverse
            frames[y, x, 0, 0], frames[y, x, 0, 1] = (q * c - b * s) / det, (-q * s - b * c) / det
            frames[y, x, 1, 0], frames[y, x, 1, 1] = (a * s - p * c) / det, (p * s + a * c) / det
