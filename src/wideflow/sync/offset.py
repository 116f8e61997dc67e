"""The whole question: when did B start on A's clock, how sure is that, which frames go together."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.config import SyncConfig
from wideflow.errors import InputError
from wideflow.progress import Progress, silent
from wideflow.sync.doubts import sentence
from wideflow.sync.pairing import FramePairs, pair_frames
from wideflow.sync.picture_match import PictureMatch, match_pictures, refine_offset
from wideflow.sync.sound import RATE, SoundMatch, match_sound
from wideflow.video.read import Video

_SHORTEST = 0.5  # seconds below which a clip shows and tells too little
_LONGEST_SOUND = 7200  # seconds of sound that are held in memory
_GEOMETRY_ERROR = 0.008  # seconds: a smaller difference is more likely the error of geometry
_SOUND_ERROR = 0.06  # seconds that sound is late or early at most: 20 m
_FOUND = 0.25  # share of the right offsets of short clips that pictures find too, on the careful side
_LUCK = 0.03  # chance at least of finding the same wrong offset twice: some things repeat


@dataclass(frozen=True, eq=False)
class Sync:
    """When B was filmed, on A's clock: its time t is ``offset_seconds + rate * t``.

    Attributes
    ----------
    offset_seconds : float
        Above 0: B started later.
    rate : float
        Seconds of A that pass in one of B; 1 unless the clips are long enough to tell.
    method : str
        "sound", "sound and geometry", "sound and movement", "geometry", "movement", or "given".
    confidence : float
        0 (a guess) .. 1 (certain).
    pairs : FramePairs
        Each frame of A with its nearest of B, and the time that remains between them.
    notes : tuple of str
        Sentences for the user, such as why the answer is uncertain.
    reasons : tuple of str
        The same for programs: names of `wideflow.sync.doubts.WORDS`, the weightiest first; empty where the
        answer is to be trusted.
    """

    offset_seconds: float
    rate: float
    method: str
    confidence: float
    pairs: FramePairs
    notes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def synchronise(
    a: Video | str | os.PathLike[str],
    b: Video | str | os.PathLike[str],
    config: SyncConfig | None = None,
    offset: float | None = None,
    progress: Progress | None = None,
) -> Sync:
    """Find the time offset between two clips of the same moment.

    Sound is compared first. Pictures make its answer exact, and find one of their own where there is no
    sound to trust: what moves must move in both clips at once, and moving points must meet their epipolar
    lines.

    Parameters
    ----------
    a, b : Video or path
        The two clips.
    config : SyncConfig, optional
        What to use and how far to look.
    offset : float, optional
        A known offset in seconds; nothing is measured then, frames are only paired.
    progress : callable, optional
        Called with the steps done, all steps, and what comes next.

    Raises
    ------
    FileError
        A clip cannot be read.
    InputError
        A clip is too short, nothing moves in it, or the clips share no time at the given offset.
    """
    videos = _opened(a), _opened(b)
    settings, report = config or SyncConfig(), progress or silent
    if offset is not None:
        if not math.isfinite(offset):
            raise InputError(f"an offset of {offset} seconds is no time; give a number")
        return _answer(videos, offset, 1.0, "given", 1.0, settings, ())
    for video in videos:
        if video.duration < _SHORTEST:
            raise InputError(
                f"'{video.path}' has {len(video)} frames, {video.duration:.2g} s, too short to tell when it "
                "was filmed; give the offset with --offset"
            )
    heard = _by_sound(videos, report) if settings.use != "pictures" else None
    if heard is not None and (heard.confidence >= settings.trusted or settings.use == "sound"):
        return _sound_answer(videos, heard, settings, report)
    if settings.use == "sound":
        raise InputError("sound cannot synchronise these clips, as one of them is silent; use pictures too")
    seen = match_pictures(videos[0], videos[1], settings, report)
    report(6, 6, "done")
    return _uncertain_answer(videos, heard, seen, settings)


def _opened(video: Video | str | os.PathLike[str]) -> Video:
    return video if isinstance(video, Video) else Video(video)


def _by_sound(videos: tuple[Video, Video], report: Progress) -> SoundMatch | None:
    if not all(video.has_sound for video in videos):
        return None
    report(0, 6, "listening")
    with ThreadPoolExecutor(2) as both:
        tracks = list(both.map(_track, videos))
    return match_sound(tracks[0], tracks[1])


def _track(video: Video) -> NDArray[np.float32]:
    pieces: list[NDArray[np.float32]] = []
    length = 0
    for piece in video.sound(RATE):
        pieces.append(piece)
        length += len(piece)
        if length > _LONGEST_SOUND * RATE:
            break
    return np.concatenate(pieces) if pieces else np.zeros(0, np.float32)


def _sound_answer(
    videos: tuple[Video, Video], heard: SoundMatch, settings: SyncConfig, report: Progress
) -> Sync:
    method, found = "sound", heard.offset
    if settings.refine and settings.use == "both":
        report(3, 6, "comparing moving points with their epipolar lines")
        # drift moves the offset of the middle, where pictures are compared
        middle = 0.5 * min(videos[0].duration, videos[1].duration)
        shift = (heard.rate - 1) * middle
        exact = refine_offset(videos[0], videos[1], heard.offset + shift)
        if exact is not None and _GEOMETRY_ERROR <= abs(exact.offset - shift - heard.offset) <= _SOUND_ERROR:
            method, found = "sound and geometry", exact.offset - shift
    report(6, 6, "done")
    return _answer(videos, found, heard.rate, method, heard.confidence, settings, heard.doubts)


def _uncertain_answer(
    videos: tuple[Video, Video], heard: SoundMatch | None, seen: PictureMatch | None, settings: SyncConfig
) -> Sync:
    """The better of what was heard and seen, neither of which is certain; surer where both say the same."""
    if heard is not None and seen is not None:
        both = _agreed(videos, heard, seen)
        if both > max(heard.confidence, seen.confidence):
            how = f"sound and {seen.how}"
            return _answer(videos, heard.offset, heard.rate, how, both, settings, heard.doubts)
    if heard is not None and (seen is None or heard.confidence > seen.confidence):
        return _answer(videos, heard.offset, heard.rate, "sound", heard.confidence, settings, heard.doubts)
    if seen is None:
        raise InputError(
            f"nothing in '{videos[0].path}' and '{videos[1].path}' tells when they were filmed: no common "
            "sound, and too little moves; give the offset with --offset"
        )
    return _answer(videos, seen.offset, 1.0, seen.how, seen.confidence, settings, seen.doubts)


def _agreed(videos: tuple[Video, Video], heard: SoundMatch, seen: PictureMatch) -> float:
    """Chance that an offset is right which sound and pictures find to a frame, each without the other.

    By Bayes' rule: either sound is right, and pictures found it too, or it is wrong, and they met by luck.
    """
    frame = max(1 / video.fps for video in videos)
    if abs(heard.offset - seen.offset) > frame:
        return 0.0
    luck = max(_LUCK, 2 * frame / (videos[0].duration + videos[1].duration))
    right, wrong = heard.confidence * _FOUND, (1 - heard.confidence) * luck
    return right / (right + wrong)


def _answer(
    videos: tuple[Video, Video],
    offset: float,
    rate: float,
    method: str,
    confidence: float,
    settings: SyncConfig,
    doubts: tuple[str, ...],
) -> Sync:
    pairs = pair_frames(videos[0].times, videos[1].times, offset, rate)
    if not len(pairs.a):
        raise InputError(
            f"'{videos[0].path}' and '{videos[1].path}' share no moment if B started {offset:.3f} s after A; "
            "check the offset"
        )
    if confidence >= settings.trusted:
        return Sync(offset, rate, method, confidence, pairs)
    note = sentence(offset, method, confidence, doubts)
    return Sync(offset, rate, method, confidence, pairs, (note,), doubts)
