"""The tasks of a run. Each reads what it needs from the result's folder and writes what it finds there, so
that any machine that sees the folder and the clips can do it; a task that is done already does nothing.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow import __version__
from wideflow.errors import DamagedError, FileError, InputError
from wideflow.lift import CameraDoubt, LiftedStereo
from wideflow.matching import match
from wideflow.matching.colour import ColourTransform
from wideflow.pipeline.lifting import lift_moment
from wideflow.pipeline.moment import FilledFlow, Moment, StepFlows
from wideflow.pipeline.outputs import colour_terms, last_arrays, scene_arrays
from wideflow.pipeline.plan import FLOWS, Plan, Task
from wideflow.pipeline.step import clock, fill_match, join_flows
from wideflow.pipeline.undistort import Undistorter
from wideflow.storage.packed import Arrays, rounded
from wideflow.storage.place import Place
from wideflow.storage.schema import PICTURES
from wideflow.storage.store import Store, unknown_arrays
from wideflow.storage.versions import made_by
from wideflow.storage.work import Work
from wideflow.types import Flow, SceneFlow
from wideflow.video.read import Video

Picture = NDArray[np.float32]
_UNDISTORTERS: dict[str, Undistorter] = {}  # their maps take a while to make


def do_task(plan: Plan, task: Task) -> dict[str, Any]:
    """Do one task, unless it is done; its needs must be.

    Returns
    -------
    dict
        What was noted: "seconds" of each stage; "unknown", a sentence, if nothing could be found; "made", by
        which versions; of a moment, "tilt", by how much of itself its depth may be bent by what calibration
        does not know.
    """
    note = noted(plan, task)
    if note is not None:
        return note
    store, work = _store(plan), Work(Place(plan.out))
    seconds: dict[str, float] = {}
    note = {"seconds": seconds, "made": {"wideflow": __version__, **made_by(plan.stages(task))}}
    if task.name in FLOWS:
        arrays = _find_flow(plan, task, work, seconds, note)
        work.save(task.name, plan.number(task), plan.key(task), note, arrays)
        return note
    if task.name == "pictures":
        arrays = _take_pictures(plan, task.t, seconds)
    else:
        arrays = _finish_moment(plan, task, work, seconds, note)
    chosen = {name: arrays[name] for name in plan.arrays(task)}
    store.put(plan.slot(task), task.t, plan.key(task), chosen, note, plan.claim)
    return note


def noted(plan: Plan, task: Task) -> dict[str, Any] | None:
    """What was noted of a task that is done; None if it is yet to do."""
    if task.name in FLOWS:
        return Work(Place(plan.out)).note(task.name, plan.number(task), plan.key(task))
    return _store(plan).note(plan.slot(task), task.t, plan.key(task), plan.arrays(task))


def _take_pictures(plan: Plan, t: int, seconds: dict[str, float]) -> Arrays:
    """Both pictures of a moment as ideal cameras would have taken them."""
    arrays: Arrays = {}
    with clock(seconds, "read"):
        for i, name in enumerate(PICTURES):
            picture = _video(plan.videos[i], plan.contents[i], plan.fps).frame(plan.frames[t][i])
            arrays[name] = _undistorter(plan, i)(picture)
    return arrays


def _find_flow(plan: Plan, task: Task, work: Work, seconds: dict[str, float], note: dict[str, Any]) -> Arrays:
    """Match, unless that is done, and fill."""
    name, t = task
    sides = {"stereo": ("picture_a", "picture_b"), "optical_a": ("picture_a",) * 2}
    first, second = sides.get(name, ("picture_b",) * 2)
    source = _picture(plan, first, t)
    target = _picture(plan, second, t if name == "stereo" else t + 1)
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
    note = work.note(kept, number, key)
    if note is not None and (done := work.load(kept, number, key)) is not None:
        seconds.update(note["seconds"])
        return done
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
    return rounded(arrays)  # as it is kept


def _finish_moment(
    plan: Plan, task: Task, work: Work, seconds: dict[str, float], note: dict[str, Any]
) -> Arrays:
    """Refine and lift the step that starts at a moment, or lift the last moment."""
    t, needs = task.t, plan.needs(task)
    loaded = [_loaded(plan, need, work) for need in needs]
    unknown = [reason for need in needs if (reason := (noted(plan, need) or {}).get("unknown"))]
    if unknown:
        note["unknown"] = unknown[0]
        return unknown_arrays(_store(plan), plan.arrays(task))
    flows = [FilledFlow(each["uv"], each["confidence"], each["occluded"]) for each in loaded]
    moment = _moment(plan, t)
    if task.name == "last":
        with clock(seconds, "lift"):
            lifted: LiftedStereo = lift_moment(moment, flows[0])
        note["tilt"] = lifted.tilt
        return last_arrays(flows[0], lifted)
    stereo, optical_a, optical_b, stereo_next = flows
    colours = ColourTransform(loaded[0]["colours"], float(loaded[0]["spread"]))
    scene: SceneFlow = join_flows(
        moment,
        _moment(plan, t + 1),
        StepFlows(optical_a, stereo, optical_b, stereo_next),
        colours,
        plan.config,
        seconds,
    )
    note["tilt"] = scene.tilt
    return {**scene_arrays(scene), "colour_transform": colour_terms(colours)}


def _loaded(plan: Plan, need: Task, work: Work) -> Arrays:
    """What a need has kept; it is done once more if that is damaged."""
    for _ in range(2):
        arrays = work.load(need.name, plan.number(need), plan.key(need))
        if arrays is not None:
            return arrays
        do_task(plan, need)
    raise FileError(
        f"what {need.name} of moment {need.t} keeps in '{plan.out}' cannot be read; check the disk"
    )


def _picture(plan: Plan, name: str, t: int) -> Picture:
    """A picture of the store, RGB in 0..1; it is taken once more if it is damaged."""
    try:
        picture = _store(plan).get(name, t)
    except DamagedError:
        _store(plan).forget("pictures", t)
        do_task(plan, Task("pictures", t))
        picture = _store(plan).get(name, t)
    return picture.astype(np.float32) / np.float32(255)


def _moment(plan: Plan, t: int) -> Moment:
    a, b = (_picture(plan, name, t) for name in PICTURES)
    known = _undistorter(plan, 0).known, _undistorter(plan, 1).known
    doubt = CameraDoubt(plan.filmed.frames[t], tuple(rig.frames[t] for rig in plan.alternatives))
    return Moment((a, b), plan.rig.frames[t], known, doubt)


def _store(plan: Plan) -> Store:
    return Store.open(Place(plan.out))


def _undistorter(plan: Plan, i: int) -> Undistorter:
    key = plan.sides[i]
    if key not in _UNDISTORTERS:
        _UNDISTORTERS[key] = Undistorter(plan.filmed.cameras[i], plan.rig.cameras[i])
    return _UNDISTORTERS[key]


@lru_cache(maxsize=2)
def _video(path: str, content: str, fps: float | None) -> Video:
    """An open clip: frames one after the other are then decoded only once."""
    return Video(path, fps if Path(path).is_dir() else None)
