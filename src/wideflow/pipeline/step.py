"""One time step: match, fill, refine and lift the four pictures of two cameras at two moments."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.config import Config
from wideflow.errors import InputError
from wideflow.filling import fill, find_occluded
from wideflow.geometry import fundamental_matrix
from wideflow.matching import Match, match
from wideflow.pictures import checked_picture
from wideflow.pipeline.undistort import undistorted
from wideflow.refine import close_loop, lift_flows, lift_stereo, refine_flows
from wideflow.types import Rig, RigFrame, SceneFlow

Progress = Callable[[int, int, str], None]
_STEPS = 7  # four matches, filling, refinement, lift


@dataclass(frozen=True, eq=False)
class Step:
    """What a time step gives.

    Attributes
    ----------
    scene : SceneFlow
        Of picture A at t.
    frames : pair of RigFrame
        The ideal cameras that it belongs to, at t and t + 1.
    stereo_next : (H, W, 2) float32
        From A at t + 1 to B at t + 1, matched and filled, not refined.
    depth_next, occluded_next, confidence_next : (H, W)
        Of picture A at t + 1, from that.
    seconds : dict
        Time of each stage.
    """

    scene: SceneFlow
    frames: tuple[RigFrame, RigFrame]
    stereo_next: NDArray[np.float32]
    depth_next: NDArray[np.float32]
    occluded_next: NDArray[np.bool_]
    confidence_next: NDArray[np.float32]
    seconds: dict[str, float] = field(default_factory=dict)


def scene_flow(
    a0: ArrayLike,
    b0: ArrayLike,
    a1: ArrayLike,
    b1: ArrayLike,
    rig: Rig,
    config: Config | None = None,
    progress: Progress = lambda done, total, text: None,
) -> SceneFlow:
    """Depth and 3D motion of every pixel of a picture.

    Parameters
    ----------
    a0, b0, a1, b1 : (H, W, 3) or (H, W), uint8, uint16 or float in 0..1
        Cameras A and B at t, then at t + 1. The cameras may differ in size.
    rig : Rig
        Its frames 0 and 1; its only frame for static cameras. Pictures of lenses with distortion are
        undistorted first, and the result belongs to the undistorted picture.
    config : Config, optional
        The default settings unless given.
    progress : callable
        Told (steps done, steps in all, what comes next).

    Raises
    ------
    InputError
        Pictures that do not fit each other or the rig, or that have nothing in common.
    """
    return compute_step((a0, b0, a1, b1), (rig.frame(0), rig.frame(1)), config, progress).scene


def compute_step(
    pictures: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    frames: tuple[RigFrame, RigFrame],
    config: Config | None = None,
    progress: Progress = lambda done, total, text: None,
) -> Step:
    """`scene_flow` with all that it finds on the way; pictures in the order A, B at t, A, B at t + 1."""
    config = Config() if config is None else config
    (a, b, a_next, b_next), frames, known = _ideal(pictures, frames)
    seconds: dict[str, float] = {}
    pairs = {
        "optical_a": (a, a_next, "optical", None),
        "stereo": (a, b, "stereo", frames[0].views),
        "optical_b": (b, b_next, "optical", None),
        "stereo_next": (a_next, b_next, "stereo", frames[1].views),
    }
    found: dict[str, Match] = {}
    for done, (name, (first, second, kind, views)) in enumerate(pairs.items()):
        progress(done, _STEPS, f"matching {name.replace('_', ' ')}")
        with _clock(seconds, f"match {name}"):
            found[name] = match(first, second, kind, views, config.match)
    progress(4, _STEPS, "filling occlusions")
    with _clock(seconds, "fill"):
        hidden, flows = {}, {}
        for name, each in found.items():
            seen = known[1] if name == "optical_b" else known[0]
            hidden[name] = find_occluded(each.forward.uv, each.backward.uv, config.fill) | ~seen
            if hidden[name].all():
                raise InputError(_NOTHING.format("cameras" if "stereo" in name else "moments"))
            flows[name] = fill(pairs[name][0], each.forward, hidden[name], config.fill)
    progress(5, _STEPS, "refining")
    with _clock(seconds, "refine"):
        start, loop_error = close_loop(
            flows["optical_a"].uv,
            flows["stereo"].uv,
            flows["optical_b"].uv,
            flows["stereo_next"].uv,
            hidden["optical_a"],
            hidden["stereo"],
            hidden["optical_b"],
            hidden["stereo_next"],
        )
        change = found["stereo"].colours
        lines = fundamental_matrix(*frames[0].views), fundamental_matrix(*frames[1].views)
        refined = refine_flows((change(a), b, change(a_next), b_next), lines, start, config.refine)
    progress(6, _STEPS, "triangulating")
    with _clock(seconds, "lift"):
        trust = flows["stereo"].confidence
        lifted = lift_flows(*frames, refined.flows, trust, loop_error, refined.penalty)
        after = lift_stereo(
            frames[1], flows["stereo_next"].uv, ~hidden["stereo_next"], flows["stereo_next"].confidence
        )
    progress(7, _STEPS, "done")
    unseen = ~known[0]
    for values in (lifted.depth, lifted.motion, lifted.covariance, lifted.motion_covariance, after.depth):
        values[unseen] = np.nan
    for confidence in (lifted.confidence, after.confidence):
        confidence[unseen] = 0
    scene = SceneFlow(
        stereo_flow=refined.flows.stereo,
        optical_flow_a=refined.flows.optical,
        optical_flow_b=flows["optical_b"].uv,
        loop_flow=refined.flows.loop,
        depth=lifted.depth,
        motion=lifted.motion,
        covariance=lifted.covariance,
        motion_covariance=lifted.motion_covariance,
        occluded=hidden["stereo"],
        confidence=lifted.confidence,
    )
    rest = flows["stereo_next"].uv, after.depth, hidden["stereo_next"], after.confidence
    return Step(scene, frames, *rest, seconds)


_NOTHING = (
    "the pictures of the two {} have nothing in common that could be matched; "
    "check that they belong together and that the rig is theirs"
)


def _ideal(
    pictures: tuple[ArrayLike, ...], frames: tuple[RigFrame, RigFrame]
) -> tuple[list[NDArray[np.float32]], tuple[RigFrame, RigFrame], list[NDArray[np.bool_]]]:
    """Undistorted pictures, their frames, and which pixels of A and of B the lens has seen."""
    names = ("A at t", "B at t", "A at t + 1", "B at t + 1")
    flat, views, known = [], [], []
    for i, (picture, name) in enumerate(zip(pictures, names, strict=True)):
        each = undistorted(checked_picture(picture, f"the picture of {name}"), frames[i // 2].views[i % 2])
        flat.append(each[0])
        views.append(each[1])
        known.append(each[2])
    now, after = (
        RigFrame(frame.index, frame.times, (views[2 * t], views[2 * t + 1])) for t, frame in enumerate(frames)
    )
    return flat, (now, after), known[:2]


@contextmanager
def _clock(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start
