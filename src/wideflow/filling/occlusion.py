"""Which pixels does the other picture not show? (paper, section "Laplacian occlusion filling")"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.config import FillConfig
from wideflow.errors import InputError
from wideflow.geometry import forward_backward_error


def find_occluded(
    forward: NDArray[np.float32], backward: NDArray[np.float32], config: FillConfig | None = None
) -> NDArray[np.bool_]:
    """Pixels whose match cannot be trusted: hidden in the other picture, outside it, or mismatched.

    A pixel counts as seen if it passes the forward-backward check, and if it belongs to a surface of
    some size: a small island of smooth flow amid others agrees by chance. Swap the flows for the other
    direction.

    Parameters
    ----------
    forward : (H, W, 2) float
        Flow of the picture; NaN where unknown.
    backward : (H2, W2, 2) float
        Flow of the other picture, of any size.
    config : FillConfig, optional
        The default settings unless given.

    Returns
    -------
    (H, W) bool
    """
    config = FillConfig() if config is None else config
    flows = [np.ascontiguousarray(flow, np.float32) for flow in (forward, backward)]
    for flow in flows:
        if flow.ndim != 3 or flow.shape[2] != 2:
            raise InputError(f"a flow field must have shape (H, W, 2), not {flow.shape}")
    seen = forward_backward_error(flows[0], flows[1]) <= config.threshold
    seen = _without_islands(flows[0], seen, config.island, config.island_step)
    occluded = ~seen
    occluded = _without_islands(np.zeros_like(flows[0]), occluded, config.hole, 0.0)
    if config.closing:
        import cv2

        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * config.closing + 1,) * 2)
        closed = cv2.morphologyEx(occluded.astype(np.uint8), cv2.MORPH_CLOSE, disc)
        occluded = np.asarray(closed, np.bool_)
    return occluded


def _without_islands(
    flow: NDArray[np.float32], mask: NDArray[np.bool_], share: float, step: float
) -> NDArray[np.bool_]:
    """The mask less its parts below a share of the picture; a step of flow separates neighbours."""
    kept = mask.copy()
    _remove_islands(flow, kept, share * mask.size, step)
    return kept


@njit()
def _remove_islands(flow: NDArray[Any], mask: NDArray[Any], smallest: float, step: float) -> None:
    height, width = mask.shape
    visited = np.zeros((height, width), np.bool_)
    queue = np.empty(height * width, np.int64)
    for origin in range(height * width):
        if visited[origin // width, origin % width] or not mask[origin // width, origin % width]:
            continue
        queue[0] = origin
        visited[origin // width, origin % width] = True
        count, i = 1, 0
        while i < count:
            y, x = queue[i] // width, queue[i] % width
            for k in range(4):
                ny, nx = y + (k == 0) - (k == 1), x + (k == 2) - (k == 3)
                if not (0 <= ny < height and 0 <= nx < width) or visited[ny, nx] or not mask[ny, nx]:
                    continue
                du, dv = flow[ny, nx, 0] - flow[y, x, 0], flow[ny, nx, 1] - flow[y, x, 1]
                if du * du + dv * dv <= step * step:
                    visited[ny, nx] = True
                    queue[count] = ny * width + nx
                    count += 1
            i += 1
        if count < smallest:
            for i in range(count):
                mask[queue[i] // width, queue[i] % width] = False
