"""The first stages of a time step: ideal pictures, their matches, and flows without gaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from wideflow.config import FillConfig, MatchConfig
from wideflow.errors import NothingInCommonError
from wideflow.filling import (
    decide,
    depth_shown,
    extend_planes,
    fill,
    find_occluded,
    find_occluders,
    find_refuted,
    find_shown,
)
from wideflow.geometry import static_flow
from wideflow.geometry.undistorter import Undistorter
from wideflow.lift import static_chance
from wideflow.matching import Match, Proposal, match
from wideflow.matching.colour import ColourTransform
from wideflow.pipeline.step.carried import carried
from wideflow.pipeline.step.one_time import Meeting, OneTime
from wideflow.pipeline.step.values import FilledFlow, Floats, Mask, MatchedFlow, Pictures, rounded
from wideflow.pipeline.step.voices import Heard
from wideflow.types import DepthOverTime, Flow, RigFrame, View

Bytes = NDArray[np.uint8]
Shot = tuple[float, Bytes]  # a picture, and the seconds to it from another
Film = Callable[[int, int], Shot | None]  # what a camera, A is 0, filmed so many frames after a moment
Lenses = tuple[Undistorter, Undistorter]
Before = Sequence[MatchedFlow | None]  # of the moment before, if there is one
_PROPOSED = 0.3  # chance of depth over time from which it is offered to the match
_BELIEVED = 0.7  # chance of depth over time from which hidden pixels take it


def ideal_pictures(film: Film, lenses: Lenses) -> Pictures:
    """Both pictures of a moment without distortion and rolling shutter, in the size of processing."""
    a, b = (ideal_picture(lens, partial(film, camera)) for camera, lens in enumerate(lenses))
    return Pictures(a, b)


def ideal_picture(lens: Undistorter, filmed: Callable[[int], Shot | None]) -> Bytes:
    """The picture of an ideal camera, from what was filmed then and, where rows roll, before and after."""
    shots = {step: filmed(step) for step in ((-1, 0, 1) if lens.rolls else (0,))}
    here = shots.pop(0)
    assert here is not None
    return lens(here[1], [shot for shot in shots.values() if shot is not None])


def match_stereo(
    config: MatchConfig,
    pictures: Pictures,
    cameras: RigFrame,
    over_time: DepthOverTime,
    heard: Heard,
    time: OneTime,
    before: Before = (None,),
    before_a: Before = (None,),
    before_b: Before = (None,),
) -> MatchedFlow:
    """From A to B at one moment; depth over time proposes what stands still, and the moment before all.

    If B's picture is of another time, it is matched as it would be at A's: what moves is elsewhere by then,
    also across the epipolar lines that are searched. The match is that of the pictures as they are.
    """
    then = Meeting(pictures.b, cameras, time)
    known = carried(before[0], before_a[0], before_b[0]) if config.carried else []
    said = then.proposals([*known, *heard.proposals(pictures.a, pictures.b)])
    proposals = [*_static(then.views, over_time), *said]
    return then.shown(match_pair(config, pictures.a, then.picture_b, then.views, proposals))


def refute(matched: MatchedFlow, cameras: RigFrame, over_time: DepthOverTime) -> DepthOverTime:
    """Depth over time without what B looks through: that moves, however still it seems to stand in A."""
    if not over_time.known:
        return over_time
    refuted = find_refuted(over_time.inverse, matched.uv, matched.back, cameras.views)
    return replace(over_time, unlike=np.where(refuted, np.float32(np.nan), over_time.unlike))


def match_optical_a(config: MatchConfig, now: Pictures, after: Pictures, heard: Heard) -> MatchedFlow:
    """From A at t to A at t + 1."""
    return match_film(config, now.a, after.a, heard.proposals(now.a, after.a))


def match_optical_b(config: MatchConfig, now: Pictures, after: Pictures, heard: Heard) -> MatchedFlow:
    """From B at t to B at t + 1."""
    return match_film(config, now.b, after.b, heard.proposals(now.b, after.b))


def match_pair(
    config: MatchConfig,
    first: Floats,
    second: Floats,
    views: tuple[View, View] | None,
    proposals: Sequence[Proposal] = (),
) -> MatchedFlow:
    """Between two cameras; without views, their epipolar geometry is estimated."""
    return kept_match(match(first, second, "stereo", views, config, proposals=proposals))


def match_film(
    config: MatchConfig, first: Floats, second: Floats, proposals: Sequence[Proposal] = ()
) -> MatchedFlow:
    """Between two pictures of one camera; the flow back only tells what is hidden."""
    return kept_match(match(first, second, "optical", None, config, both=False, proposals=proposals))


def fill_a(config: FillConfig, matched: MatchedFlow, pictures: Pictures, lenses: Lenses) -> FilledFlow:
    """A flow that starts from A."""
    return fill_flow(config, matched, pictures.a, lenses[0].known)


def fill_stereo(
    config: FillConfig,
    matched: MatchedFlow,
    pictures: Pictures,
    lenses: Lenses,
    cameras: RigFrame,
    over_time: DepthOverTime,
    time: OneTime,
) -> FilledFlow:
    """From A to B; what depth tells is asked at the time of A's picture."""
    then = Meeting(pictures.b, cameras, time)
    both = pictures.a, then.picture_b
    filled = fill_pair(config, then.met(matched), both, lenses[0].known, then.views, over_time)
    uv = then.shown_flow(filled.uv)
    return filled if uv is filled.uv else replace(filled, uv=rounded(uv))


