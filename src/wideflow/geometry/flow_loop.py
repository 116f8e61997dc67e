"""The three flows that tie four pictures together, and how they start."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.geometry import pixel_grid
from wideflow.geometry.vectors import lengths, vectors_where

Field = NDArray[np.float32]
Mask = NDArray[np.bool_]

_AGREE = 3.0  # px between the two ways round the loop, from which one of them is wrong


@dataclass(frozen=True, eq=False)
class FlowLoop:
    """Where every pixel x of picture A at t lies in the three others (paper, appendix).

    Attributes
    ----------
    optical : (H, W, 2) float32
        u1; x + u1 lies in A at t + 1.
    stereo : (H, W, 2) float32
        u2; x + u2 lies in B at t.
    closure : (H, W, 2) float32
        u3; x + u1 + u2 + u3 lies in B at t + 1.
    optical_visible, stereo_visible, loop_visible : (H, W) bool
        The pixel is seen there, so that its colours may be compared.
    """

    optical: Field
    stereo: Field
    closure: Field
    optical_visible: Mask
    stereo_visible: Mask
    loop_visible: Mask

    def __post_init__(self) -> None:
        height, width = np.shape(self.optical)[:2]
        for name in ("optical", "stereo", "closure"):
            field = getattr(self, name)
            if np.shape(field) != (height, width, 2) or not np.isfinite(field).all():
                raise InputError(
                    f"the {name} flow must be dense, finite and of shape {(height, width, 2)}, "
                    f"not {np.shape(field)}; fill its holes first"
                )
        for name in ("optical_visible", "stereo_visible", "loop_visible"):
            mask = getattr(self, name)
            if np.shape(mask) != (height, width) or mask.dtype != np.bool_:
                raise InputError(f"{name} must be boolean of shape {(height, width)}, not {np.shape(mask)}")

    @property
    def loop(self) -> Field:
        """u1 + u2 + u3, from A at t to B at t + 1."""
        return self.optical + self.stereo + self.closure


def close_loop(
    optical_a: Field,
    stereo: Field,
    optical_b: Field,
    stereo_next: Field,
    occluded_optical_a: Mask,
    occluded_stereo: Mask,
    occluded_optical_b: Mask,
    occluded_stereo_next: Mask,
) -> tuple[FlowLoop, Field]:
    """First flows of a time step from four matched and filled fields.

    Two ways lead from A at t to B at t + 1: over B (stereo, then optical flow of B) and over A (optical, then
    stereo at t + 1). Where both are seen and part, the loop counts as unseen and its closure is interpolated.

    Parameters
    ----------
    optical_a, stereo : (H, W, 2) float32
        From A at t to A at t + 1 and to B at t.
    optical_b : (H2, W2, 2) float32
        From B at t to B at t + 1.
    stereo_next : (H, W, 2) float32
        From A at t + 1 to B at t + 1.
    occluded_optical_a, occluded_stereo, occluded_optical_b, occluded_stereo_next : bool
        True where the value of that field is a guess.

    Returns
    -------
    FlowLoop
    error : (H, W) float32
        Distance between the ends of the two ways in pixels; infinite where not both are seen.
    """
    height, width = stereo.shape[:2]
    grid = pixel_grid(width, height).astype(np.float32)
    over_b = stereo + _read(optical_b, grid + stereo)
    over_a = optical_a + _read(stereo_next, grid + optical_a)
    seen_b = ~occluded_stereo & _seen(occluded_optical_b, grid + stereo)
    seen_a = ~occluded_optical_a & _seen(occluded_stereo_next, grid + optical_a)
    error = np.where(seen_a & seen_b, lengths(over_a - over_b), np.inf).astype(np.float32)
    seen = ~occluded_stereo & (seen_a ^ seen_b | (error <= _AGREE))
    # the motion in B is small and exact; the stereo flow of t + 1 has its own mismatches
    end = vectors_where(seen_b, over_b, over_a)
    closure = _completed(end - optical_a - stereo, seen)
    return FlowLoop(optical_a, stereo, closure, ~occluded_optical_a, ~occluded_stereo, seen), error


def _read(field: Field, places: Field) -> Field:
    """Values (H, W, C) of a field at places (x, y), between pixels; held to the picture."""
    return cv2.remap(field, places, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def _seen(occluded: Mask, places: Field) -> Mask:
    """Whether the pixel nearest to each place is in the picture and not occluded."""
    seen = cv2.remap(
        (~occluded).astype(np.uint8), places, None, cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT
    )
    return seen > 0


def _completed(field: Field, known: Mask) -> Field:
    """Unknown values from the known ones around them: averages over ever larger pixels (push-pull)."""
    weight = known.astype(np.float32)
    height, width = weight.shape
    if known.all() or min(height, width) < 2:
        return field
    total = vectors_where(known, field, np.zeros_like(field))
    half = ((width + 1) // 2, (height + 1) // 2)
    small_weight = cv2.resize(weight, half, interpolation=cv2.INTER_AREA)
    small = cv2.resize(total, half, interpolation=cv2.INTER_AREA) / np.maximum(small_weight, 1e-9)[..., None]
    coarse = _completed(small, small_weight > 0)
    return vectors_where(known, field, cv2.resize(coarse, (width, height)))
