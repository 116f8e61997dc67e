"""Occlusions: find them, and complete the flow without blurring its edges (paper, section 3.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.config import FillConfig
from wideflow.errors import InputError
from wideflow.filling.completion import complete_by_colour, complete_by_diffusion
from wideflow.filling.extension import extend_planes
from wideflow.filling.occlusion import depth_shown, find_occluded, find_occluders, find_refuted, find_shown
from wideflow.filling.undecided import decide
from wideflow.geometry.picture import checked_picture
from wideflow.types import Flow

__all__ = [
    "decide",
    "depth_shown",
    "extend_planes",
    "fill",
    "find_occluded",
    "find_occluders",
    "find_refuted",
    "find_shown",
]
_DRIFT = np.float32(0.1)  # px of error to expect per px of distance to the nearest known flow


def fill(
    picture: ArrayLike, flow: Flow | ArrayLike, occluded: ArrayLike, config: FillConfig | None = None
) -> Flow:
    """Complete the flow of occluded pixels as a locally linear function of the picture's colours.

    Parameters
    ----------
    picture : (H, W, 3) or (H, W), uint8, uint16 or float in 0..1
        The picture that the flow starts from.
    flow : Flow, or (H, W, 2) float
        Pixels, (x, y). Where it is not finite it is filled, whatever ``occluded`` says.
    occluded : (H, W) bool
        Pixels whose flow is not to be believed, such as those of `find_occluded`.
    config : FillConfig, optional
        The default settings unless given.

    Returns
    -------
    Flow
        Finite everywhere; known pixels as they were given. The confidence of a filled pixel is that of the
        known pixels it was filled from, less the more these disagree and the further away they are.

    Raises
    ------
    InputError
        Arrays that do not fit together, or a flow without any known pixel.
    """
    config = FillConfig() if config is None else config
    colours = checked_picture(picture, alpha=False)
    uv, confidence, known = _checked_flow(flow, colours.shape[:2])
    hidden = np.asarray(occluded)
    if hidden.dtype != np.bool_ or hidden.shape != colours.shape[:2]:
        raise InputError(
            f"the occlusion mask must be boolean of shape {colours.shape[:2]}, not {hidden.dtype} of shape "
            f"{hidden.shape}"
        )
    unknown = hidden | ~known
    if unknown.all():
        raise InputError("the flow has no known pixel, so there is nothing to fill it from; match again")
    if not unknown.any():
        return Flow(uv, confidence)
    values, centre = _columns(uv, confidence, unknown)
    if config.method == "diffusion":
        found = complete_by_diffusion(values, unknown, config)
    else:
        found = complete_by_colour(colours, values, unknown, config)
    uv, confidence, places = uv.copy(), confidence.copy(), np.flatnonzero(unknown)
    _paired(uv).ravel()[places] = _paired(found)[:, 0] + centre
    confidence.reshape(-1)[places] = np.clip(found[:, 3], 0, 1) * _trust(found, unknown, config)
    return Flow(uv, confidence)


def _columns(
    uv: NDArray[np.float32], confidence: NDArray[np.float32], unknown: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], np.complex64]:
    """What is completed, (H, W, 4), 0 where unknown, and what was taken off the `_paired` flow, its mean."""
    known = np.where(unknown, np.complex64(0), _paired(uv))
    total = known.cumsum()[-1]  # pixel by pixel, so that it does not depend on how a sum is split
    centre = np.complex64(complex(total) / np.count_nonzero(~unknown))
    values = np.zeros((*unknown.shape, 4), np.float32)
    np.subtract(known, centre, out=_paired(values)[..., 0], where=~unknown)
    # without their mean, squares are small enough for float32
    values[..., 2] = values[..., 0] ** 2 + values[..., 1] ** 2
    np.copyto(values[..., 3], confidence, where=~unknown)
    return values, centre


def _paired(values: NDArray[np.float32]) -> NDArray[np.complex64]:
    """(..., C / 2): a view of (..., C) in which a flow is one number: NumPy is slow along an axis of two."""
    return values.view(np.complex64)[..., 0] if values.shape[-1] == 2 else values.view(np.complex64)


def _trust(found: NDArray[np.float32], unknown: NDArray[np.bool_], config: FillConfig) -> NDArray[np.float32]:
    """1 / (1 + e / trust_error), with e the error to expect of the flow (N, 4) of unknown pixels, px.

    A filled value is a mean of known ones, and the completed squares are the same mean of their squares: the
    difference is the variance of what the value was mixed from. Where all agree, distance still tells.
    """
    variance = found[:, 2] - (found[:, 0] ** 2 + found[:, 1] ** 2)
    expected = np.sqrt(np.maximum(variance, 0)) + _DRIFT * _distance(unknown)[unknown]
    return np.asarray(1 / (1 + expected / np.float32(config.trust_error)), np.float32)


def _distance(unknown: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Pixels from each unknown pixel to the nearest known one."""
    import cv2

    distance = cv2.distanceTransform(unknown.view(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return np.asarray(distance, np.float32)


def _checked_flow(
    flow: Flow | ArrayLike, shape: tuple[int, ...]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
    """uv, confidence, which is 1 where known if none is given, and what is known."""
    uv = np.ascontiguousarray(flow.uv if isinstance(flow, Flow) else flow, np.float32)
    if uv.shape != (*shape, 2):
        raise InputError(f"the flow has shape {uv.shape}; with this picture it must be {(*shape, 2)}")
    known = np.isfinite(uv[..., 0]) & np.isfinite(uv[..., 1])
    confidence = flow.confidence if isinstance(flow, Flow) else known.astype(np.float32)
    if confidence.shape != shape:
        raise InputError(f"the confidence has shape {confidence.shape}; with this picture it must be {shape}")
    return uv, np.nan_to_num(np.asarray(confidence, np.float32)), known