def fill_pair(
    config: FillConfig,
    matched: MatchedFlow,
    pictures: tuple[Floats, Floats],
    known: Mask,
    views: tuple[View, View],
    over_time: DepthOverTime | None = None,
) -> FilledFlow:
    """Complete a stereo match where B does not show the pixel; ``known`` the lens of A has seen.

    A over time says where it is; without that, planes of the scene go on; the rest comes from colours.
    """
    occluded = find_hidden(config, matched, known, views)
    match, depth = Flow(matched.uv, matched.confidence), depth_shown(matched.uv, matched.back, views)
    flow, unknown, before, over = match, occluded, np.zeros_like(occluded), np.zeros_like(occluded)
    if over_time is not None and over_time.known:
        chance = static_chance(over_time)
        over = occluded & known & (chance > _BELIEVED)
        there = static_flow(*views, over_time.inverse)
        over &= np.isfinite(there[..., 0]) & np.isfinite(there[..., 1])
        flow, unknown = _where(over, Flow(there, chance), match), occluded & ~over
        behind = np.where(over, over_time.inverse, np.nan)
        before = ~occluded & find_occluders(matched.uv, behind, views)
    elif config.planes:
        flow, extended = extend_planes(
            pictures, flow, Flow(matched.back, matched.confidence_back), unknown, views, depth
        )
        unknown = unknown & ~extended
    filled = fill(pictures[0], flow, unknown | before, config)
    filled = _where(before, match, filled) if before.any() else filled
    shown = known & find_shown(filled.uv, matched.back, occluded, views, config)
    if config.pictures_decide:
        as_b = ColourTransform(matched.colours, np.inf)(pictures[0])
        undecided = occluded & known & ~over
        kept, seen = decide((as_b, pictures[1]), matched.uv, filled.uv, undecided, views, depth)
        filled = _where(kept, match, filled)
        shown = np.where(kept, seen, shown)
    return FilledFlow(rounded(filled.uv), rounded(filled.confidence), occluded & ~shown, matched.colours)


def _where(mask: Mask, first: Flow, second: Flow) -> Flow:
    """The first flow in the mask, the second elsewhere."""
    y, x = np.nonzero(mask)
    uv, confidence = second.uv.copy(), second.confidence.copy()
    uv[y, x], confidence[y, x] = first.uv[y, x], first.confidence[y, x]
    return Flow(uv, confidence)


def fill_b(config: FillConfig, matched: MatchedFlow, pictures: Pictures, lenses: Lenses) -> FilledFlow:
    """A flow that starts from B."""
    return fill_flow(config, matched, pictures.b, lenses[1].known)


def fill_flow(config: FillConfig, matched: MatchedFlow, picture: Floats, known: Mask) -> FilledFlow:
    """Complete a match where the other picture does not show the pixel; ``known`` the lens has seen."""
    occluded = find_hidden(config, matched, known)
    flow = fill(picture, Flow(matched.uv, matched.confidence), occluded, config)
    return FilledFlow(rounded(flow.uv), rounded(flow.confidence), occluded, matched.colours)


def find_hidden(
    config: FillConfig, matched: MatchedFlow, known: Mask, views: tuple[View, View] | None = None
) -> Mask:
    """(H, W): where a match is a guess; with ``views``, depth tells too.

    Raises
    ------
    NothingInCommonError
        Everywhere.
    """
    occluded = find_occluded(matched.uv, matched.back, config, views) | ~known
    if occluded.all():
        raise NothingInCommonError(
            "two pictures have nothing in common that could be matched; check that they belong together and "
            "that the rig is theirs"
        )
    return occluded


def _static(views: tuple[View, View], over_time: DepthOverTime) -> list[Proposal]:
    """What depth over time proposes: the flow of a world that stands still."""
    if not over_time.known:
        return []
    flow = static_flow(*views, over_time.inverse)
    believed = static_chance(over_time) > _PROPOSED
    return [Proposal(np.where(believed[..., None], flow, np.nan).astype(np.float32))]


def kept_match(found: Match) -> MatchedFlow:
    """A match as the stages hand it on."""
    return MatchedFlow(
        rounded(found.forward.uv),
        rounded(found.backward.uv),
        rounded(found.forward.confidence),
        rounded(found.backward.confidence),
        found.colours.matrix,
        found.colours_back.matrix,
    )
