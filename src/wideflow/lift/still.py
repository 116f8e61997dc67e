"""What stands still: its motion is none, and its flow over time follows from depth and poses.

A flow that is matched is right to some hundredths of a pixel. Where the world stands still, depth and the
poses of the cameras tell it ten times as exactly, and the two agree to the noise of the matched one. So does
what moves by less than that noise, such as a hand at the turn of its swing: where much around a pixel moves,
it keeps its matched flow.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import static_flow
from wideflow.geometry.flow_loop import FlowLoop
from wideflow.lift.over_time import length
from wideflow.types import RigFrame

Floats = NDArray[np.float32]

_AROUND = 9  # px: over which the deviations of a pixel's neighbours are averaged
_ALONE = 0.5  # how much of its own deviation counts by itself
_MOST = 1.0  # px that a single deviation counts at most
_FAR = 0.064  # of the longer side: width of the surroundings
_SOME, _MOST_STILL = 0.5, 0.8  # share of them from which a pixel may stand still, and from which it does
_QUIET = 30  # per cent of the picture that is taken to stand still in any scene
_NOISE, _WIDEST = 2.5, 3.0  # times the deviation there, and most times the setting: what poses leave open


def standing_still(
    now: RigFrame, after: RigFrame, depth: Floats, flows: FlowLoop, deviation: float
) -> tuple[FlowLoop, Floats]:
    """Flows that are those of a static world where they are nearly.

    Parameters
    ----------
    now, after : RigFrame
        Cameras at t and t + 1, pinhole.
    depth : (H, W) float32
        Of A's picture at t, z in world units; NaN where unknown.
    flows : FlowLoop
        As matched and refined.
    deviation : float
        px between the optical flow and that of a static world at which both count half; 0: the matched one
        counts alone. Poses that are found are less exact, and the least deviations of a picture tell by how
        much; it may then be up to three times as large.

    Returns
    -------
    flows : FlowLoop
        With other optical flow and closure; the stereo flow stays.
    share : (H, W) float32
        By how much each pixel is taken to stand still, 0 to 1.
    """
    if deviation <= 0:
        return flows, np.zeros_like(depth)
    with np.errstate(divide="ignore"):
        inverse = np.float32(1) / depth
    optical, loop = (static_flow(now.views[0], view, inverse) for view in after.views)
    known = np.isfinite(optical[..., 0]) & np.isfinite(loop[..., 0])
    off = np.where(known[..., None], optical - flows.optical, np.float32(_MOST))
    off = np.clip(off, -_MOST, _MOST)
    around = length(cv2.blur(off, (_AROUND, _AROUND)))
    around = np.maximum(around, np.float32(_ALONE) * length(off))
    least = _NOISE * float(np.percentile(around, _QUIET))
    half = np.float32(np.clip(least, deviation, _WIDEST * deviation))
    wide = 2 * round(_FAR * max(depth.shape) / 2) + 1
    quiet = cv2.blur((around < half).astype(np.float32), (wide, wide))
    quiet = np.clip((quiet - _SOME) / (_MOST_STILL - _SOME), 0, 1)
    share = np.where(known, quiet / (1 + (around / half) ** 4), 0).astype(np.float32)
    optical, loop = _between(flows.optical, optical, share), _between(flows.loop, loop, share)
    return replace(flows, optical=optical, closure=loop - optical - flows.stereo), share


def _between(matched: Floats, static: Floats, share: Floats) -> Floats:
    """So much of the static flow, which is unknown where there is none of it."""
    still, rest, found = share > 0, 1 - share, np.empty_like(matched)
    for k in range(2):  # NumPy is slow where the last axis is as short
        own = matched[..., k]
        found[..., k] = np.where(still, rest * own + share * static[..., k], own)
    return found
