"""The tasks of a run. Each reads what it needs from the result's folder and writes what it finds there, so
that any machine that sees the folder and the clips can do it; a task that is done already does nothing.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.files.place import Place
from wideflow.lift import CameraDoubt, LiftedStereo
from wideflow.matching import match
from wideflow.matching.colour import ColourTransform
from wideflow.pipeline.lifting import lift_moment
from wideflow.pipeline.moment import FilledFlow, Moment, StepFlows
from wideflow.pipeline.plan import FLOWS, Plan, Task
from wideflow.pipeline.step import clock, fill_match, join_flows
from wideflow.pipeline.store import Store
from wideflow.pipeline.undistort import Undistorter
from wideflow.pipeline.work import Arrays, Work
from wideflow.types import Flow, SceneFlow
from wideflow.video.read import Video

Picture = NDArray[np.float32]
_UNDISTORTERS: dict[str, Undistorter] = {}  # their maps take a while to make


def do_task(plan: Plan, task: Task) -> dict[str, Any]:
    """Do one task, unless it is done; its needs must be.

    Returns
    -------
    dict
        What was noted: "seconds" of each stage; "unknown", a sentence, if nothing could be found; of a
        moment, "tilt", by how much of itself its depth may be bent by what calibration does not know.
    """
    work, slot, number, key = Work(Place(plan.out)), plan.slot(task), plan.number(task), plan.key(task)
    note = work.note(slot, number, key)
    if note is not None:
        return note
    seconds: dict[str, float] = {}
    note = {"seconds": seconds}
    if task.name == "pictures":
        arrays = None
        _take_pictures(plan, task.t, seconds)
    elif task.name in FLOWS:
        arrays = _find_flow(plan, task, work, seconds, note)
    else:
        arrays = None
        _finish_moment(plan, task, work, seconds, note)
    work.save(slot, number, key, note, arrays)
    return note


def _take_pictures(plan: Plan, t: int, seconds: dict[str, float]) -> None:
    """Both pictures of a moment as ideal cameras would have taken them, into the store."""
    store = _store(plan)
    with clock(seconds, "read"):
        for i, name in enumerate(("picture_a", "picture_b")):
            picture = _video(plan.videos[i], plan.contents[i], plan.fps).frame(plan.frames[t][i])
            store.put(name, t, _undistorter(plan, i)(picture))


def _find_flow(plan: Plan, task: Task, work: Work, seconds: dict[str, float], note: dict[str, Any]) -> Arrays:
    """Match, unless that is done, and fill."""
    name, t = task
    sides = {"stereo": ("picture_a", "picture_b"), "optical_a": ("picture_a",) * 2}
    first, second = sides.get(name, ("picture_b",) * 2)
    store = _store(plan)
    source = _floats(store.get(first, t))
    target = _floats(store.get(second, t if name == "stereo" else t + 1))
    arrays = _matched(plan, task, (source, target), work, seconds)
    known = _undistorter(plan, int(first == "picture_b")).known
    with clock(seconds, "fill"):
        try:
            flow = Flow(arrays["uv"], arrays["confidence"])
            filled = fill_match(source, flow, arrays["back"], known, plan.config)
        except InputError as error:
            note["unknown"] = str(error)
            nothing = np.zeros(known.shape, np.float32)
            filled = FilledFlow(np.zeros((*known.shape, 2), np.float32), nothing, np.ones_like(known))
    return {
        "uv": filled.uv,
        "confidence": filled.confidence,
        "occluded": filled.occluded,
        "colours": arrays["colours"],
        "spread": arrays["spread"],
    }


def _matched(
    plan: Plan, task: Task, pictures: tuple[Picture, Picture], work: Work, seconds: dict[str, float]
) -> Arrays:
    """The match of a flow; other settings of filling find it done."""
    name, t = task
    kept, number, key = f"match_{name}", plan.number(task), plan.match_key(task)
    noted = work.note(kept, number, key)
    if noted is None:
        views = plan.rig.frames[t].views if name == "stereo" else None
        kind = "stereo" if views else "optical"
        with clock(seconds, f"match {name}"):
            found = match(*pictures, kind, views, plan.config.match, both=name == "stereo")
        arrays: Arrays = {
            "uv": found.forward.uv,
            "back": found.backward.uv,
            "confidence": found.forward.confidence,
            "colours": found.colours.matrix,
            "spread": np.array(found.colours.spread),
        }
        work.save(kept, number, key, {"seconds": dict(seconds)}, arrays)
    else:
        seconds.update(noted["seconds"])
    return work.load(kept, number, key)  # also a fresh one: what is kept is rounded


def _finish_moment(
    plan: Plan, task: Task, work: Work, seconds: dict[str, float], note: dict[str, Any]
) -> None:
    """Refine and lift the step that starts at a moment, or lift the last moment, into the store."""
    t, store = task.t, _store(plan)
    needs = plan.needs(task)
    unknown = [reason for need in needs if (reason := _unknown(plan, need, work))]
    if unknown:
        note["unknown"] = unknown[0]
        store.put_unknown(t, step=task.name == "step")
        return
    loaded = [work.load(need.name, plan.number(need), plan.key(need)) for need in needs]
    flows = [FilledFlow(each["uv"], each["confidence"], each["occluded"]) for each in loaded]
    moment = _moment(plan, store, t)
    if task.name == "last":
        with clock(seconds, "lift"):
            lifted: LiftedStereo = lift_moment(moment, flows[0])
        store.put_last(t, flows[0], lifted)
        note["tilt"] = lifted.tilt
        return
    stereo, optical_a, optical_b, stereo_next = flows
    colours = ColourTransform(loaded[0]["colours"], float(loaded[0]["spread"]))
    scene: SceneFlow = join_flows(
        moment,
        _moment(plan, store, t + 1),
        StepFlows(optical_a, stereo, optical_b, stereo_next),
        colours,
        plan.config,
        seconds,
    )
    store.put_scene(t, scene)
    note["tilt"] = scene.tilt


def _unknown(plan: Plan, need: Task, work: Work) -> str | None:
    note = work.note(need.name, plan.number(need), plan.key(need)) or {}
    return note.get("unknown")


def _moment(plan: Plan, store: Store, t: int) -> Moment:
    a, b = _floats(store.get("picture_a", t)), _floats(store.get("picture_b", t))
    known = _undistorter(plan, 0).known, _undistorter(plan, 1).known
    doubt = CameraDoubt(plan.filmed.frames[t], tuple(rig.frames[t] for rig in plan.alternatives))
    return Moment((a, b), plan.rig.frames[t], known, doubt)


def _floats(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    return picture.astype(np.float32) / np.float32(255)


def _store(plan: Plan) -> Store:
    return Store(Place(plan.out), len(plan), plan.rig.cameras)


def _undistorter(plan: Plan, i: int) -> Undistorter:
    key = plan.sides[i]
    if key not in _UNDISTORTERS:
        _UNDISTORTERS[key] = Undistorter(plan.filmed.cameras[i], plan.rig.cameras[i])
    return _UNDISTORTERS[key]


@lru_cache(maxsize=2)
def _video(path: str, content: str, fps: float | None) -> Video:
    """An open clip: frames one after the other are then decoded only once."""
    return Video(path, fps if Path(path).is_dir() else None)
