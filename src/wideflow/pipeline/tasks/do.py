"""The tasks of a run. Each reads what it needs from the result's folder and writes what it finds there, so
that any machine that sees the folder and the clips can do it; a task that is done already does nothing.
"""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow import __version__
from wideflow.errors import DamagedError, FileError, NothingInCommonError
from wideflow.evidence import Glimpse
from wideflow.files.fingerprint import fingerprint
from wideflow.geometry.undistorter import Undistorter
from wideflow.lift import CameraDoubt
from wideflow.pipeline.outputs import colour_terms, stored_arrays
from wideflow.pipeline.step.flows import Film, Lenses, Shot, ideal_picture
from wideflow.pipeline.step.order import SOURCES, STAGE, given_as, giver, handed_on
from wideflow.pipeline.step.over_time import Surroundings, grey
from wideflow.pipeline.step.stage import Stage, compute
from wideflow.pipeline.step.timings import Seconds
from wideflow.pipeline.step.voices import HEARD, Heard
from wideflow.pipeline.tasks.plan import Plan, Task
from wideflow.pipeline.tasks.recent import RECENT
from wideflow.storage.packed import Arrays
from wideflow.storage.place import Place
from wideflow.storage.store import Store, unknown_arrays
from wideflow.storage.work import Work
from wideflow.video.read import Video

_UNDISTORTERS: dict[str, Undistorter] = {}  # their maps take a while to make
# of each camera, with their descriptors, which neighbouring moments share
_GLIMPSES: tuple[dict[str, Glimpse], dict[str, Glimpse]] = {}, {}
_MORE_GLIMPSES = 4  # than one moment looks at
_READING = RLock()  # clips that are open, and what is kept of their frames, are for one thread at a time


def do_task(plan: Plan, task: Task) -> dict[str, Any]:
    """Do one task, unless it is done; its needs must be.

    Returns
    -------
    dict
        What was noted: "seconds" of each stage; "unknown", a sentence, if nothing could be found; of a
        moment, "tilt", by how much of itself its depth may be bent by what calibration does not know; "made",
        the versions that it comes from.
    """
    folder = _Folder(plan)
    note = folder.note(task)
    return folder.do(task) if note is None else note


def noted(plan: Plan, task: Task) -> dict[str, Any] | None:
    """What was noted of a task that is done; None if it is yet to do."""
    return _Folder(plan).note(task)


def fetch(plan: Plan, name: str, t: int) -> Any:
    """What a stage gives at a moment, as a run has kept it, or computed now."""
    return _Folder(plan).fetch(name, t)


