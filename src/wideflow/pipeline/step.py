"""One time step: match, fill, refine and lift the four pictures of two cameras at two moments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.config import Config
from wideflow.errors import InputError
from wideflow.filling import fill, find_occluded
from wideflow.geometry import fundamental_matrix
from wideflow.geometry.flow_loop import carry_stereo, close_loop
from wideflow.geometry.picture import checked_picture
from wideflow.lift import LiftedStereo
from wideflow.matching import Match, match
from wideflow.matching.colour import ColourTransform
from wideflow.pipeline.lifting import lift_moment, lift_step
from wideflow.pipeline.moment import FilledFlow, Moment, StepFlows
from wideflow.pipeline.undistort import undistorted
from wideflow.progress import Progress
from wideflow.refine import refine_flows
from wideflow.types import Flow, Rig, RigFrame, SceneFlow

Floats = NDArray[np.float32]
_CARRIED = 0.3  # trust in a flow that the moment before has lent
_STEPS = 7  # four matches, filling, refinement, lift


@dataclass(frozen=True, eq=False)
class Step:
    """What a time step gives.

    Attributes
    ----------
    scene : SceneFlow
        Of picture A at t.
    moments : pair of Moment
        The pictures and cameras that it belongs to, at t and t + 1.
    stereo_next : FilledFlow
        From A at t + 1 to B at t + 1, matched and filled, not refined.
    lifted_next : LiftedStereo
        Depth in A at t + 1, from that.
    seconds : dict
        Time of each stage.
    """

    scene: SceneFlow
    moments: tuple[Moment, Moment]
    stereo_next: FilledFlow
    lifted_next: LiftedStereo
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
    now = ideal_moment((pictures[0], pictures[1]), frames[0], "t")
    after = ideal_moment((pictures[2], pictures[3]), frames[1], "t + 1")
    seconds: dict[str, float] = {}
    found = match_loop(now, after, config, seconds, progress)
    progress(4, _STEPS, "filling occlusions")
    with clock(seconds, "fill"):
        sources = {"optical_a": 0, "stereo": 0, "optical_b": 1}
        filled = {
            name: fill_match(
                now.pictures[i], found[name].forward, found[name].backward.uv, now.known[i], config
            )
            for name, i in sources.items()
        }
        next_match = found["stereo_next"]
        seen = find_seen(next_match.forward, next_match.backward.uv, after.known[0], config)
    progress(5, _STEPS, "refining")
    flows = StepFlows(**filled, stereo_next=seen)
    scene = join_flows(now, after, flows, found["stereo"].colours, config, seconds)
    with clock(seconds, "fill"):
        stereo_next = _fill_next(after, seen, scene, found["optical_a"], config)
    progress(6, _STEPS, "triangulating")
    with clock(seconds, "lift"):
        lifted = lift_moment(after, stereo_next)
    progress(7, _STEPS, "done")
    return Step(scene, (now, after), stereo_next, lifted, seconds)


def match_loop(
    now: Moment, after: Moment, config: Config, seconds: dict[str, float], progress: Progress
) -> dict[str, Match]:
    """The four matches of the loop; the last starts from what the three others predict."""
    (a, b), (a_next, b_next) = now.pictures, after.pictures
    found: dict[str, Match] = {}
    start = None
    for done, (name, first, second, views) in enumerate(
        (
            ("optical_a", a, a_next, None),
            ("optical_b", b, b_next, None),
            ("stereo", a, b, now.frame.views),
            ("stereo_next", a_next, b_next, after.frame.views),
        )
    ):
        progress(done, _STEPS, f"matching {name.replace('_', ' ')}")
        kind = "optical" if views is None else "stereo"
        with clock(seconds, f"match {name}"):
            if name == "stereo_next":
                start = carried_match(found["stereo"], found["optical_a"], found["optical_b"])
            # the ways back of the others only tell what is hidden
            both = name == "stereo"
            found[name] = match(first, second, kind, views, config.match, start=start, both=both)
    return found


def carried_match(stereo: Match, optical_a: Match, optical_b: Match) -> tuple[Floats, Floats]:
    """The stereo flows of the next moment, there and back, as the flows up to it predict them."""
    return (
        carry_stereo(stereo.forward.uv, optical_b.forward.uv, optical_a.backward.uv),
        carry_stereo(stereo.backward.uv, optical_a.forward.uv, optical_b.backward.uv),
    )


def _fill_next(
    after: Moment, seen: FilledFlow, scene: SceneFlow, optical_a: Match, config: Config
) -> FilledFlow:
    """Stereo flow of t + 1: as matched, or else carried over from t, or else filled."""
    back = optical_a.backward.uv
    carried = carry_stereo(scene.stereo_flow, scene.optical_flow_b, back)
    new = find_occluded(back, optical_a.forward.uv, config.fill)
    uv = np.where(seen.occluded[..., None], carried, seen.uv)
    trust = np.where(seen.occluded, _CARRIED, seen.confidence).astype(np.float32)
    flow = fill(after.pictures[0], Flow(uv, trust), seen.occluded & (new | ~after.known[0]), config.fill)
    return FilledFlow(flow.uv, flow.confidence, seen.occluded)


def ideal_moment(pictures: tuple[ArrayLike, ArrayLike], frame: RigFrame, when: str) -> Moment:
    """The pictures of A and B undistorted; ``when`` names the moment in messages."""
    sides = [
        undistorted(checked_picture(picture, f"the picture of {name} at {when}"), view)
        for picture, view, name in zip(pictures, frame.views, "AB", strict=True)
    ]
    (a, view_a, known_a), (b, view_b, known_b) = sides
    return Moment((a, b), RigFrame(frame.index, frame.times, (view_a, view_b)), (known_a, known_b))


def fill_match(
    picture: Floats, forward: Flow, backward: Floats, known: NDArray[np.bool_], config: Config
) -> FilledFlow:
    """Complete the forward flow of a match where the other picture does not show the pixel."""
    seen = find_seen(forward, backward, known, config)
    flow = fill(picture, Flow(seen.uv, seen.confidence), seen.occluded, config.fill)
    return FilledFlow(flow.uv, flow.confidence, seen.occluded)


def find_seen(forward: Flow, backward: Floats, known: NDArray[np.bool_], config: Config) -> FilledFlow:
    """The forward flow of a match as it is, and where it is a guess."""
    occluded = find_occluded(forward.uv, backward, config.fill) | ~known
    if occluded.all():
        raise InputError(
            "two pictures have nothing in common that could be matched; check that they belong together and "
            "that the rig is theirs"
        )
    return FilledFlow(forward.uv, forward.confidence, occluded)


def join_flows(
    now: Moment,
    after: Moment,
    flows: StepFlows,
    colours: ColourTransform,
    config: Config,
    seconds: dict[str, float],
) -> SceneFlow:
    """Refine the flows of a time step together and lift them to 3D; ``colours`` takes A's to B's."""
    with clock(seconds, "refine"):
        start, loop_error = close_loop(
            flows.optical_a.uv,
            flows.stereo.uv,
            flows.optical_b.uv,
            flows.stereo_next.uv,
            flows.optical_a.occluded,
            flows.stereo.occluded,
            flows.optical_b.occluded,
            flows.stereo_next.occluded,
        )
        lines = fundamental_matrix(*now.frame.views), fundamental_matrix(*after.frame.views)
        (a, b), (a_next, b_next) = now.pictures, after.pictures
        refined = refine_flows((colours(a), b, colours(a_next), b_next), lines, start, config.refine)
    with clock(seconds, "lift"):
        lifted = lift_step(now, after, flows.stereo, refined.flows, loop_error)
    return SceneFlow(
        stereo_flow=refined.flows.stereo,
        optical_flow_a=refined.flows.optical,
        optical_flow_b=flows.optical_b.uv,
        loop_flow=refined.flows.loop,
        depth=lifted.depth,
        motion=lifted.motion,
        covariance=lifted.covariance,
        motion_covariance=lifted.motion_covariance,
        occluded=flows.stereo.occluded,
        confidence=lifted.confidence,
        tilt=lifted.tilt,
    )


@contextmanager
def clock(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time that the block takes to that of the stage."""
    start = time.perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0) + time.perf_counter() - start
