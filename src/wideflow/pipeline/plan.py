"""What a run has to do: which frames, which cameras, which settings, and what each task depends on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from wideflow.config import Config
from wideflow.files.fingerprint import fingerprint
from wideflow.types import Rig, View

FLOWS = ("stereo", "optical_a", "optical_b")


class Task(NamedTuple):
    """One piece of work of a run.

    Attributes
    ----------
    name : str
        "pictures", a name of `FLOWS`, "step", or "last" for the moment that no step starts from.
    t : int
        Its moment.
    """

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
    alternatives : tuple of Rig
        Cameras as they may have filmed instead, each one standard deviation from ``filmed`` in a direction
        of its own; frames as there.
    """

    out: str
    videos: tuple[str, str]
    fps: float | None
    contents: tuple[str, str]
    frames: tuple[tuple[int, int], ...]
    filmed: Rig
    rig: Rig
    config: Config
    alternatives: tuple[Rig, ...] = ()

    def __len__(self) -> int:
        """Moments."""
        return len(self.frames)

    def tasks(self) -> Iterator[Task]:
        """Everything to do, in an order in which each task finds what it needs."""
        for t in range(len(self)):
            yield Task("pictures", t)
            yield Task("stereo", t)
            if t > 0:
                yield Task("optical_a", t - 1)
                yield Task("optical_b", t - 1)
                yield Task("step", t - 1)
        yield Task("last", len(self) - 1)

    def needs(self, task: Task) -> list[Task]:
        """Tasks that must be done before this one."""
        name, t = task
        if name == "pictures":
            return []
        if name == "stereo":
            return [Task("pictures", t)]
        if name in FLOWS:
            return [Task("pictures", t), Task("pictures", t + 1)]
        if name == "last":
            return [Task("stereo", t)]
        return [*(Task(flow, t) for flow in FLOWS), Task("stereo", t + 1)]

    def slot(self, task: Task) -> str:
        """What its files are called; a step and a last moment write the same arrays, one ends the other."""
        return "moment" if task.name in ("step", "last") else task.name

    def number(self, task: Task) -> int:
        """The number that its files have: flows go by A's frame, which another choice of frames keeps."""
        return self.frames[task.t][0] if task.name in FLOWS else task.t

    def key(self, task: Task) -> str:
        """A text that changes with anything that the result of the task depends on."""
        name, t = task
        if name == "pictures":
            return fingerprint(name, self.sides[0], self.sides[1], self.frames[t])
        if name in FLOWS:
            return fingerprint(self.match_key(task), self.sides, self.config.fill)
        views = [_view(self.rig, t)] + ([_view(self.rig, t + 1)] if name == "step" else [])
        doubts = [_view(rig, t) for rig in self.alternatives]
        needs = [self.key(need) for need in self.needs(task)]
        return fingerprint(name, t, needs, views, doubts, self.config.refine)

    def match_key(self, task: Task) -> str:
        """The same for the match that a flow begins with, which filling does not change."""
        name, t = task
        pictures = [self.key(need) for need in self.needs(task)]
        views = _view(self.rig, t) if name == "stereo" else None
        return fingerprint("match", name, pictures, views, self.config.match)

    @cached_property
    def sides(self) -> tuple[str, str]:
        """Of each camera: its clip, its lens, and the ideal one."""
        a, b = (
            fingerprint(self.contents[i], self.fps, _lens(self.filmed, i), _lens(self.rig, i))
            for i in range(2)
        )
        return a, b


def _lens(rig: Rig, i: int) -> list[object]:
    camera = rig.cameras[i]
    return [camera.width, camera.height, camera.K, camera.distortion]


def _view(rig: Rig, t: int) -> list[object]:
    """Everything about both cameras at a moment."""
    views: tuple[View, View] = rig.frames[t].views
    return [view.cam_from_world for view in views] + [_lens(rig, 0), _lens(rig, 1)]
