"""The whole question: where was each camera in every frame, and how good is that."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.figures import measure
from wideflow.calibration.poses import scaled, smoothed, with_mean_baseline
from wideflow.calibration.report import CalibrationReport
from wideflow.calibration.sightings.crossing import find_crossings
from wideflow.calibration.sightings.keyframes import choose_keyframes, motion_of_both
from wideflow.calibration.sightings.keys import Keys, number_poses, read_keys
from wideflow.calibration.sightings.matches import Matcher, Pixels, follow_matches, match_moments
from wideflow.calibration.sightings.tracks import Tracks
from wideflow.calibration.solving.lens import LensPrior, first_lenses
from wideflow.calibration.solving.moments import Moments, solve_moments
from wideflow.calibration.solving.placing import place_frames, rig_of
from wideflow.calibration.solving.readout import settle_readouts
from wideflow.calibration.solving.spread import alternative_rigs
from wideflow.calibration.solving.world import World, build_world
from wideflow.config import CalibrateConfig
from wideflow.errors import CalibrationError, InputError
from wideflow.files.fingerprint import fingerprint
from wideflow.geometry import baseline
from wideflow.progress import Progress, silent
from wideflow.storage.parts import Parts
from wideflow.storage.place import Place
from wideflow.storage.versions import made_by
from wideflow.types import Camera, Rig
from wideflow.video.read import Video
from wideflow.video.state import video_state

Ints = NDArray[np.int64]

_DOUBTED = 0.65  # share of the area that agrees with one world below which others are tried
_OTHER_LENSES = (0.8, 0.9, 1.1, 1.25)  # times the focal lengths that pairs of pictures tell
_HELD = 0.02  # standard deviation of their logarithm, so that pairs stay with them
_MORE = 1.02  # times as many sightings must stand still in another world


class Pairs(Protocol):
    """Frames of A and the frames of B that were filmed at the same time, (n,) each; A's rise."""

    @property
    def a(self) -> Ints: ...

    @property
    def b(self) -> Ints: ...


@dataclass(frozen=True, eq=False)
class Calibration:
    """The cameras of every frame, and how good they are.

    Attributes
    ----------
    rig : Rig
    report : CalibrationReport
    alternatives : tuple of Rig
        Each is one standard deviation from ``rig`` in another direction of what the videos do not tell.
    """

    rig: Rig
    report: CalibrationReport
    alternatives: tuple[Rig, ...] = ()


def calibrate(
    a: Video,
    b: Video,
    pairs: Pairs,
    intrinsics: tuple[Camera | None, Camera | None] = (None, None),
    config: CalibrateConfig | None = None,
    work: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    matcher: Matcher | None = None,
) -> Calibration:
    """Find the lens of both cameras and where they were in every pair of frames.

    The two cameras at each of some key moments first, from that moment alone, since then everything is rigid;
    then one world of what stands still over time, which ties the moments together and tells the lenses; then
    every frame in it.

    All is as in `wideflow.calibrate`, but for ``matcher``, which gives the dense matches of two pictures;
    without it there are sparse ones alone.
    """
    settings, report = config or CalibrateConfig(), progress or silent
    if len(pairs.a) == 0:
        raise InputError(f"'{a.path}' and '{b.path}' share no frames, so there is nothing to calibrate")
    videos, frames = (a, b), (np.asarray(pairs.a, np.int64), np.asarray(pairs.b, np.int64))
    prior = first_lenses(videos, intrinsics)
    kept = Parts(
        None if work is None else Place(str(work)), _key(videos, frames, prior, settings, matcher is not None)
    )
    moved = kept.part("motion", lambda: {"motion": motion_of_both(videos, frames, _part(report, 0, 10))})
    keyframes = choose_keyframes(
        moved["motion"],
        settings.spacing,
        settings.longest_gap,
        settings.fewest_keyframes,
        settings.most_keyframes,
    )
    keyframes, grey = read_keys(videos, frames, keyframes, settings.size)
    if len(keyframes) == 0:
        raise InputError(f"no frame of '{a.path}' and '{b.path}' can be decoded; copy the videos again")
    keys = number_poses(keyframes, frames, grey, (False, False))
    late = getattr(pairs, "error", np.zeros(len(frames[0])))[keys.pairs]
    matches, together = match_moments(videos, keys, late, settings, matcher, kept, _part(report, 10, 60))
    keys, tracks = follow_matches(videos, frames, keys, matches, settings, _part(report, 60, 70))
    report(70, 100, "the two cameras at each moment")

    def build(tracks: Tracks, matches: dict[int, Pixels]) -> World:
        report(75, 100, "one world of what stands still")
        return _world(tracks, matches, keys, prior, settings)

    settled = settle_readouts(
        tracks,
        together,
        prior,
        [c for c in (0, 1) if settings.readout and not keys.static[c] and not videos[c].turned],
        lambda: find_crossings(videos, keys, tracks, _part(report, 70, 73)),
        build,
    )
    world, readouts = settled.world, settled.readout.seconds
    places = place_frames(
        videos,
        frames,
        keys,
        tracks,
        world,
        prior,
        readouts,
        settings.followed,
        settings.size,
        _steps(report, frames, 80, 95),
    )
    cameras = [replace(prior.camera(c, world.bundle.lenses[c]), readout=readouts[c]) for c in (0, 1)]
    rig = rig_of(places, (cameras[0], cameras[1]), videos, frames)
    if rig is None:
        raise CalibrationError(
            "placing the frames between the key moments",
            "none could be placed in one space",
            "film with more overlap and more texture that stands still",
        )
    report(95, 100, "how sure that is")
    others = alternative_rigs(rig, world, settled.tracks, keys, prior, frames)
    unit = 1 / float(np.mean([baseline(*frame.views) for frame in rig.frames]))
    rig = smoothed(with_mean_baseline(rig), settings.smoothing)
    others = tuple(scaled(other, unit) for other in others)
    registered = [sum(frame in places[c] for frame in frames[c].tolist()) for c in (0, 1)]
    figures = measure(
        rig,
        others,
        settled,
        keys,
        late,
        prior,
        len(frames[0]),
        (registered[0], registered[1]),
    )
    report(100, 100, "done")
    return Calibration(rig, figures, others)


