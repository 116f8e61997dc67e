"""The pictures of one moment: inputs, flows, depth, occlusions, confidence, and A and B overlaid."""

from __future__ import annotations

import base64

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.report.colours import depth_colours, flow_colours
from wideflow.report.overview import Scales
from wideflow.report.trails import trail_picture
from wideflow.storage.result import TRUSTED, Result

Picture = NDArray[np.uint8]
_OCCLUDED = (230, 80, 40)  # RGB laid over what B does not see
_MOVING = (40, 130, 255)  # RGB laid over what moves
# RGB of what depth comes from: nothing, both cameras now, one over time, a track, completed
_SOURCES = np.array([(20, 20, 20), (60, 160, 90), (60, 110, 200), (230, 190, 60), (200, 90, 60)], np.uint8)
_FIT_PIXELS = 4000  # correspondences that the colour transform is fitted to


def moment_panels(result: Result, t: int, scales: Scales) -> dict[str, Picture]:
    """All pictures of moment t by their names, RGB; optical flow is missing at the last moment."""
    a, b = result.picture_a(t), result.picture_b(t)
    stereo, occluded, confidence = result.stereo_flow(t), result.occluded(t), result.confidence(t)
    panels = {
        "a": a,
        "b": b,
        "stereo": flow_colours(stereo, scales.stereo),
        "depth": depth_colours(result.depth(t), scales.near, scales.far),
        "occluded": occlusion_picture(a, occluded),
        "confidence": confidence_colours(confidence),
        "overlay": overlay(a, b, stereo, (confidence > TRUSTED) & ~occluded, occluded),
    }
    if result.has("source"):  # results of older versions do not tell
        panels["source"] = source_colours(result.source(t))
        panels["moving"] = moving_picture(a, result.moving(t))
    trails = trail_picture(result, a, t)
    if trails is not None:
        panels["tracks"] = trails
    if t < len(result) - 1:
        panels["optical_a"] = flow_colours(result.optical_flow_a(t), scales.optical)
        panels["optical_b"] = flow_colours(result.optical_flow_b(t), scales.optical)
    return panels


def occlusion_picture(picture: Picture, occluded: NDArray[np.bool_]) -> Picture:
    """The picture in grey, with what B does not see in orange."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)[..., None]
    tinted = 0.35 * grey + 0.65 * np.array(_OCCLUDED)
    return np.where(occluded[..., None], tinted, np.repeat(grey, 3, axis=2)).astype(np.uint8)


def source_colours(source: NDArray[np.uint8]) -> Picture:
    """A colour for each place where depth comes from."""
    return np.asarray(_SOURCES[np.minimum(source, len(_SOURCES) - 1)], np.uint8)


def moving_picture(picture: Picture, moving: NDArray[np.float32]) -> Picture:
    """The picture in grey, the bluer the likelier something moved there."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)[..., None]
    share = 0.75 * np.clip(np.nan_to_num(moving), 0, 1)[..., None]
    return np.asarray((1 - share) * grey + share * np.array(_MOVING), np.uint8)


def confidence_colours(confidence: NDArray[np.float32]) -> Picture:
    """0 is black, 1 is pale yellow (the colour map magma)."""
    grey = np.rint(255 * np.clip(np.nan_to_num(confidence), 0, 1)).astype(np.uint8)
    return cv2.applyColorMap(grey, cv2.COLORMAP_MAGMA)[:, :, ::-1]


def overlay(
    a: Picture,
    b: Picture,
    stereo_flow: NDArray[np.float32],
    trusted: NDArray[np.bool_],
    occluded: NDArray[np.bool_],
) -> Picture:
    """Half A, half B brought into A by the stereo flow, in A's colours.

    Sharp where the flow is right, double where it is wrong. What B does not see is A alone, darker.
    """
    height, width = a.shape[:2]
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    known = np.isfinite(stereo_flow).all(axis=2)
    to_x = np.where(known, x + stereo_flow[..., 0], -1).astype(np.float32)
    to_y = np.where(known, y + stereo_flow[..., 1], -1).astype(np.float32)
    inside = (to_x >= 0) & (to_y >= 0) & (to_x <= b.shape[1] - 1) & (to_y <= b.shape[0] - 1)
    warped = cv2.remap(b, to_x, to_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    matrix = colour_fit(warped, a, trusted & inside)
    corrected = np.clip(warped @ matrix[:, :3].T + matrix[:, 3], 0, 255)
    shown = (inside & ~occluded)[..., None]
    return np.where(shown, 0.5 * a + 0.5 * corrected, 0.45 * a).astype(np.uint8)


def colour_fit(source: Picture, target: Picture, where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The affine map of RGB, (3, 4), from ``source`` to ``target``; identity without evidence."""
    pixels = np.flatnonzero(where)
    if len(pixels) < 100:
        return np.eye(3, 4)
    pixels = pixels[:: max(1, len(pixels) // _FIT_PIXELS)]
    colours = source.reshape(-1, 3)[pixels].astype(np.float64)
    goal = target.reshape(-1, 3)[pixels].astype(np.float64)
    system = np.concatenate([colours, np.ones((len(colours), 1))], axis=1)
    hold = np.diag([5.0, 5.0, 5.0, 0.5])  # towards no change: a plain picture must not turn into any colour
    system, goal = np.concatenate([system, hold]), np.concatenate([goal, hold[:, :3]])
    return np.linalg.lstsq(system, goal, rcond=None)[0].T


def fit_width(picture: Picture, width: int) -> Picture:
    """The picture, made smaller if it is wider."""
    height, current = picture.shape[:2]
    if current <= width:
        return picture
    size = width, max(1, round(height * width / current))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


def data_url(picture: Picture, quality: int) -> str:
    """A WebP picture that stands in the page itself."""
    _, code = cv2.imencode(".webp", picture[:, :, ::-1], [cv2.IMWRITE_WEBP_QUALITY, quality])
    return "data:image/webp;base64," + base64.b64encode(code.tobytes()).decode()
