"""Which moments are worked on: those that the user asked for and both cameras filmed."""

from __future__ import annotations

import numpy as np

from wideflow.errors import InputError
from wideflow.sync import FramePairs

_FEW = 60  # pairs of frames below which others around them help to calibrate
_ENOUGH = 240  # pairs of frames that a calibration needs at most, however slowly the cameras move


def choose_pairs(pairs: FramePairs, chosen: slice, path: str) -> FramePairs:
    """The pairs whose frame of A was asked for."""
    last = int(pairs.a[-1]) + 1
    wanted = range(*chosen.indices(last))
    inside = np.isin(pairs.a, np.asarray(wanted, np.int64))
    if not inside.any():
        raise InputError(
            f"B was filming only during frames {pairs.a[0]} to {pairs.a[-1]} of '{path}'; choose "
            "--frames there"
        )
    return FramePairs(pairs.a[inside], pairs.b[inside], pairs.error[inside])


def asked_moments(pairs: FramePairs, chosen: slice, length: int) -> int:
    """How many moments the user asked for.

    Parameters
    ----------
    pairs : FramePairs
        All frames that were filmed at the same time.
    chosen : slice
        Frames of A. Who gives no STOP, or no range at all, asks for the time that both were filming.
    length : int
        Frames that A has.
    """
    last = int(pairs.a[-1]) + 1 if chosen.stop is None else length
    wanted = np.arange(*chosen.indices(last))
    if chosen.stop is None and not chosen.start:
        wanted = wanted[wanted >= pairs.a[0]]
    return len(wanted)


def calibration_pairs(pairs: FramePairs, chosen: FramePairs, stride: int) -> FramePairs:
    """Pairs to calibrate: the chosen ones, those between, and some around them if they are few."""
    first, last = (int(np.searchsorted(pairs.a, frame)) for frame in (chosen.a[0], chosen.a[-1]))
    lacking = max(0, _FEW - (last + 1 - first))
    first = max(0, min(first - lacking // 2, len(pairs.a) - _FEW))
    last = min(len(pairs.a), max(last + 1 + lacking - lacking // 2, _FEW))
    divisors = [step for step in range(1, stride + 1) if stride % step == 0]
    step = next((step for step in divisors if (last - first) / step <= _ENOUGH), stride)
    wanted = np.isin(pairs.a, chosen.a)
    wanted[first:last:step] = True
    return FramePairs(pairs.a[wanted], pairs.b[wanted], pairs.error[wanted])