class _Folder:
    """A result's folder as what stages fetch their needs from."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._seconds = plan, Seconds()
        self._work = Work(Place(plan.out), plan.claim)

    def note(self, task: Task) -> dict[str, Any] | None:
        if STAGE[task.name].kept == "work":
            return self._work.note(*self._name(task))
        return self._store().note(*self._name(task), self._plan.arrays(task))

    def do(self, task: Task) -> dict[str, Any]:
        """Compute what a task gives, keep it, and note that it is done."""
        stage, names = STAGE[task.name], self._plan.arrays(task)
        made = {"wideflow": __version__, **self._plan.made(task)}
        note: dict[str, Any] = {"seconds": self._seconds, "made": made}
        arrays: Arrays | None = None
        try:
            value = compute(stage, task.t, self.fetch, self._plan.config, self._seconds)
        except NothingInCommonError as error:
            note["unknown"] = str(error)
            if stage.kept == "result":
                arrays = unknown_arrays(self._store(), names)
        else:
            if stage.kept == "result":
                arrays = stored_arrays(value, names)
            else:
                arrays = {field.name: getattr(value, field.name) for field in fields(value)}
            if "colour_transform" in names:
                arrays["colour_transform"] = colour_terms(self.fetch("stereo", task.t).colours)
            if hasattr(value, "tilt"):
                note["tilt"] = value.tilt
        if stage.kept == "result":
            self._store().put(*self._name(task), arrays or {}, note, self._plan.claim)
        else:
            self._work.save(*self._name(task), note, arrays)
        if "unknown" not in note:
            RECENT.add(self._plan, task, {name: getattr(value, name) for name in handed_on(stage)})
        return note

    def fetch(self, name: str, t: int) -> Any:
        """What a source or a stage gives; its task, if it has one, is done. None outside of the clip."""
        if name in SOURCES:
            return self._given(name, t) if 0 <= t < len(self._plan) else None
        stage = giver(name, t, len(self._plan))
        if stage is None:
            return None
        task, gives = Task(stage.name, t), given_as(name, stage)
        if not stage.kept:
            return compute(stage, t, self.fetch, self._plan.config, self._seconds)
        for _ in range(2):
            note = self.note(task) or {}
            if note.get("unknown"):
                raise NothingInCommonError(note["unknown"])
            names = [field.name for field in fields(gives)]
            arrays = RECENT.find(self._plan, task, names) if note else None
            if arrays is None:
                arrays = self._kept(stage, task, names)
                RECENT.add(self._plan, task, arrays or {})
            if arrays is not None:
                return gives(**arrays)
            do_task(self._plan, task)  # what it had kept is damaged
        raise FileError(
            f"what {name} of moment {t} keeps in '{self._plan.out}' cannot be read; check the disk"
        )

    def _kept(self, stage: Stage, task: Task, names: list[str]) -> Arrays | None:
        """What a task has kept; None if that is gone or damaged, and then the task counts as not done."""
        if stage.kept == "work":
            return self._work.load(*self._name(task))
        store = self._store()
        try:
            of_view = "_b" if stage.view == "b" else ""
            return {name: store.get(f"{name}{of_view}", task.t) for name in names}
        except DamagedError:
            store.forget(self._plan.slot(task), task.t)
            return None

    def _given(self, name: str, t: int) -> Any:
        plan = self._plan
        if name == "film":
            return _film(plan, t)
        if name == "lenses":
            return _lenses(plan)
        if name == "cameras":
            return plan.rig.frames[t]
        if name in HEARD:
            return Heard(plan.voice, HEARD[name], t)
        if name in ("around", "around_b"):
            return _surroundings(plan, t, int(name == "around_b"))
        others = tuple(rig.frames[t] for rig in plan.alternatives)
        return CameraDoubt(plan.filmed.frames[t], others, plan.late[t] if plan.late else 0.0)

    def _name(self, task: Task) -> tuple[str, int, str]:
        return self._plan.slot(task), self._plan.number(task), self._plan.key(task)

    def _store(self) -> Store:
        return Store.open(Place(self._plan.out))


def _film(plan: Plan, t: int) -> Film:
    def read(camera: int, step: int) -> Shot | None:
        return _shot(plan, camera, plan.frames[t][camera], step, "film")

    return read


def _shot(plan: Plan, camera: int, number: int, step: int, reader: str) -> Shot | None:
    """A frame of a clip, ``step`` frames after the numbered one, and the seconds until then."""
    clip = plan.videos[camera], plan.contents[camera], plan.fps, reader
    rolls = plan.filmed.cameras[camera].readout > 0
    with _READING:
        video, other = _video(*clip), number + step
        if not 0 <= other < len(video):
            return None
        try:
            picture = _frame(*clip, other) if rolls else video.frame(other)
        except FileError:
            if step:
                return None  # a neighbour that is damaged tells nothing
            raise
        return float(video.times[other] - video.times[number]), picture


def _surroundings(plan: Plan, t: int, camera: int) -> Surroundings:
    near = plan.around(t, camera)
    numbers, views = tuple(near), tuple(near.values())

    def glimpse(i: int) -> Glimpse:
        key = fingerprint(plan.contents[camera], plan.lenses[camera], numbers[i], views[i].cam_from_world)

        def filmed(step: int) -> Shot | None:
            return _shot(plan, camera, numbers[i], step, "around")

        with _READING:
            kept = _GLIMPSES[camera]
            if key not in kept:
                kept[key] = Glimpse(grey(ideal_picture(_lenses(plan)[camera], filmed)), views[i])
            kept[key] = found = kept.pop(key)  # the newest last
            while len(kept) > plan.config.evidence.views + _MORE_GLIMPSES:
                del kept[next(iter(kept))]
        return found

    return Surroundings(views, glimpse)


def _lenses(plan: Plan) -> Lenses:
    with _READING:
        for i, key in enumerate(plan.lenses):
            if key not in _UNDISTORTERS:
                _UNDISTORTERS[key] = Undistorter(plan.filmed.cameras[i], plan.rig.cameras[i])
    a, b = (_UNDISTORTERS[key] for key in plan.lenses)
    return a, b


@lru_cache(maxsize=4)
def _video(path: str, content: str, fps: float | None, reader: str) -> Video:
    """An open clip for each who reads it: frames one after the other are then decoded only once."""
    return Video(path, fps if Path(path).is_dir() else None)


@lru_cache(maxsize=6)
def _frame(path: str, content: str, fps: float | None, reader: str, number: int) -> NDArray[np.uint8]:
    """A frame that is wanted for itself and for its neighbours."""
    return _video(path, content, fps, reader).frame(number)
