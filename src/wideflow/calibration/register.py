"""All frames in one space: those between key frames are placed, then everything is adjusted together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.between import best_points, follow_between
from wideflow.calibration.network import Network
from wideflow.calibration.problem import Lenses, Model, Sightings, model_from_arrays, to_arrays
from wideflow.calibration.process import run_colmap
from wideflow.calibration.steps import Arrays, Steps
from wideflow.config import CalibrateConfig
from wideflow.progress import Progress
from wideflow.video.read import Video

_ROUNDS = 4  # bundle adjustments, after each of which sightings that do not fit are left out
_JOINT = 1500  # pictures up to which all are adjusted together; beyond, each on its own

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Placed:
    """The model of all frames.

    Attributes
    ----------
    model : Model
    camera : (n,) int64
        Camera of each of its pictures.
    frame : (n,) int64
        Frame of its video; -1: all frames of a camera that stands still.
    """

    model: Model
    camera: Ints
    frame: Ints


def all_frames(
    videos: tuple[Video, Video],
    frames: tuple[Ints, Ints],
    network: Network,
    mapped: Model,
    lenses: Lenses,
    settings: CalibrateConfig,
    error: float,
    kept: Steps,
    report: Progress,
) -> Placed:
    """Poses of every frame from the model of the key frames.

    Parameters
    ----------
    videos : (Video, Video)
        The clips.
    frames : ((n,), (n,)) int64
        Pairs of frames.
    network : Network
        The key frames.
    mapped : Model
        Their model; its pictures are the places of ``network``.
    lenses : Lenses
        Which of them are known.
    settings : CalibrateConfig
        How many points are followed, and in what size.
    error : float
        Pixels that a sighting may be off.
    kept : Steps
        Steps on disk.
    report : callable
        Called with the work done, all the work, and what comes next.
    """
    camera, frame = _pictures(frames, network.static)
    tracks = kept.step(
        "between", lambda: _tracked(videos, frames, network, mapped, settings, (camera, frame), report)
    )
    problem = {
        **to_arrays(_found_lenses(lenses, mapped), "lenses."),
        **tracks,
        "points": mapped.points,
        "seed": np.array(settings.seed),
        "error": np.array(error),
        "rounds": np.array(_ROUNDS if len(camera) <= _JOINT else 0),
        "principal": np.array(settings.principal_point),
        "image_camera": camera,
    }
    arrays = kept.step(
        "adjust",
        lambda: to_arrays(
            run_colmap(
                "adjust", problem, lambda done, total, text: report(2 * total + 3 * done, 5 * total, text)
            )
        ),
    )
    return Placed(model_from_arrays(arrays), camera, frame)


def pose_of_pairs(placed: Placed, frames: tuple[Ints, Ints]) -> Ints:
    """Picture of the model that shows each frame of each pair, (2, n); -1 where its pose is not known."""
    known = np.isfinite(placed.model.poses[:, 0, 0])
    number = {
        (int(camera), int(frame)): picture
        for picture, (camera, frame) in enumerate(zip(placed.camera, placed.frame, strict=True))
        if known[picture]
    }
    return np.array(
        [
            [number.get((camera, int(frame)), number.get((camera, -1), -1)) for frame in used]
            for camera, used in enumerate(frames)
        ]
    )


def _pictures(frames: tuple[Ints, Ints], static: tuple[bool, bool]) -> tuple[Ints, Ints]:
    own = [np.array([-1]) if still else np.unique(used) for used, still in zip(frames, static, strict=True)]
    return np.repeat([0, 1], [len(used) for used in own]), np.concatenate(own)


def _found_lenses(lenses: Lenses, mapped: Model) -> Lenses:
    return Lenses(lenses.size, mapped.parameters, lenses.known, lenses.trusted)


def _tracked(
    videos: tuple[Video, Video],
    frames: tuple[Ints, Ints],
    network: Network,
    mapped: Model,
    settings: CalibrateConfig,
    pictures: tuple[Ints, Ints],
    report: Progress,
) -> Arrays:
    """Poses and sightings of all pictures: of key frames as mapped, of the others what was followed there."""
    camera, frame = pictures
    poses = np.full((len(camera), 3, 4), np.nan)
    parts: list[tuple[int, NDArray[np.float64], Ints]] = []
    total, done = len(camera), 0

    def step() -> None:
        nonlocal done
        done += 1
        report(2 * done, 5 * total, "following points into the frames between")

    for which, video in enumerate(videos):
        own = np.flatnonzero(camera == which)
        shown = {int(f): int(p) for f, p in zip(frame[own], own, strict=True)}
        anchors = {}
        for place, key in _keys(network, which):
            if not np.isfinite(mapped.poses[place, 0, 0]):
                continue
            poses[shown[key]] = mapped.poses[place]
            here = (mapped.sightings.image == place) & (mapped.sightings.point >= 0)
            parts.append((shown[key], mapped.sightings.xy[here], mapped.sightings.point[here]))
            anchors[key] = best_points(mapped.sightings, place, settings.followed)
        if not network.static[which]:
            between = follow_between(video, frame[own], anchors, settings.size, step)
            parts += [(shown[index], *found) for index, found in between.items()]
    image = np.repeat([p[0] for p in parts], [len(p[2]) for p in parts]).astype(np.int64)
    seen = Sightings(image, np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts]))
    return {"poses": poses, **to_arrays(seen, "sightings.")}


def _keys(network: Network, which: int) -> list[tuple[int, int]]:
    """Place and frame of a camera's key frames; one of frame -1 if it stands still."""
    own = np.flatnonzero(network.camera == which)
    if network.static[which]:
        return [(int(network.place[own[0]]), -1)]
    return [(int(network.place[i]), int(network.frame[i])) for i in own]
