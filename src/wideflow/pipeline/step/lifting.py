"""The last stages of a time step: flows that agree, then depth and motion with all that speaks for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.config import LiftConfig, RefineConfig
from wideflow.geometry import fundamental_matrix, static_flow
from wideflow.geometry.flow_loop import FlowLoop, close_loop
from wideflow.geometry.one_time import moved_in_time
from wideflow.geometry.vectors import vectors_where
from wideflow.lift import (
    OVER_TIME,
    TRACK,
    UNKNOWN,
    CameraDoubt,
    FoundDepth,
    Joined,
    MatchEvidence,
    SeenMoment,
    Way,
    camera_spread,
    carried_depth,
    join,
    lift_flows,
    lift_stereo,
    match_noise,
    rigid_error,
    standing_still,
    steady_depth,
)
from wideflow.matching.colour import ColourTransform, fit_colour_transform, in_one_light, matched_colours
from wideflow.matching.polish import polish_once
from wideflow.pipeline.step.flows import Lenses
from wideflow.pipeline.step.one_time import OneTime
from wideflow.pipeline.step.values import FilledFlow, Floats, LastMoment, Pictures, RefinedFlows, SteadyDepth
from wideflow.refine import refine_flows
from wideflow.types import DepthOverTime, RigFrame, SceneFlow

_SURE = 0.2  # confidence of a match from which it is held
_UNREFINED = 0.3  # px by which refinement would move a match, about


def refine_step(
    config: RefineConfig,
    now: Pictures,
    after: Pictures,
    cameras: RigFrame,
    cameras_next: RigFrame,
    stereo: FilledFlow,
    optical_a: FilledFlow,
    optical_b: FilledFlow,
    stereo_next: FilledFlow,
) -> RefinedFlows:
    """The four flows around the loop of a time step, refined together."""
    start, loop_error = first_loop(stereo, optical_a, optical_b, stereo_next)
    late_b, view_b = moved_in_time(cameras, cameras_next, 1, 0)
    late_a, view_a = moved_in_time(cameras, cameras_next, 0, 1)
    lines = fundamental_matrix(cameras.views[0], view_b), fundamental_matrix(view_a, cameras_next.views[1])
    (a, a_next), (b, b_next) = (now.a, after.a), (now.b, after.b)
    as_b = ColourTransform(stereo.colours, np.inf)
    if config.one_light:
        (a, a_next), (b, b_next), as_b = _in_one_light(now, after, stereo, optical_a, optical_b)
    pictures = as_b(a), b, as_b(a_next), b_next
    flows = refine_flows(pictures, lines, start, config, late=(late_b, late_a)).flows
    moved = np.hypot(*np.moveaxis(flows.stereo - stereo.uv, 2, 0))
    if config.furthest > 0:
        # what surrounds a slanted or thin surface draws further at it than it helps
        held = (moved > config.furthest) & (stereo.confidence > _SURE)
        flows = replace(
            flows,
            stereo=vectors_where(held, start.stereo, flows.stereo),
            closure=vectors_where(held, start.closure, flows.closure),
        )
    if config.polish:
        # stereo draws at optical flow, by less than a tenth of a pixel; with u1, all of the next moment moves
        alone = polish_once(a, a_next, flows.optical)
        flows = replace(flows, optical=vectors_where(flows.optical_visible, alone, flows.optical))
    return RefinedFlows(flows, loop_error, moved)


def _in_one_light(
    now: Pictures, after: Pictures, stereo: FilledFlow, optical_a: FilledFlow, optical_b: FilledFlow
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats], ColourTransform]:
    """Both pictures of A, and of B, as if exposure and lamps did not change, and A's colours as B's."""
    degree, first_a, first_b = stereo.colours.shape[1] // 3, now.a, now.b
    a = in_one_light(first_a, after.a, optical_a.uv, ~optical_a.occluded, degree)
    b = in_one_light(first_b, after.b, optical_b.uv, ~optical_b.occluded, degree)
    as_b = ColourTransform(stereo.colours, np.inf)
    # one that was brightened differs from the other camera's otherwise than as matched
    if a[0] is not first_a or b[0] is not first_b:
        as_b = fit_colour_transform(*matched_colours(a[0], b[0], stereo.uv, ~stereo.occluded), degree)
    return a, b, as_b


def first_loop(
    stereo: FilledFlow, optical_a: FilledFlow, optical_b: FilledFlow, stereo_next: FilledFlow
) -> tuple[FlowLoop, Floats]:
    """The flows that refinement begins with, and (H, W) px by which the two ways round the loop differ."""
    return close_loop(
        optical_a.uv,
        stereo.uv,
        optical_b.uv,
        stereo_next.uv,
        optical_a.occluded,
        stereo.occluded,
        optical_b.occluded,
        stereo_next.occluded,
    )


def lift_step(
    config: LiftConfig,
    now: Pictures,
    cameras: RigFrame,
    cameras_next: RigFrame,
    lenses: Lenses,
    doubt: CameraDoubt | None,
    stereo: FilledFlow,
    optical_b: FilledFlow,
    refined: RefinedFlows,
    over_time: DepthOverTime,
) -> SceneFlow:
    """Depth and motion of a time step; ``stereo`` is what refinement began with."""
    flows = refined.flows
    evidence = MatchEvidence(
        visible=flows.stereo_visible,
        match_confidence=stereo.confidence,
        loop_error=refined.loop_error,
        moved=refined.moved,
        noise=match_noise(now.a, now.b, cameras, flows.stereo),
        spread=_spread(cameras, doubt, flows.stereo),
        late=_late(cameras, cameras_next, doubt),
    )
    lifted = lift_flows(cameras, cameras_next, flows, evidence)
    ways = cameras.views[0], cameras_next.views[0]
    with np.errstate(divide="ignore"):
        errors = (
            rigid_error(*ways, np.float32(1) / lifted.depth, flows.optical),
            rigid_error(*ways, over_time.inverse, flows.optical) if over_time.known else None,
        )
    joined = join(lifted.depth, lifted.judged, ~stereo.occluded, over_time, *errors)
    by_time = joined.source == OVER_TIME
    flows, still = standing_still(cameras, cameras_next, joined.depth, flows, config.still)
    motion = _each(lambda moved: np.where(by_time, np.float32(0), (1 - still) * moved), lifted.motion)
    unseen = ~lenses[0].known
    for values in (joined.depth, motion, lifted.covariance, lifted.motion_covariance):
        values[unseen] = np.nan
    return SceneFlow(
        stereo_flow=_shown(cameras, joined, flows.stereo),
        optical_flow_a=flows.optical,
        optical_flow_b=optical_b.uv,
        loop_flow=flows.loop,
        depth=joined.depth,
        motion=motion,
        covariance=lifted.covariance,
        motion_covariance=lifted.motion_covariance,
        occluded=stereo.occluded,
        **_certainty(joined, unseen),
    )


def lift_last(
    now: Pictures,
    cameras: RigFrame,
    lenses: Lenses,
    doubt: CameraDoubt | None,
    stereo: FilledFlow,
    over_time: DepthOverTime,
    time: OneTime,
) -> LastMoment:
    """Depth of a moment that no next one refines."""
    evidence = MatchEvidence(
        visible=~stereo.occluded,
        match_confidence=stereo.confidence,
        loop_error=np.full(stereo.occluded.shape, np.inf, np.float32),
        moved=np.full(stereo.occluded.shape, _UNREFINED, np.float32),
        noise=match_noise(now.a, now.b, cameras, stereo.uv),
        spread=_spread(cameras, doubt, stereo.uv),
    )
    lifted = lift_stereo(time.cameras(cameras), time.moved(stereo.uv), evidence)
    joined = join(lifted.depth, lifted.judged, ~stereo.occluded, over_time)
    unseen = ~lenses[0].known
    joined.depth[unseen] = np.nan
    return LastMoment(
        stereo_flow=_shown(cameras, joined, stereo.uv),
        depth=joined.depth,
        occluded=stereo.occluded,
        **_certainty(joined, unseen),
    )


def steady_moment(
    cameras: list[RigFrame | None],
    pictures: list[Pictures | None],
    moments: list[FoundDepth | None],
    optical: list[FilledFlow | None],
) -> SteadyDepth:
    """Depth of the moment in the middle: carried along tracks if it was a guess, then steadied."""
    seen = [
        SeenMoment(frame.views[0], filmed.picture_a, found) if frame and filmed and found else None
        for frame, filmed, found in zip(cameras, pictures, moments, strict=True)
    ]
    ways = [None if flow is None else Way(flow.uv, flow.occluded) for flow in optical]
    depth, carried = carried_depth(seen, ways)
    middle = seen.pop(len(seen) // 2)
    assert middle is not None
    own = replace(middle, found=replace(middle.found, depth=depth))
    return SteadyDepth(
        steady_depth(own, [each for each in seen if each is not None]),
        np.where(carried, np.uint8(TRACK), middle.found.source),
    )


def _shown(cameras: RigFrame, joined: Joined, stereo: Floats) -> Floats:
    """The stereo flow, which agrees with depth also where that is not the pair's."""
    by_time = joined.source == OVER_TIME
    if not by_time.any():
        return stereo
    with np.errstate(divide="ignore", invalid="ignore"):
        there = static_flow(*cameras.views, 1 / joined.depth)
    return _each(lambda by_depth, matched: np.where(by_time, by_depth, matched), there, stereo)


