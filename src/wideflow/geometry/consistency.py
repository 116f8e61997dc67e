"""Do the two directions of a match agree? (paper, section "Laplacian occlusion filling")"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def forward_backward_error(
    forward: NDArray[np.float32], backward: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Distance in pixels between a pixel and where the forward, then the backward flow takes it.

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
    from wideflow.geometry.forward_backward import write_errors  # compiled: loaded only when needed

    error = np.empty(forward.shape[:2], np.float32)
    write_errors(np.ascontiguousarray(forward), np.ascontiguousarray(backward), error)
    return error
