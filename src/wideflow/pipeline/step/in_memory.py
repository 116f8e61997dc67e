"""One time step in memory: the stages of the four pictures of two cameras at two moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.config import Config
from wideflow.errors import InputError
from wideflow.geometry.picture import checked_picture
from wideflow.geometry.undistorter import Undistorter
from wideflow.memory import keep_memory
from wideflow.pipeline.lanes import in_lanes, largest
from wideflow.pipeline.step.flows import Shot
from wideflow.pipeline.step.order import SOURCES, given_as, giver, kept_before, kept_order
from wideflow.pipeline.step.over_time import Surroundings
from wideflow.pipeline.step.stage import Stage, compute
from wideflow.pipeline.step.timings import Seconds, total
from wideflow.pipeline.step.undistort import ideal_rig
from wideflow.pipeline.step.values import LastMoment, Pictures, SteadyDepth
from wideflow.pipeline.step.voices import HEARD, Function, Heard, Propose, Voice
from wideflow.progress import Progress, silent
from wideflow.types import Rig, RigFrame, SceneFlow


@dataclass(frozen=True, eq=False)
class Step:
    """What a time step gives.

    Attributes
    ----------
    scene : SceneFlow
        Of picture A at t.
    last : LastMoment
        Of picture A at t + 1, from its own moment.
    steady : pair of SteadyDepth
        Of t and t + 1: two moments alone do not steady each other.
    pictures : pair of Pictures
        Of t and t + 1, as ideal cameras would have taken them.
    rig : Rig
        These cameras; frames 0 and 1.
    moments : dict
        Seconds of each stage, for t (0) and for t + 1 (1).
    """

    scene: SceneFlow
    last: LastMoment
    steady: tuple[SteadyDepth, SteadyDepth]
    pictures: tuple[Pictures, Pictures]
    rig: Rig
    moments: dict[int, Seconds] = field(default_factory=dict)

    @property
    def seconds(self) -> Seconds:
        """Of each stage."""
        return total(*self.moments.values())


def scene_flow(
    a0: ArrayLike,
    b0: ArrayLike,
    a1: ArrayLike,
    b1: ArrayLike,
    rig: Rig,
    config: Config | None = None,
    progress: Progress = silent,
    propose: Propose | None = None,
) -> SceneFlow:
    """Depth and 3D motion of every pixel of a picture.

    Parameters
    ----------
    a0, b0, a1, b1 : (H, W, 3) or (H, W), uint8, uint16 or float in 0..1
        Cameras A and B at t, then at t + 1. The cameras may differ in size. As in a video, 8 bits are used.
    rig : Rig
        Its frames 0 and 1; its only frame for static cameras. Pictures of lenses with distortion are
        undistorted first, rows of rolling shutters brought to one time, and the result belongs to that
        picture.
    config : Config, optional
        The default settings unless given.
    progress : callable
        Told (steps done, steps in all, what comes next).
    propose : callable, optional
        A flow of your own, such as a trained network's: called with two pictures, (h, w, 3) float32 in 0..1
        as ideal cameras would have taken them, and with "stereo" or "optical"; returns the flow (h, w, 2)
        from the first to the second in pixels, NaN where unknown, or None. The pictures decide where it is
        taken.

    Raises
    ------
    InputError
        Pictures that do not fit each other or the rig, or that have nothing in common.
    """
    voice = None if propose is None else Function(propose)
    return compute_step((a0, b0, a1, b1), (rig.frame(0), rig.frame(1)), config, progress, voice).scene


def compute_step(
    pictures: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    frames: tuple[RigFrame, RigFrame],
    config: Config | None = None,
    progress: Progress = silent,
    voice: Voice | None = None,
) -> Step:
    """`scene_flow` with all that it finds on the way; pictures in the order A, B at t, A, B at t + 1.

    The bits are those of a run of these two moments.
    """
    stages = StagesInMemory([(pictures[0], pictures[1]), (pictures[2], pictures[3])], frames, config, voice)
    stages.compute(progress)
    return Step(
        stages.get("step", 0),
        stages.get("last", 1),
        (stages.get("steady", 0), stages.get("steady", 1)),
        (stages.get("pictures", 0), stages.get("pictures", 1)),
        stages.rig,
        stages.seconds,
    )


class StagesInMemory:
    """What each stage gives for pictures at hand, computed when it is first asked for.

    Parameters
    ----------
    pictures : sequence of pairs of pictures
        A and B of every moment, as for `scene_flow`.
    frames : sequence of RigFrame
        The cameras that took them.
    config : Config, optional
        The default settings unless given.
    voice : Voice, optional
        Who proposes flows beside the stages.

    Attributes
    ----------
    rig : Rig
        The ideal cameras; frames are numbered from 0.
    seconds : dict
        Of each stage so far, for every moment.
    """

    def __init__(
        self,
        pictures: Sequence[tuple[ArrayLike, ArrayLike]],
        frames: Sequence[RigFrame],
        config: Config | None = None,
        voice: Voice | None = None,
    ) -> None:
        keep_memory()
        views = frames[0].views
        filmed = Rig(
            (views[0].camera, views[1].camera),
            tuple(replace(frame, index=t) for t, frame in enumerate(frames)),
        )
        self.rig = ideal_rig(filmed)
        self.seconds: dict[int, Seconds] = {}
        self._config = Config() if config is None else config
        self._voice = voice
        a, b = (Undistorter(*each) for each in zip(filmed.cameras, self.rig.cameras, strict=True))
        self._lenses = a, b
        self._film = [
            (
                _bytes(pair[0], f"the picture of A at {_when(t)}"),
                _bytes(pair[1], f"the picture of B at {_when(t)}"),
            )
            for t, pair in enumerate(pictures)
        ]
        self._found: dict[tuple[str, int], Any] = {}

    def compute(self, progress: Progress = silent) -> None:
        """Find what all stages give, two at a time where the threads allow it."""
        count = len(self._film)
        order = kept_order(count)

        def begin(done: int, piece: tuple[Stage, int]) -> None:
            stage, t = piece
            progress(done, len(order), f"{stage.doing} of {_when(t)}")

        for _ in in_lanes(
            order,
            lambda piece: kept_before(*piece, count),
            lambda piece: self.get(piece[0].name, piece[1]),
            begin,
            lambda piece: piece[0].effort,
            largest(self.rig.cameras),
        ):
            pass
        progress(len(order), len(order), "done")

    def get(self, name: str, t: int) -> Any:
        """What the stage, or the source, of this name gives at a moment."""
        count = len(self._film)
        if name in SOURCES:
            return self._given(name, t) if 0 <= t < count else None
        stage = giver(name, t, count)
        if stage is None:
            return None
        if (stage.name, t) not in self._found:
            seconds = self.seconds.setdefault(t, {})
            self._found[stage.name, t] = compute(stage, t, self.get, self._config, seconds)
        found, gives = self._found[stage.name, t], given_as(name, stage)
        if name == stage.name:
            return found
        return gives(**{each.name: getattr(found, each.name) for each in fields(gives)})

    def _given(self, name: str, t: int) -> Any:
        if name in HEARD:
            return Heard(self._voice, HEARD[name], t)
        return {
            "film": partial(self._shot, t),
            "lenses": self._lenses,
            "cameras": self.rig.frames[t],
            "doubt": None,
            "around": Surroundings(),
            "around_b": Surroundings(),
        }[name]

    def _shot(self, t: int, camera: int, step: int) -> Shot | None:
        if not 0 <= t + step < len(self._film):
            return None
        then, now = (self.rig.frames[i].times[camera] for i in (t + step, t))
        if step and then == now:
            raise InputError("rows of a rolling shutter need two frames at different times, in seconds")
        return then - now, self._film[t + step][camera]


def _bytes(picture: ArrayLike, name: str) -> NDArray[np.uint8]:
    return np.rint(255 * np.clip(checked_picture(picture, name), 0, 1)).astype(np.uint8)


def _when(t: int) -> str:
    return f"t + {t}" if t else "t"
