"""What many pictures say about the depth of one: evidence over time.

Each camera sees what stands still again and again, from places some centimetres apart. A volume over inverse
depth, at a small size, finds the region of every pixel's depth; its other pictures, drawn through that depth
at full size, then sharpen it. Things that move are not found this way: that is what the pair is for.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from wideflow.config import EvidenceConfig
from wideflow.evidence.aggregate import best_depths
from wideflow.evidence.choose import choose_views
from wideflow.evidence.glimpse import Floats, Glimpse
from wideflow.evidence.sharpen import sharpened
from wideflow.evidence.volume import cost_volume
from wideflow.geometry import transfer
from wideflow.types import DepthOverTime

__all__ = ["DepthOverTime", "Glimpse", "choose_views", "depth_over_time", "rough_depth"]
FEWEST = 4  # other pictures below which there is no evidence worth its name


def depth_over_time(
    here: Glimpse, others: Sequence[Glimpse], near: float, far: float, config: EvidenceConfig | None = None
) -> DepthOverTime:
    """Depth of every pixel from other pictures of known cameras.

    Parameters
    ----------
    here : Glimpse
        The picture.
    others : sequence of Glimpse
        Pictures of the same world from other places, of this camera or another.
    near, far : float
        Depths to look between, world units.
    config : EvidenceConfig, optional
        The default settings unless given.
    """
    config = EvidenceConfig() if config is None else config
    full = here.grey.shape
    others = list(others)
    if len(others) < FEWEST or not 0 < near < far:
        return DepthOverTime.nothing((full[0], full[1]))
    inverse, step, halvings = rough_depth(here, others, near, far, config)
    # the step of a coarser level is larger than what is left on a finer one
    for level in range(max(0, halvings - 1), -1, -1):
        size = -(-full[0] // 2**level), -(-full[1] // 2**level)
        inverse = cv2.resize(inverse, size[::-1], interpolation=cv2.INTER_LINEAR)
        inverse, deviation, unlike = sharpened(here, others, inverse, step, config)
    lowest = np.float32(1 / far / 2)
    return DepthOverTime(np.maximum(inverse, lowest), deviation, unlike)


def rough_depth(
    here: Glimpse, others: Sequence[Glimpse], near: float, far: float, config: EvidenceConfig
) -> tuple[Floats, float, int]:
    """Inverse depth at the small size of the volume, to about a step of it.

    Returns
    -------
    inverse : (h, w) float32
    step : float
        Between two inverse depths that were tried.
    halvings : int
        How often the picture was halved.
    """
    full = here.grey.shape
    others = list(others)
    halvings = max(0, int(np.ceil(np.log2(max(full) / config.size))))
    shape = -(-full[0] // 2**halvings), -(-full[1] // 2**halvings)
    depths = _inverse_depths(here, others, near, far, shape, config)
    volume = cost_volume(here, others, depths, shape, config)
    best = best_depths(volume, here.brightness(shape), config)
    del volume
    step = depths[1] - depths[0]
    inverse = cv2.medianBlur((depths[0] + step * best).astype(np.float32), 3)
    return inverse, float(step), halvings


def _inverse_depths(
    here: Glimpse,
    others: Sequence[Glimpse],
    near: float,
    far: float,
    shape: tuple[int, int],
    config: EvidenceConfig,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Evenly spaced, so that the widest view moves by about a pixel from one to the next."""
    corners = np.array([[x, y, 1.0] for x in (0, shape[1] - 1) for y in (0, shape[0] - 1)])
    longest = 0.0
    for other in others:
        H, e = transfer(here.at(shape), other.at(shape))
        ends = []
        for inverse in (1 / far, 1 / near):
            q = corners @ H.T + inverse * e
            ends.append(q[:, :2] / np.maximum(q[:, 2:], 1e-9))
        longest = max(longest, float(np.median(np.linalg.norm(ends[1] - ends[0], axis=1))))
    steps = int(np.clip(np.ceil(longest), config.fewest_steps, config.most_steps))
    return np.linspace(1 / far, 1 / near, steps)