def _each(work: Callable[..., Any], *vectors: Floats) -> Floats:
    """What is done with each component of vectors (H, W, n): NumPy is slow where the last axis is short."""
    out = np.empty_like(vectors[0])
    for k in range(out.shape[2]):
        out[..., k] = work(*(each[..., k] for each in vectors))
    return out


def _certainty(joined: Joined, unseen: NDArray[np.bool_]) -> dict[str, Any]:
    """The fields of a moment that say how far to trust its depth, and what it comes from."""
    judged = joined.judged
    return {
        "confidence": np.where(unseen, np.float32(0), judged.within()),
        "confidence_5": np.where(unseen, np.float32(0), judged.within(0.05)),
        "source": np.where(unseen, np.uint8(UNKNOWN), joined.source),
        "moving": np.where(unseen, np.float32(0), joined.moving),
        "tilt": judged.tilt,
    }


def _spread(cameras: RigFrame, doubt: CameraDoubt | None, stereo: Floats) -> Floats | None:
    if doubt is None or not doubt.alternatives:
        return None
    return camera_spread(doubt.filmed, cameras, stereo, doubt.alternatives)


def _late(cameras: RigFrame, cameras_next: RigFrame, doubt: CameraDoubt | None) -> float:
    """By how much of the time step B's picture was taken later than A's, if nothing minds that."""
    step = cameras_next.times[0] - cameras.times[0]
    return doubt.late / step if doubt is not None and step > 0 else 0.0
