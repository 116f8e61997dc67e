"""Poses after calibration: unit of length, and smoothing for those who ask for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.geometry import baseline
from wideflow.types import Rig, RigFrame, View

_REACH = 3  # standard deviations beyond which a frame has no weight


def scaled(rig: Rig, factor: float) -> Rig:
    """The rig in units of which ``factor`` make one of the old."""
    if not (np.isfinite(factor) and factor > 0):
        raise InputError(f"a scale of {factor} is impossible; give a length above 0")
    frames = tuple(
        replace(
            frame,
            views=(_scaled_view(frame.views[0], factor), _scaled_view(frame.views[1], factor)),
            rows=None if frame.rows is None else frame.rows * [1, 1, 1, factor],
        )
        for frame in rig.frames
    )
    return Rig(rig.cameras, frames)


def with_mean_baseline(rig: Rig) -> Rig:
    """The rig in a unit in which the cameras are 1 apart on average."""
    return scaled(rig, 1 / float(np.mean([baseline(*frame.views) for frame in rig.frames])))


def smoothed(rig: Rig, seconds: float) -> Rig:
    """The rig with each camera's path averaged over time.

    Parameters
    ----------
    rig : Rig
        As measured.
    seconds : float
        Standard deviation of the Gaussian weights in time; 0 changes nothing.
    """
    if seconds == 0:
        return rig
    paths = [
        _smooth_path([frame.views[c] for frame in rig.frames], [f.times[c] for f in rig.frames], seconds)
        for c in (0, 1)
    ]
    frames = tuple(
        RigFrame(frame.index, frame.times, (a, b)) for frame, a, b in zip(rig.frames, *paths, strict=True)
    )
    return Rig(rig.cameras, frames)


def _smooth_path(views: list[View], times: list[float], seconds: float) -> list[View]:
    """Centres by a local line, so that a steady motion stays as it is; rotations by their weighted mean."""
    from scipy.spatial.transform import Rotation

    centres, clock = np.array([view.centre for view in views]), np.array(times)
    turns = Rotation.from_matrix([view.R for view in views])
    out = []
    for view, now in zip(views, times, strict=True):
        near = np.flatnonzero(np.abs(clock - now) <= _REACH * seconds)
        weight = np.exp(-0.5 * ((clock[near] - now) / seconds) ** 2)
        centre = _line_at(clock[near] - now, centres[near], weight)
        R = turns[near].mean(weight).as_matrix()
        out.append(View(view.camera, np.column_stack([R, -R @ centre])))
    return out


def _line_at(
    time: NDArray[np.float64], values: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Value at time 0 of the line through weighted values (n, 3)."""
    weight = weight / weight.sum()
    middle, mean = weight @ time, weight @ values
    spread = weight @ (time - middle) ** 2
    slope = (weight * (time - middle)) @ values / spread if spread > 1e-12 else 0.0
    return mean - slope * middle


def _scaled_view(view: View, factor: float) -> View:
    return View(view.camera, np.column_stack([view.R, factor * view.t]))
