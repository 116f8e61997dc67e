"""The unit of the world: what is known of lengths, laid over the cameras that were found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from wideflow.calibration import Calibration, motion_of_rig, scaled
from wideflow.calibration.tag_length import Sightings, look_for_tags, measure_tag
from wideflow.config import MatchConfig
from wideflow.errors import InputError
from wideflow.geometry import baseline
from wideflow.pipeline.before.known_length import measure_length
from wideflow.pipeline.scale import KnownScale
from wideflow.progress import Progress
from wideflow.sync import FramePairs
from wideflow.types import Rig, RigFrame
from wideflow.video.read import Video

_MOMENTS = 24  # that are searched for a tag, evenly over time
_POINT = 0.4  # px that a dense match, and a hand that picks pixels, put each end of a length off
_REMEDY = (
    "print one with 'wideflow tag', stand it where both cameras see it flat, whole and at least 30 pixels "
    "wide, or give the scale with --scale or --scale-points"
)


def with_scale(
    found: Calibration,
    known: KnownScale,
    videos: tuple[Video, Video],
    pairs: FramePairs,
    config: MatchConfig,
    progress: Progress,
) -> Calibration:
    """The calibration in the unit of what is known; its report says where that comes from, and how sure.

    Parameters
    ----------
    found : Calibration
        In any unit.
    known : KnownScale
        Nothing changes if nothing is known.
    videos : (Video, Video)
        A and B.
    pairs : FramePairs
        Frames filmed at the same time.
    config : MatchConfig
        Settings of the dense match that finds two points in B.
    progress : callable
        Called with the steps done, all steps, and what comes next.

    Raises
    ------
    InputError
        What is to be measured is not found in the videos.
    """
    if known.distance is not None:
        here = _frame(found.rig, known.frame)
        own, error = baseline(*here.views), 0.0
        others = _spread(found, lambda rig: baseline(*_frame(rig, known.frame).views))
        factor = known.distance / own
        how, means = f"cameras {known.distance:g} apart in frame {here.index}", ""
    elif known.points is not None and known.length is not None:
        here = _frame(found.rig, known.frame)
        at = np.flatnonzero(pairs.a == here.index)
        if not at.size:
            raise InputError(f"frame {here.index} of --scale-frame has no partner in B; choose another")
        pictures = (
            videos[0].frame(here.index, np.float32),
            videos[1].frame(int(pairs.b[at[0]]), np.float32),
        )
        length = measure_length(pictures, here.views, known.points, config, progress)
        own, others = length.length, _spread(found, lambda rig: length.of(_frame(rig, known.frame).views))
        factor, error = known.length / own, _POINT * length.error
        how = f"{known.length:g} between two points of frame {here.index}"
        away = factor * length.distance
        means = f"the points are {away:.3g} from A"
    elif known.tag is not None:
        return _by_tag(found, known.tag, videos, pairs, progress)
    else:
        return found
    return _rescaled(found, factor, how, float(np.hypot(error, others)), means)


def _by_tag(
    found: Calibration, size: float, videos: tuple[Video, Video], pairs: FramePairs, progress: Progress
) -> Calibration:
    seen = _seen(found.rig, videos, pairs, progress)
    tag = measure_tag(found.rig, seen)
    if tag is None:
        a, b = seen.counts
        raise InputError(
            f"tag {seen.number} is seen in {a} pictures of A and {b} of B, but never from two places at one "
            f"moment; {_REMEDY}"
        )

    def side(rig: Rig) -> float:
        other = measure_tag(rig, seen)
        return np.nan if other is None else other.side

    error = float(np.hypot(tag.error, _spread(found, side)))
    a, b = seen.counts
    kind = "stands still" if tag.still else "moves"
    how = f"tag {seen.number} of {size:g} m, which {kind}, in {a} pictures of A and {b} of B"
    away = [size / tag.side * distance for distance in tag.distance]
    means = f"the tag is {away[0]:.3g} m from A and {away[1]:.3g} m from B"
    return _rescaled(found, size / tag.side, how, error, means, " m")


def _seen(rig: Rig, videos: tuple[Video, Video], pairs: FramePairs, progress: Progress) -> Sightings:
    """The tag that both cameras see best."""
    partner = dict(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    if len(rig.frames) == 1:
        usable = sorted(partner)
    else:
        usable = [frame.index for frame in rig.frames if frame.index in partner]
    picks = np.unique(np.linspace(0, len(usable) - 1, _MOMENTS).round().astype(int))
    moments = [usable[pick] for pick in picks]
    progress(0, 1, "looking for the tag")
    tags = look_for_tags(videos, [(moment, moment, partner[moment]) for moment in moments])
    progress(1, 1, "looking for the tag")
    if not tags:
        raise InputError(f"no tag is found in {len(moments)} moments of the videos; {_REMEDY}")
    if min(tags[0].counts) == 0:
        only = "A" if tags[0].counts[0] else "B"
        raise InputError(f"tag {tags[0].number} is seen by {only} only; {_REMEDY}")
    return tags[0]


def _frame(rig: Rig, index: int | None) -> RigFrame:
    return rig.frames[0] if index is None else rig.frame(index)


def _spread(found: Calibration, measure: Callable[[Rig], float]) -> float:
    """Relative deviation of a length that what is not known of the cameras makes."""
    own = measure(found.rig)
    ratios = np.array([measure(other) / own - 1 for other in found.alternatives])
    return float(np.sqrt(np.nansum(ratios**2)))


def _rescaled(
    found: Calibration, factor: float, how: str, error: float, means: str, unit: str = ""
) -> Calibration:
    rig = scaled(found.rig, factor)
    lengths, _ = motion_of_rig(rig)
    apart = f"the cameras are {float(np.mean(lengths)):.3g}{unit} apart on average"
    said = ", and ".join(part for part in (apart, means) if part)
    report = replace(found.report, scale=how, scale_error=error, scale_means=said, baseline=lengths)
    others = tuple(scaled(other, factor) for other in found.alternatives)
    return Calibration(rig, report, others)
