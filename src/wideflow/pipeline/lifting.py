"""From the flows of a moment to its depth, with all that speaks for or against them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry.flow_loop import FlowLoop
from wideflow.lift import Evidence, Lifted, LiftedStereo, camera_spread, lift_flows, lift_stereo, match_noise
from wideflow.pipeline.moment import FilledFlow, Moment

_UNREFINED = 0.3  # px by which refinement would move a match, about

Floats = NDArray[np.float32]


def lift_step(
    now: Moment, after: Moment, matched: FilledFlow, refined: FlowLoop, loop_error: Floats
) -> Lifted:
    """Depth and motion of a time step; ``matched`` is the stereo flow that refinement began with."""
    evidence = Evidence(
        visible=refined.stereo_visible,
        match_confidence=matched.confidence,
        loop_error=loop_error,
        moved=np.linalg.norm(refined.stereo - matched.uv, axis=2),
        noise=match_noise(*now.pictures, now.frame, refined.stereo),
        spread=_spread(now, refined.stereo),
    )
    lifted = lift_flows(now.frame, after.frame, refined, evidence)
    unseen = ~now.known[0]
    for values in (lifted.depth, lifted.motion, lifted.covariance, lifted.motion_covariance):
        values[unseen] = np.nan
    lifted.confidence[unseen] = 0
    return lifted


def lift_moment(moment: Moment, stereo: FilledFlow) -> LiftedStereo:
    """Depth of a moment that no next one refines."""
    evidence = Evidence(
        visible=~stereo.occluded,
        match_confidence=stereo.confidence,
        loop_error=np.full(stereo.occluded.shape, np.inf, np.float32),
        moved=np.full(stereo.occluded.shape, _UNREFINED, np.float32),
        noise=match_noise(*moment.pictures, moment.frame, stereo.uv),
        spread=_spread(moment, stereo.uv),
    )
    lifted = lift_stereo(moment.frame, stereo.uv, evidence)
    lifted.depth[~moment.known[0]] = np.nan
    lifted.confidence[~moment.known[0]] = 0
    return lifted


def _spread(moment: Moment, stereo: Floats) -> Floats | None:
    doubt = moment.doubt
    if doubt is None or not doubt.alternatives:
        return None
    return camera_spread(doubt.filmed, moment.frame, stereo, doubt.alternatives)