def _key(
    videos: tuple[Video, Video],
    frames: tuple[Ints, Ints],
    prior: LensPrior,
    settings: CalibrateConfig,
    dense: bool,
) -> str:
    values = {name: value for name, value in asdict(settings).items() if name != "smoothing"}
    lenses = [None if lens is None else [lens.K, lens.distortion, lens.readout] for lens in prior.given]
    return fingerprint(
        video_state(videos), made_by(["calibration"]), values, dense, lenses, prior.mean, *frames
    )


def _part(report: Progress, start: int, stop: int) -> Progress:
    """Progress of a step that takes the work from ``start`` to ``stop`` percent."""
    return lambda done, total, text: report(start + (stop - start) * done // max(total, 1), 100, text)


def _world(
    tracks: Tracks, matches: dict[int, Pixels], keys: Keys, prior: LensPrior, settings: CalibrateConfig
) -> World:
    """The cameras at each moment, then one world of what stands still."""
    moments = solve_moments(matches, prior)
    if moments is None or not moments.poses:
        raise CalibrationError(
            "finding the relative pose of the cameras at one moment",
            f"no geometry explains the matches of any of {len(matches)} moments",
            "film from places farther apart but with more overlap, and check the offset and the lenses given",
        )
    world = build_world(tracks, moments, keys, prior, settings.seed)
    if world is None:
        raise CalibrationError(
            "tying the moments together by what stands still",
            "too little of what both cameras see stands still, or points cannot be followed",
            "film with more still background in both pictures, more slowly, with less blur",
        )
    if world.support >= _DOUBTED:
        return world
    return other_lenses(world, matches, tracks, moments, keys, prior, settings)


def other_lenses(
    world: World,
    matches: dict[int, Pixels],
    tracks: Tracks,
    moments: Moments,
    keys: Keys,
    prior: LensPrior,
    settings: CalibrateConfig,
) -> World:
    """The world in which most stands still, of those that begin with other lenses.

    Pairs of pictures tell lenses roughly. From a wrong one, much that stands still seems to move, is left
    out, and what remains confirms the lens.
    """
    best, most = world, _MORE * float(np.count_nonzero(world.bundle.weight))
    unknown = prior.spread[:, 0] > 0
    for factor in _OTHER_LENSES if unknown.any() else ():
        mean, spread = prior.mean.copy(), prior.spread.copy()
        mean[unknown, 0] = moments.lenses[unknown, 0] + np.log(factor)
        spread[unknown, 0] = _HELD
        held = solve_moments(matches, replace(prior, mean=mean, spread=spread))
        other = None if held is None else build_world(tracks, held, keys, prior, settings.seed)
        if other is not None and np.count_nonzero(other.bundle.weight) > most:
            best, most = other, float(np.count_nonzero(other.bundle.weight))
    return best


def _steps(report: Progress, frames: tuple[Ints, Ints], start: int, stop: int) -> Callable[[], None]:
    total, done = sum(len(np.unique(used)) for used in frames), 0
    part = _part(report, start, stop)

    def step() -> None:
        nonlocal done
        done += 1
        part(done, total, "placing the frames between")

    return step
