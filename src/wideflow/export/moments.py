"""One moment of a result as exports need it: what is known, points with colour, velocities, times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.export.options import ExportOptions
from wideflow.storage.result import Result


@dataclass(frozen=True, eq=False)
class Cloud:
    """What camera A sees at one moment, known points only.

    Attributes
    ----------
    pixels : (N, 2) int64
        x, y in picture A.
    xyz : (N, 3) float32
        World coordinates.
    rgb : (N, 3) uint8
    depth : (N,) float32
        z in camera A, world units.
    motion : (N, 3) float32 or None
        World units to the next moment, NaN where unknown; None at the last moment.
    """

    pixels: NDArray[np.int64]
    xyz: NDArray[np.float32]
    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    motion: NDArray[np.float32] | None


def cloud(result: Result, t: int, options: ExportOptions) -> Cloud:
    """The known points of one moment, in the order of A's pixels, row by row."""
    depth = result.depth(t)
    known = np.isfinite(depth) & trusted(result, t, options)
    motion = result.motion(t)[known] if has_step(result, t) else None
    return Cloud(
        np.argwhere(known)[:, ::-1], result.points(t)[known], result.picture_a(t)[known], depth[known], motion
    )


def trusted(result: Result, t: int, options: ExportOptions) -> NDArray[np.bool_]:
    """(H, W), pixels of A whose confidence suffices."""
    return result.confidence(t) >= options.confidence


def has_step(result: Result, t: int) -> bool:
    """Whether a moment follows, so that there is flow and motion from this one on."""
    return t + 1 < len(result)


def flows(result: Result, t: int, options: ExportOptions) -> dict[str, NDArray[np.float32]]:
    """Flow fields by name, px, NaN where unknown; a confidence is known for the pixels of A only."""
    keep = trusted(result, t, options)[..., None]
    fields = {"stereo": np.where(keep, result.stereo_flow(t), np.float32(np.nan))}
    if has_step(result, t):
        fields["optical_a"] = np.where(keep, result.optical_flow_a(t), np.float32(np.nan))
        fields["optical_b"] = result.optical_flow_b(t)
    return fields


def seconds(result: Result) -> NDArray[np.float64]:
    """(T,) time of every moment on A's clock; moment t is at t seconds if the rig has no times."""
    if len(result.rig.frames) == 1:
        return np.arange(len(result), dtype=np.float64)
    times = np.array([result.frame(t).times[0] for t in range(len(result))])
    if (np.diff(times) <= 0).any():
        raise InputError(f"the times of camera A in '{result.place}/rig.json' do not increase; correct them")
    return times


def require_points(result: Result, options: ExportOptions) -> None:
    """Refuse a result without a single known point in the chosen moments, before anything is written."""
    for t in options.moments(result):
        if (np.isfinite(result.depth(t)) & trusted(result, t, options)).any():
            return
    wanted = f" with a confidence of {options.confidence:g} or more" if options.confidence else ""
    remedy = "lower the confidence" if options.confidence else "choose other frames or compute it again"
    raise InputError(f"'{result.place}' has no depth{wanted} in the chosen frames; {remedy}")
