"""The compiled part of `wideflow.geometry.consistency`."""

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import over_rows


def write_errors(
    forward: NDArray[np.float32], backward: NDArray[np.float32], error: NDArray[np.float32]
) -> None:
    """Write the forward-backward error of each pixel; the arrays are those of `forward_backward_error`."""
    _write_errors(len(error), forward, backward, error)


@over_rows()
def _write_errors(
    first: int,
    end: int,
    forward: NDArray[np.float32],
    backward: NDArray[np.float32],
    error: NDArray[np.float32],
) -> None:
    columns = error.shape[1]
    for y in range(first, end):
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
