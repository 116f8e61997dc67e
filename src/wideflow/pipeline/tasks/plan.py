"""What a run has to do: which frames, which cameras, which settings, and what each task depends on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from wideflow.config import Config
from wideflow.files.fingerprint import fingerprint
from wideflow.pipeline.step.order import SOURCES, STAGE, giver, kept_before, kept_order, stages_before
from wideflow.pipeline.step.voices import HEARD, Heard, Voice
from wideflow.storage.lock import Claim
from wideflow.storage.schema import ARRAYS, OF_B, SLOTS, spec
from wideflow.types import Rig, View


class Task(NamedTuple):
    """One piece of work of a run: a stage that is kept, by its name, at moment ``t``."""

    name: str
    t: int


@dataclass(frozen=True, eq=False)
class Plan:
    """All that a task needs to know; small, so that it can be sent to other machines.

    Attributes
    ----------
    out : str
        Folder or URL of the result.
    videos : (str, str)
        The two clips.
    fps : float or None
        Pictures per second, for clips that are folders.
    contents : (str, str)
        Hashes of their bytes.
    frames : tuple of (int, int)
        Frame of A and frame of B of every moment.
    filmed, rig : Rig
        The cameras as they filmed, and the ideal ones at the size of processing; a frame for each moment.
    config : Config
    clip : Rig, optional
        The ideal cameras of every frame where they are known, moments or not, by A's frames.
    clip_b : tuple of int
        The frames of B that belong to them.
    alternatives : tuple of Rig
        Cameras as they may have filmed instead, each one standard deviation from ``filmed`` in a direction
        of its own; frames as there.
    late : tuple of float
        Seconds by which B's picture of each moment was taken later than A's, where nothing minds that.
    keep : tuple of str
        Arrays to store beside those of every result.
    voice : Voice, optional
        Who proposes flows beside the stages.
    claim : Claim, optional
        The lock of the run that this is the plan of.
    """

    out: str
    videos: tuple[str, str]
    fps: float | None
    contents: tuple[str, str]
    frames: tuple[tuple[int, int], ...]
    filmed: Rig
    rig: Rig
    config: Config
    clip: Rig | None = None
    clip_b: tuple[int, ...] = ()
    alternatives: tuple[Rig, ...] = ()
    late: tuple[float, ...] = ()
    keep: tuple[str, ...] = ()
    voice: Voice | None = None
    claim: Claim | None = None

    def __len__(self) -> int:
        """Moments."""
        return len(self.frames)

    def tasks(self) -> Iterator[Task]:
        """Everything to do, in an order in which each task finds what it needs."""
        return (Task(stage.name, t) for stage, t in kept_order(len(self), self.views))

    @property
    def views(self) -> str:
        """Whose pictures get depth and motion: "a" or "ab"."""
        return "ab" if set(self.keep) & set(OF_B) else "a"

    def needs(self, task: Task) -> list[Task]:
        """Tasks that must be done before this one."""
        return [Task(stage.name, t) for stage, t in kept_before(STAGE[task.name], task.t, len(self))]

    def slot(self, task: Task) -> str:
        """What its files are called; a step and a last moment write the same arrays, one ends the other."""
        return STAGE[task.name].slot or task.name

    def number(self, task: Task) -> int:
        """The number that its files have: flows go by A's frame, which another choice of frames keeps."""
        return self.frames[task.t][0] if STAGE[task.name].kept == "work" else task.t

    def made(self, task: Task) -> dict[str, int]:
        """Stages that a task's result comes from, by the names of their clocks, with their versions."""
        stage = STAGE[task.name]
        found = {stage.clock.split()[0]: stage.version}
        for before, t in stages_before(stage, task.t, len(self)):
            found |= self.made(Task(before.name, t))
        return found

    def arrays(self, task: Task) -> tuple[str, ...]:
        """Arrays of the result that a task writes."""
        if STAGE[task.name].kept != "result":
            return ()
        names = [name for name in SLOTS[self.slot(task)] if name in (*ARRAYS, *self.keep)]
        return tuple(name for name in names if STAGE[task.name].at != "last" or not spec(name).of_step)

    def key(self, task: Task) -> str:
        """A text that changes with anything that the result of the task depends on."""
        if task not in self._keys:
            self._keys[task] = self._source_key(task) if task.name in SOURCES else self._stage_key(task)
        return self._keys[task]

    def _stage_key(self, task: Task) -> str:
        stage = STAGE[task.name]
        needs = [self._need_key(need.name, t) for need in stage.needs for t in need.moments(task.t)]
        settings = getattr(self.config, stage.settings) if stage.settings else None
        return fingerprint(stage.name, stage.version, needs, settings)

    def _need_key(self, name: str, t: int) -> str:
        """Of a source, or of the stage that is meant; nothing outside of the clip."""
        if name in SOURCES:
            return self.key(Task(name, t)) if 0 <= t < len(self) else ""
        stage = giver(name, t, len(self))
        return "" if stage is None else self.key(Task(stage.name, t))

    def _source_key(self, task: Task) -> str:
        name, t = task
        if name == "lenses":
            return fingerprint(name, self.lenses)
        if name in HEARD:
            return fingerprint(name, Heard(self.voice, HEARD[name], t).key)
        of_moment: dict[str, Any] = {
            "film": [self.contents, self.fps, self.frames[t]],
            "cameras": _view(self.rig, t),
            "around": self._around_key(t, 0),
            "around_b": self._around_key(t, 1),
            "doubt": [[_view(rig, t) for rig in self.alternatives], self.late[t : t + 1]],
        }
        return fingerprint(name, of_moment[name])

    def _around_key(self, t: int, camera: int) -> list[Any]:
        near = self.around(t, camera)
        return [
            self.contents[camera],
            self.fps,
            [[number, view.cam_from_world] for number, view in near.items()],
        ]

    def around(self, t: int, camera: int) -> dict[int, View]:
        """Frames of a camera, A is 0, before and after a moment that may tell its depth, with their views.

        Every so many-th: those of neighbouring moments are then the same, and are prepared once.
        """
        if self.clip is None or self.config.evidence.views == 0:
            return {}
        here, settings = self.rig.frames[t].times[camera], self.config.evidence
        numbers = [frame.index for frame in self.clip.frames] if camera == 0 else self.clip_b
        near = {
            number: frame.views[camera]
            for number, frame in zip(numbers, self.clip.frames, strict=True)
            if number != self.frames[t][camera] and abs(frame.times[camera] - here) <= settings.reach
        }
        spaced = {number: view for number, view in near.items() if number % settings.spacing == 0}
        return spaced if len(spaced) >= settings.views else near

    @cached_property
    def lenses(self) -> tuple[str, str]:
        """Of each camera: its lens, and the ideal one."""
        a, b = (fingerprint(_lens(self.filmed, i), _lens(self.rig, i)) for i in range(2))
        return a, b

    @cached_property
    def _keys(self) -> dict[Task, str]:
        return {}


def _lens(rig: Rig, i: int) -> list[object]:
    camera = rig.cameras[i]
    rolls = [camera.readout] if camera.readout else []  # older work counts where nothing rolls
    return [camera.width, camera.height, camera.K, camera.distortion, *rolls]


def _view(rig: Rig, t: int) -> list[object]:
    """Everything about both cameras at a moment."""
    frame = rig.frames[t]
    poses = [view.cam_from_world for view in frame.views]
    return [*poses, _lens(rig, 0), _lens(rig, 1), frame.times, frame.late]
