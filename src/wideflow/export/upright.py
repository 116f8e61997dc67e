"""The world turned so that up is up: for formats whose programs have y upwards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.storage.result import Result


def upright(result: Result, moments: range) -> NDArray[np.float64]:
    """Rotation (3, 3) after which camera A's mean up is +y and it looks along -z, as viewers do."""
    views = [result.frame(t).views[0] for t in moments]
    up = np.sum([-view.R[1] for view in views], axis=0)
    forward = np.sum([view.R[2] for view in views], axis=0)
    right = np.cross(forward, up)
    if min(np.linalg.norm(up), np.linalg.norm(right)) < 1e-6 * len(views):  # it turned over: as it began
        right, up = views[0].R[0], -views[0].R[1]
    y = up / np.linalg.norm(up)
    x = right / np.linalg.norm(right)
    return np.stack([x, y, np.cross(x, y)])
