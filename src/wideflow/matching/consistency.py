"""Do the two directions of a match agree? (paper, section "Laplacian occlusion filling")"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray


def forward_backward_error(
    forward: NDArray[np.float32], backward: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Distance in pixels between a pixel and where the way there and back ends.

    Parameters
    ----------
    forward : (H, W, 2) float32
        NaN where unknown.
    backward : (H2, W2, 2) float32
        The pictures may differ in size. The backward flow is read at the nearest pixel, never interpolated
        across an occlusion edge.

    Returns
    -------
    (H, W) float32
        Infinite where the match leaves the other picture or is unknown.
    """
    error = np.empty(forward.shape[:2], np.float32)
    _round_trip(np.ascontiguousarray(forward), np.ascontiguousarray(backward), error)
    return error


@njit(parallel=True, cache=True)
def _round_trip(forward, backward, error):
    rows, columns = error.shape
    for y in prange(rows):
        for x in range(columns):
            u, v = forward[y, x, 0], forward[y, x, 1]
            error[y, x] = np.inf
            if not (np.isfinite(u) and np.isfinite(v)):
                continue
            tx, ty = int(np.floor(x + u + 0.5)), int(np.floor(y + v + 0.5))
            if 0 <= tx < backward.shape[1] and 0 <= ty < backward.shape[0]:
                du, dv = u + backward[ty, tx, 0], v + backward[ty, tx, 1]
                e = np.sqrt(du * du + dv * dv)
                if np.isfinite(e):
                    error[y, x] = e
