"""When by eye: movement finds the offset, epipolar geometry makes it exact."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.config import SyncConfig
from wideflow.geometry.features import Features, detect_features, match_features
from wideflow.progress import Progress
from wideflow.sync.epipolar import crossings, follow
from wideflow.sync.lags import peaks
from wideflow.sync.motion import MotionSeries, joined, motion_series
from wideflow.sync.movement import MotionMatch, match_motion
from wideflow.sync.votes import Election, Votes, count_votes
from wideflow.video.read import Video

_WIDTH = 640  # px of the longer side for features
_FEATURES, _CONTRAST = 2000, 0.02
_SPACING = 0.2  # seconds between frames that are matched
_REACH = 0.27  # seconds that points are followed to either side
_SEGMENT = 4.0  # seconds up to which clips are matched as a whole, for every offset
_PART = 3.0  # seconds of longer ones that are matched, near an offset that is nearly right
_TRIAL = 2.0  # and near one that is only likely
_ANCHORS = 10  # frames of A that are matched
_CANDIDATES = 2  # offsets by movement that geometry examines
_PATIENCE = 4  # frames of B after which a pair of clips without common geometry is given up
_SLACK = 0.25  # seconds about a candidate that geometry examines
_CLOSE = 0.1  # seconds that geometry may correct another answer by
_SURE = 0.8  # confidence that it needs for that
_SAMPLED = 10.0  # frames per second that show movement well enough in clips with many frames
_MANY = 400  # frames
_PIECE = 15.0  # seconds that one thread watches at once


@dataclass(frozen=True)
class PictureMatch:
    """Offset in seconds, how it was found ("geometry" or "movement"), confidence in 0..1, and its doubts."""

    offset: float
    how: str
    confidence: float
    doubts: tuple[str, ...] = ()


def match_pictures(a: Video, b: Video, config: SyncConfig, progress: Progress) -> PictureMatch | None:
    """Find the offset of two clips from their pictures alone; None where nothing moves."""
    spans = _spans(a, b, config)
    progress(1, 6, "watching what moves")
    series = _both_series((a, b), spans)
    movement = match_motion(series[0], series[1])
    progress(3, 6, "comparing moving points with their epipolar lines")
    if max(stop - start for start, stop in spans) <= _SEGMENT:
        span_a, span_b = spans
        found = geometry_offset(a, b, span_a, span_b, span_a[0] - span_b[1], span_a[1] - span_b[0])
    else:
        found = None if movement is None else _best_candidate(a, b, spans, series[0], movement)
    return _decide(movement, found, a, b, spans)


def refine_offset(a: Video, b: Video, offset: float) -> PictureMatch | None:
    """Make an offset that is right to a tenth of a second exact by geometry; None where that is not sure.

    Nor where disjoint halves of the pairs of frames differ by as much as the correction: that is its error.
    """
    first, last = max(0.0, offset), min(a.duration, b.duration + offset)
    middle, half = 0.5 * (first + last), 0.5 * min(_PART, last - first)
    if half <= _REACH:
        return None
    span = middle - half, middle + half
    found = geometry_offset(
        a, b, span, (span[0] - offset, span[1] - offset), offset - _SLACK, offset + _SLACK
    )
    if found is None or not 2 * found.spread <= abs(found.offset - offset) <= _CLOSE:
        return None
    return PictureMatch(found.offset, "geometry", found.confidence) if found.confidence >= _SURE else None


def geometry_offset(
    a: Video, b: Video, span_a: tuple[float, float], span_b: tuple[float, float], low: float, high: float
) -> Election | None:
    """Let moving points of a part of A and a part of B, in seconds, vote for an offset in low .. high."""
    with ThreadPoolExecutor(2) as both:
        grey_a, grey_b = both.map(_greys, (a, b), (span_a, (span_b[0] - _REACH, span_b[1] + _REACH)))
    anchors_a = _anchors(list(grey_a), (span_a[1] - span_a[0]) / _SPACING, _ANCHORS)
    anchors_b = _anchors(list(grey_b), (span_b[1] - span_b[0]) / _SPACING, 1000)
    plan = {
        j: [i for i in anchors_a if low - _REACH / 2 <= a.times[i] - b.times[j] <= high + _REACH / 2]
        for j in anchors_b
    }
    cache: dict[int, Features] = {}
    pairs: list[Votes] = []
    for tried, (j, partners) in enumerate((j, some) for j, some in plan.items() if some):
        if tried == _PATIENCE and not pairs:
            return None  # the views differ too much to be matched, and will not come nearer
        cache |= {i: _features(grey_a[i]) for i in partners if i not in cache}
        pairs += _frame_votes(a, b, j, {i: cache[i] for i in partners}, grey_b)
    return count_votes(pairs, low, high) if pairs else None


def _greys(video: Video, span: tuple[float, float]) -> dict[int, NDArray[np.uint8]]:
    return dict(video.grey(_WIDTH, *_indices(video, *span)))


def _features(grey: NDArray[np.uint8]) -> Features:
    return detect_features(grey, _FEATURES, contrast=_CONTRAST)


def _frame_votes(
    a: Video, b: Video, j: int, partners: dict[int, Features], grey_b: dict[int, NDArray[np.uint8]]
) -> list[Votes]:
    """What moving points about frame ``j`` of B say when matched with each of some frames of A."""
    reach = min(10, max(4, round(_REACH * b.fps)))
    here = _features(grey_b[j])
    matches = {i: match_features(there, here) for i, there in partners.items()}
    used = np.unique(np.concatenate([pairs[:, 1] for pairs in matches.values()]))
    if len(used) == 0:
        return []
    window = {k: grey_b[k] for k in range(j - reach, j + reach + 1) if k in grey_b}
    tracks = follow(window, j, reach, here.xy[used])
    times = np.interp(np.arange(j - reach, j + reach + 1), np.arange(len(b)), b.times)
    votes = []
    for i, pairs in matches.items():
        x = partners[i].xy[pairs[:, 0]].astype(np.float64)
        crossed = crossings(x, tracks[:, np.searchsorted(used, pairs[:, 1])])
        if crossed is not None:
            when = np.interp(crossed[0], np.arange(len(times)), times)
            now = float(a.times[i])
            votes.append(Votes(now - when, crossed[1] * b.fps, now - times[-1], now - times[0]))
    return votes


def _best_candidate(
    a: Video,
    b: Video,
    spans: tuple[tuple[float, float], tuple[float, float]],
    series: MotionSeries,
    movement: MotionMatch,
) -> Election | None:
    """Geometry near the offsets that movement likes, each where most moves in the time both clips share."""
    step = float(movement.offsets[1] - movement.offsets[0])
    best: Election | None = None
    for peak in peaks(movement.score, _CANDIDATES, apart=math.ceil(2 * _SLACK / step)):
        offset = float(movement.offsets[peak])
        first, last = max(spans[0][0], spans[1][0] + offset), min(spans[0][1], spans[1][1] + offset)
        if last - first < 4 * _REACH:
            continue
        begin = _busiest_start(series, first, last)
        span = begin, min(last, begin + _TRIAL)
        found = geometry_offset(
            a, b, span, (span[0] - offset, span[1] - offset), offset - _SLACK, offset + _SLACK
        )
        if found is not None and (best is None or found.confidence > best.confidence):
            best = found
        if best is not None and best.confidence >= _SURE:
            break
    return best


def _decide(
    movement: MotionMatch | None,
    found: Election | None,
    a: Video,
    b: Video,
    spans: tuple[tuple[float, float], tuple[float, float]],
) -> PictureMatch | None:
    """Geometry where it is surer, or confirms movement; where the two contradict, neither is certain."""
    if movement is None or found is None:
        if found is not None:
            return PictureMatch(found.offset, "geometry", found.confidence, found.doubts)
        if movement is None:
            return None
        return PictureMatch(movement.offset, "movement", movement.confidence, movement.doubts)
    sure, lead = movement.confidence, found.confidence
    everywhere = max(stop - start for start, stop in spans) <= _SEGMENT
    if abs(found.offset - movement.offset) <= _CLOSE:
        # geometry that was only asked near the offset of movement has not found it by itself
        confirmed = 1 - (1 - sure) * (1 - lead) if everywhere else max(sure, lead)
        doubts = min(movement.doubts, found.doubts, key=len)
        if lead < sure and math.isinf(found.spread):  # too few votes to be more exact than movement
            return PictureMatch(movement.offset, "movement", confirmed, doubts)
        return PictureMatch(found.offset, "geometry", confirmed, doubts)
    if lead >= sure:
        doubts = ("contradiction", *found.doubts)
        return PictureMatch(found.offset, "geometry", lead * (1 - sure), doubts)
    if everywhere:
        near = refine_offset(a, b, movement.offset)
        if near is not None:
            return PictureMatch(near.offset, "geometry", sure, movement.doubts)
    return PictureMatch(movement.offset, "movement", sure * (1 - lead), ("contradiction", *movement.doubts))


def _spans(a: Video, b: Video, config: SyncConfig) -> tuple[tuple[float, float], tuple[float, float]]:
    """Seconds of A, and of B about them, that are watched: all of short clips."""
    length = min(config.window, a.duration)
    start = 0.5 * (a.duration - length)
    low, high = start - config.largest_offset, start + length + config.largest_offset
    if a.duration <= config.window and b.duration <= config.window + 2 * config.largest_offset:
        return (0.0, a.duration), (0.0, b.duration)
    return (start, start + length), (max(0.0, min(low, b.duration - length)), min(b.duration, high))


def _both_series(
    videos: tuple[Video, Video], spans: tuple[tuple[float, float], tuple[float, float]]
) -> list[MotionSeries]:
    """Movement in both clips, watched in pieces by two threads, as decoding takes longest."""
    with ThreadPoolExecutor(2) as both:
        waiting = []
        for video, span in zip(videos, spans, strict=True):
            first, last = _indices(video, *span)
            stride = 1 if last - first <= _MANY else max(1, round(video.fps / _SAMPLED))
            piece = stride * max(1, math.ceil(_PIECE * video.fps / stride))
            waiting.append(
                [
                    # with the frame that the next piece begins with: movement is between two frames
                    both.submit(motion_series, video, begin, min(last, begin + piece + 1), stride)
                    for begin in range(first, last, piece)
                ]
            )
        done = [[part.result() for part in parts] for parts in waiting]
    return [joined(parts) for parts in done]


def _indices(video: Video, start: float, stop: float) -> tuple[int, int]:
    first, last = np.searchsorted(video.times, [start - 1e-6, stop + 1e-6])
    return int(first), int(last)


def _anchors(indices: list[int], wanted: float, most: int) -> list[int]:
    """Frames spread evenly, none at the very ends."""
    if not indices:
        return []
    count = int(min(most, max(2, round(wanted))))
    places = np.linspace(0, len(indices) - 1, count + 2)[1:-1]
    return [indices[k] for k in np.unique(np.rint(places).astype(int))]


def _busiest_start(series: MotionSeries, first: float, last: float) -> float:
    """Start of the part between two times in which most moves."""
    energy = series.values[:, 0].mean(axis=1)
    starts: NDArray[np.float64] = np.arange(first, max(last - _TRIAL, first) + 1e-9, 0.5)
    sums = [energy[(series.times >= s) & (series.times <= s + _TRIAL)].sum() for s in starts]
    return float(starts[int(np.argmax(sums))])
