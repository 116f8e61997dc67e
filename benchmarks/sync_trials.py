"""Is the confidence of a synchronisation true: many random parts of clips, of one event and of none.

Three kinds of trials: parts of two clips of one event that overlap, parts that share no moment, and parts of
different events. An answer is right if it is within a frame of the truth; in the last two kinds none is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import SyncConfig
from wideflow.errors import WideflowError
from wideflow.sync import synchronise
from wideflow.sync.motion import MotionSeries, motion_series
from wideflow.video.read import Video

# seconds at which the cameras of sequence69 start, from the lamp that all of them see
LAMPS = {"cam01": 4.05, "cam02": 0.0, "cam03": 5.2}
TRUSTED = 0.5
BINS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Clip:
    """A clip of an event, and when it starts on the event's clock in seconds."""

    event: str
    video: Video
    start: float


@dataclass(frozen=True)
class Outcome:
    """What was asked, by which cue, how sure the answer was, and whether it was right."""

    kind: str
    use: str
    event: str
    confidence: float
    right: bool


class Part(Video):
    """Some successive frames of a video, as if they were all of it."""

    def __init__(self, whole: Video, first: int, last: int) -> None:
        self.path, self.size, self.has_sound = whole.path, whole.size, whole.has_sound
        self.whole, self.first = whole, first
        self.times = whole.times[first:last] - whole.times[first]

    def _sources(self, start: int, stop: int | None, stride: int) -> Iterator[tuple[int, Any]]:
        begin, end, _ = slice(start, stop).indices(len(self))
        for index, source in self.whole._sources(begin + self.first, end + self.first, stride):
            yield index - self.first, source

    def sound(self, rate: int = 48000) -> Iterator[NDArray[np.float32]]:
        begin = float(self.whole.times[self.first])
        pieces = list(self.whole.sound(rate))
        yield np.concatenate(pieces)[round(begin * rate) : round((begin + self.duration) * rate)]


def clips(root: Path) -> list[Clip]:
    """All clips with known times below the folder of the measuring data."""
    found = []
    for path in sorted([*root.glob("sync/*/*.mp4"), *root.glob("real/sync/badminton*.mp4")]):
        name = re.fullmatch(r"([a-z]+).*_([a-z]+\d+)_(\d+)_\d+_\d+", path.stem)
        if name is not None:
            video = Video(path)
            start = LAMPS[name[2]] if path.parent.name == "sequence69" else int(name[3]) / video.fps
            found.append(Clip(name[1], video, start))
    for event in ("pan18_first", "pan25_last"):  # each its own event, as they share no moment
        found += [Clip(event, Video(path), 0.0) for path in root.glob(f"real/sync/{event}.mp4")]
    found += [Clip("audio", Video(path), _late(path)) for path in sorted(root.glob("audio/*.mp4"))]
    for clip in sorted(root.glob("handheld/clip*")):
        late = json.loads((clip / "truth.json").read_text())["offset_seconds"]
        found += [Clip(clip.name, Video(clip / f"{side}.mp4"), late * (side == "b")) for side in "ab"]
    return found


def _late(path: Path) -> float:
    seconds = re.match(r"(\d+)-secs", path.stem)
    return float(seconds[1]) if seconds else 0.0


def trials(found: list[Clip], use: str, count: int, seed: int) -> Iterator[Outcome]:
    """Outcomes of ``count`` random trials of each kind, by "sound" or by "pictures"."""
    rng = np.random.default_rng([seed, count])
    pairs = [(one, two) for one, two in combinations(found, 2)] + [(one, one) for one in found]
    for kind in ("common", "apart", "different"):
        left = count
        for _ in range(1000 * count):
            one, two = pairs[rng.integers(len(pairs))]
            if (one.event == two.event) != (kind != "different") or (kind == "common" and one is two):
                continue
            if rng.random() < 0.5:
                one, two = two, one
            a, b = _part(one, rng, use), _part(two, rng, use)
            start_a, start_b = (c.start + p.whole.times[p.first] for c, p in ((one, a), (two, b)))
            common = min(start_a + a.duration, start_b + b.duration) - max(start_a, start_b)
            if kind == "common" and common < (1.0 if use == "sound" else 2.5):
                continue
            if kind == "apart" and common > -0.2:
                continue
            yield _outcome(kind, use, one.event, a, b, start_b - start_a if kind == "common" else np.nan)
            left -= 1
            if left == 0:
                break


def _part(clip: Clip, rng: np.random.Generator, use: str) -> Part:
    low, high = (0.7, 8.0) if use == "sound" else (4.0, 13.0)
    length = min(rng.uniform(low, high) * clip.video.fps, rng.uniform(0.55, 1.0) * len(clip.video))
    first = int(rng.integers(len(clip.video) - int(length) + 1))
    return Part(clip.video, first, first + int(length))


def _outcome(kind: str, use: str, event: str, a: Part, b: Part, truth: float) -> Outcome:
    try:
        answer = synchronise(a, b, SyncConfig(use=use))
    except WideflowError:
        return Outcome(kind, use, event, 0.0, False)
    frame = 1 / min(a.fps, b.fps)
    return Outcome(kind, use, event, answer.confidence, abs(answer.offset_seconds - truth) <= frame)


def table(outcomes: list[Outcome]) -> str:
    """How often right and wrong answers were trusted, and how often answers of a confidence were right."""
    lines = [
        "| by | parts | trials | right | of these trusted | wrong | of these trusted | highest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for use, kind in dict.fromkeys((one.use, one.kind) for one in outcomes):
        some = [one for one in outcomes if (one.use, one.kind) == (use, kind)]
        right = [one.confidence for one in some if one.right]
        wrong = [one.confidence for one in some if not one.right]
        trusted = [sum(value >= TRUSTED for value in values) for values in (right, wrong)]
        lines.append(
            f"| {use} | {kind} | {len(some)} | {len(right)} | {trusted[0]} | {len(wrong)} | {trusted[1]} "
            f"| {max(wrong, default=0.0):.2f} |"
        )
    lines += ["", "| confidence | answers | right |", "|---|---|---|"]
    confidence = np.array([one.confidence for one in outcomes])
    right = np.array([one.right for one in outcomes])
    for low, high in zip(BINS, (*BINS[1:-1], 1.01), strict=False):
        inside = (confidence >= low) & (confidence < high)
        if inside.any():
            lines.append(f"| {low} to {min(high, 1)} | {inside.sum()} | {right[inside].mean():.2f} |")
    return "\n".join(lines)


def run(root: Path, count: int = 35, seed: int = 0) -> list[Outcome]:
    """All trials of a seed, by pictures on clips of some seconds and by sound on those that have it."""
    found = clips(root)
    silent = [clip for clip in found if not clip.video.has_sound]
    heard = [clip for clip in found if clip.video.has_sound]
    watched: dict[Path, MotionSeries] = {}

    def series(part: Video, start: int, stop: int, stride: int) -> MotionSeries:
        """Of a part, cut out of that of the whole clip, which is watched once."""
        if not isinstance(part, Part) or stride != 1:
            return motion_series(part, start, stop, stride)
        if part.path not in watched:
            watched[part.path] = motion_series(part.whole, 0, len(part.whole), 1)
        inside = slice(part.first + start, part.first + stop - 1)
        whole = watched[part.path]
        return MotionSeries(whole.times[inside] - part.whole.times[part.first], whole.values[inside])

    cv2.setRNGSeed(0)
    with patch("wideflow.sync.picture_match.motion_series", series):
        return [*trials(silent, "pictures", count, seed), *trials(heard, "sound", count, seed)]
