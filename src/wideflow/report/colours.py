"""Colour codes: the Middlebury wheel for flow, a perceptual map for depth. Unknown is black in both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.types import Array

# Steps from red over yellow, green, cyan, blue and magenta back to red, chosen after what eyes can tell
# apart: S. Baker et al., "A database and evaluation methodology for optical flow", IJCV 2011.
_STEPS = (15, 6, 4, 11, 13, 6)
_CORNERS = np.array(
    [[255, 0, 0], [255, 255, 0], [0, 255, 0], [0, 255, 255], [0, 0, 255], [255, 0, 255], [255, 0, 0]]
)


def _hues() -> NDArray[np.float64]:
    """The 55 colours of the wheel, (55, 3) in 0..1; whole steps of 1/255 as in the reference."""
    parts = []
    for steps, start, stop in zip(_STEPS, _CORNERS[:-1], _CORNERS[1:], strict=True):
        moved = np.floor(255 * np.arange(steps)[:, None] / steps)
        parts.append(start + np.sign(stop - start) * moved)
    return np.concatenate(parts) / 255


def flow_colours(uv: Array, max_magnitude: float | None = None) -> NDArray[np.uint8]:
    """Colour code of a flow field: direction is hue, length is saturation.

    No motion is white; right is red, down yellow, left light blue, up violet.

    Parameters
    ----------
    uv : (H, W, 2) float
        Flow in pixels, (x, y).
    max_magnitude : float, optional
        Length in pixels of full saturation; longer flow is darkened. The longest in ``uv`` by default.

    Returns
    -------
    (H, W, 3) uint8
        RGB; black where the flow is NaN or infinite.
    """
    if uv.ndim != 3 or uv.shape[2] != 2:
        raise InputError(f"a flow field must have shape (H, W, 2), not {uv.shape}")
    if max_magnitude is not None and not max_magnitude > 0:
        raise InputError(f"max_magnitude of a flow picture must be positive, not {max_magnitude}")
    known = np.asarray(np.isfinite(uv).all(axis=2))
    u, v = np.where(known[:, :, None], uv, 0).astype(np.float64).transpose(2, 0, 1)
    length = np.hypot(u, v)
    radius = (length / (max_magnitude or length.max(initial=0) or 1.0))[:, :, None]

    hues = _hues()
    # v + 0 turns -0 into 0: the wheel is cut at "right", and the sign of a zero would choose the side.
    position = (np.arctan2(-(v + 0.0), -u) / np.pi + 1) / 2 * (len(hues) - 1)
    below = np.floor(position).astype(np.intp)
    weight = (position - below)[:, :, None]
    hue = (1 - weight) * hues[below] + weight * hues[(below + 1) % len(hues)]

    colour = np.where(radius <= 1, 1 - radius * (1 - hue), 0.75 * hue)
    return np.where(known[:, :, None], np.floor(255 * colour), 0).astype(np.uint8)


def flow_wheel(size: int) -> NDArray[np.uint8]:
    """The wheel itself, as the legend beside a flow picture.

    Parameters
    ----------
    size : int
        Width and height in pixels; the disc touches all four sides.

    Returns
    -------
    (size, size, 3) uint8
        The colour at each place is that of the flow from the centre to it; white outside the disc.
    """
    if size < 1:
        raise InputError(f"the flow wheel must have a size of at least 1 pixel, not {size}")
    offset = (np.arange(size) - (size - 1) / 2) / (size / 2)
    uv = np.stack(np.meshgrid(offset, offset), axis=2)
    colours = flow_colours(uv, max_magnitude=1.0)
    colours[np.hypot(uv[:, :, 0], uv[:, :, 1]) > 1] = 255
    return colours


def depth_colours(depth: Array, near: float | None = None, far: float | None = None) -> NDArray[np.uint8]:
    """Colour code of a depth map: viridis over inverse depth, yellow near and violet far.

    Parameters
    ----------
    depth : (H, W) float
        z in the camera; NaN, infinity and what is not positive count as unknown.
    near, far : float, optional
        Depths at the ends of the scale, by default the 2nd and 98th percentile (of the inverse depth).

    Returns
    -------
    (H, W, 3) uint8
        RGB; black where the depth is unknown.
    """
    import cv2

    if depth.ndim != 2:
        raise InputError(f"a depth map must have shape (H, W), not {depth.shape}")
    if (near is not None and not near > 0) or (far is not None and not far > (near or 0)):
        raise InputError(f"the depth scale must rise from near > 0 to far, not from {near} to {far}")
    known = np.isfinite(depth) & (depth > 0)
    if not known.any():
        return np.zeros((*depth.shape, 3), np.uint8)
    inverse = 1 / np.where(known, depth, 1).astype(np.float64)
    low, high = np.percentile(inverse[known], [2, 98])
    low = low if far is None else 1 / far
    high = high if near is None else 1 / near
    level = (inverse - low) / (high - low) if high > low else np.full_like(inverse, 0.5)
    grey = np.rint(255 * np.clip(level, 0, 1)).astype(np.uint8)
    colours = cv2.applyColorMap(grey, cv2.COLORMAP_VIRIDIS)[:, :, ::-1]
    return np.where(known[:, :, None], colours, np.uint8(0))
