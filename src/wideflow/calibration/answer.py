"""The whole question: where was each camera in every frame, and how good is that."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.keyframes import choose_keyframes, motion_of
from wideflow.calibration.lens import first_lenses
from wideflow.calibration.network import Network, keyframe_features, match_network
from wideflow.calibration.poses import smoothed, with_mean_baseline
from wideflow.calibration.problem import Lenses, Model, model_from_arrays, to_arrays
from wideflow.calibration.process import need_colmap, run_colmap
from wideflow.calibration.register import all_frames, pose_of_pairs
from wideflow.calibration.report import CalibrationReport, doubts_about
from wideflow.calibration.result import assemble_rig, measure
from wideflow.calibration.steps import Arrays, Steps, video_state
from wideflow.config import CalibrateConfig
from wideflow.errors import InputError
from wideflow.fingerprint import fingerprint
from wideflow.progress import Progress
from wideflow.types import Camera, Rig
from wideflow.video.read import Video

_VERSION = 1  # of the steps on disk
_FEWEST_POINTS = 20


class Pairs(Protocol):
    """Frames of A and the frames of B that were filmed at the same time, (n,) each; A's rise."""

    @property
    def a(self) -> NDArray[np.int64]: ...

    @property
    def b(self) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class Calibration:
    """The cameras of every frame, and how good they are."""

    rig: Rig
    report: CalibrationReport


def calibrate(
    a: Video,
    b: Video,
    pairs: Pairs,
    intrinsics: tuple[Camera | None, Camera | None] = (None, None),
    config: CalibrateConfig | None = None,
    work: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Find the lens of both cameras and where they were in every pair of frames.

    Structure from motion on key frames, chosen by how far the cameras move; the other frames are placed by
    the points that key frames see; one bundle adjustment of everything ends it. Only what stands still
    takes part: points that move agree with no point of space.

    Parameters
    ----------
    a, b : Video
        The two clips.
    pairs : FramePairs
        Frames filmed at the same time.
    intrinsics : (Camera or None, Camera or None)
        Known lenses; they are not changed.
    config : CalibrateConfig, optional
        Settings.
    work : path, optional
        Folder in which steps are kept, so that another run goes on where this one ends.
    progress : callable, optional
        Called with the work done, all the work, and what comes next.

    Returns
    -------
    Calibration
        Frames whose pose was not found are left out of the rig. The mean distance between the cameras is 1.

    Raises
    ------
    InputError
        Too few frames, or too little that both cameras see.
    MissingExtraError
        COLMAP is not installed.
    """
    need_colmap()
    settings, report = config or CalibrateConfig(), progress or (lambda done, total, text: None)
    if len(pairs.a) == 0:
        raise InputError(f"'{a.path}' and '{b.path}' share no frames, so there is nothing to calibrate")
    videos, frames = (a, b), (np.asarray(pairs.a, np.int64), np.asarray(pairs.b, np.int64))
    lenses, sources = first_lenses(videos, intrinsics)
    kept = Steps(work, _key(videos, frames, lenses, settings))
    motion = kept.step("motion", lambda: _motion(videos, frames, _part(report, 0, 15)))["motion"]
    keyframes = choose_keyframes(
        motion, settings.spacing, settings.longest_gap, settings.fewest_keyframes, settings.most_keyframes
    )
    if len(keyframes) == 0:
        raise InputError(f"no frame of '{a.path}' and '{b.path}' can be decoded; copy the videos again")
    network = keyframe_features(videos, frames, keyframes, settings, kept, _part(report, 15, 35))
    if all(network.static) and not lenses.known.all():
        lenses, sources = _fixed(lenses, sources)
    matches = match_network(network, kept, _part(report, 35, 55))
    error = settings.error * max(1.0, max(max(video.size) for video in videos) / settings.size)
    mapped = _mapped(network, matches, lenses, settings, error, kept, _part(report, 55, 75))
    _check_map(mapped, network, videos)
    placed = all_frames(
        videos, frames, network, mapped, lenses, settings, error, kept, _part(report, 75, 100)
    )
    poses = pose_of_pairs(placed, frames)
    rig = assemble_rig(placed.model, poses, videos, frames)
    if rig is None:
        raise InputError(
            f"no frame of '{a.path}' and '{b.path}' could be placed in one space; film with more overlap and "
            "more texture that stands still"
        )
    rig = smoothed(with_mean_baseline(rig), settings.smoothing)
    figures = measure(placed, poses, rig, frames, sources, network.static)
    report(100, 100, "done")
    sides = max(a.size), max(b.size)
    return Calibration(rig, replace(figures, doubts=doubts_about(figures, sides)))


def _key(
    videos: tuple[Video, Video],
    frames: tuple[NDArray[np.int64], ...],
    lenses: Lenses,
    settings: CalibrateConfig,
) -> str:
    values = {name: value for name, value in asdict(settings).items() if name != "smoothing"}
    return fingerprint(video_state(videos), _VERSION, values, *frames, *to_arrays(lenses).values())


def _part(report: Progress, start: int, stop: int) -> Progress:
    """Progress of a step that takes the work from ``start`` to ``stop`` percent."""
    return lambda done, total, text: report(start + (stop - start) * done // max(total, 1), 100, text)


def _motion(
    videos: tuple[Video, Video], frames: tuple[NDArray[np.int64], ...], report: Progress
) -> dict[str, NDArray[np.float64]]:
    total, done = sum(len(np.unique(used)) for used in frames), 0

    def step() -> None:
        nonlocal done
        done += 1
        report(done, total, "following the motion of the cameras")

    found = []
    for video, used in zip(videos, frames, strict=True):
        unique, inverse = np.unique(used, return_inverse=True)
        moved = motion_of(video, unique, step)[inverse]
        found.append(np.where(np.diff(used, prepend=-1) == 0, 0.0 * moved, moved))
    return {"motion": np.maximum(*found)}


def _fixed(lenses: Lenses, sources: tuple[str, str]) -> tuple[Lenses, tuple[str, str]]:
    """Lenses as they are: cameras that stand still cannot tell."""
    named = ["guessed" if source == "self-calibrated" else source for source in sources]
    return replace(lenses, known=np.array([True, True])), (named[0], named[1])


def _mapped(
    network: Network,
    matches: Arrays,
    lenses: Lenses,
    settings: CalibrateConfig,
    error: float,
    kept: Steps,
    report: Progress,
) -> Model:
    problem = {
        **to_arrays(lenses, "lenses."),
        **network.as_arrays(),
        **matches,
        "seed": np.array(settings.seed),
        "error": np.array(error),
    }
    return model_from_arrays(kept.step("map", lambda: to_arrays(run_colmap("map", problem, report))))


def _check_map(model: Model, network: Network, videos: tuple[Video, Video]) -> None:
    """Both cameras must be in one space."""
    known = np.isfinite(model.poses[:, 0, 0])
    names = [str(video.path) for video in videos]
    if not known.any() or len(model.points) < _FEWEST_POINTS:
        raise InputError(
            f"too little of what '{names[0]}' and '{names[1]}' show stands still and is seen twice; film "
            "with more overlap and more texture"
        )
    for camera in (0, 1):
        if not known[network.place_camera == camera].any():
            raise InputError(
                f"the view of '{names[camera]}' shares too little with that of '{names[1 - camera]}'; film "
                "with more overlap, closer to each other, or check that the videos belong together"
            )
