"""A result at the pixels of a rolling shutter, whose truth is that of each row at its own time.

The method brings rows to one time before anything else. The truth knows where each of its pixels then is,
and there its answer is read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.evaluate.datasets.sample import Field, Sample
from wideflow.evaluate.sampling import depth_at, nearest
from wideflow.evaluate.stage_result import StageResult
from wideflow.geometry.one_time import value_at
from wideflow.geometry.rolling import places_at_one_time

_TARGETS = {"stereo": (1, 0), "optical": (0, 1), "loop": (1, 1)}  # camera and frame that a flow leads to


def rolls(sample: Sample) -> bool:
    """Whether rows of its pictures are exposed one after the other."""
    return sample.is_step and any(view.camera.readout for view in sample.frames[0].views)


def as_rolled(sample: Sample, result: StageResult) -> StageResult:
    """What was found of pictures of one time, as the pictures of the sample would show it.

    Its errors stay what they are: flows get the true way from rows at one time to rows at their own, depth
    the true ratio.
    """
    assert sample.depth is not None
    assert sample.motion is not None
    true_depth, motion, both = sample.depth, sample.motion, (sample.frames[0], sample.frames[1])
    where, depth = places_at_one_time(true_depth, motion, both, 0, 0, 0)

    def flow(name: str) -> Field | None:
        found, true = getattr(result, name), getattr(sample, name)
        if found is None or true is None:
            return found
        there = where + value_at(found, where)
        error = there - places_at_one_time(true_depth, motion, both, 0, *_TARGETS[name])[0]
        return np.where(_inside(where), true + error, np.nan).astype(np.float32)

    more: dict[str, Any] = {name: flow(name) for name in _TARGETS}
    if result.depth is not None:
        more["depth"] = (depth_at(result.depth, where) * true_depth / depth).astype(np.float32)
    if result.motion is not None:
        more["motion"] = nearest(result.motion, where)
    if result.occluded is not None:
        more["occluded"] = nearest(result.occluded, where)
    return replace(result, **more)


def _inside(where: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(H, W, 1): whether places of a picture of the same size lie in it."""
    height, width = where.shape[:2]
    with np.errstate(invalid="ignore"):
        inside = (where > -0.5) & (where < (width - 0.5, height - 0.5))
    return np.asarray(inside.all(axis=-1, keepdims=True))
