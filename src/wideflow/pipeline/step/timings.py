"""How long the stages take: measured in one place, told in one form."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

Seconds = dict[str, float]  # of each stage
_COUNTING = Lock()  # stages of one moment may run side by side


@contextmanager
def clock(seconds: Seconds, stage: str) -> Iterator[None]:
    """Add the time that the block takes to that of the stage."""
    start = time.perf_counter()
    try:
        yield
    finally:
        passed = time.perf_counter() - start
        with _COUNTING:
            seconds[stage] = seconds.get(stage, 0) + passed


def total(*parts: Mapping[str, float]) -> Seconds:
    """Seconds of each stage over all parts."""
    whole: Seconds = {}
    for part in parts:
        for stage, seconds in part.items():
            whole[stage] = whole.get(stage, 0) + seconds
    return whole


def timings(before: Seconds, moments: Mapping[int, Seconds]) -> dict[str, Any]:
    """The content of ``timings.json``.

    Parameters
    ----------
    before : dict
        Of what is done once, such as synchronisation and calibration.
    moments : dict
        Of what is done for each moment, by its number.
    """
    return {
        "seconds": _rounded(total(before, *moments.values())),
        "frames": [{"index": t, **_rounded(moments[t])} for t in sorted(moments)],
    }


def _rounded(seconds: Seconds) -> Seconds:
    return {stage: round(value, 3) for stage, value in seconds.items()}
