"""The whole job: two videos in, depth and motion of every pixel out."""

from __future__ import annotations

import json
import logging
import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from wideflow import __version__
from wideflow.config import Config
from wideflow.errors import FileError, InputError
from wideflow.files.rig import rig_to_bytes
from wideflow.memory import keep_memory
from wideflow.pipeline.before.prepare import make_plan
from wideflow.pipeline.conclude import conclude
from wideflow.pipeline.job import VIEWS, Job
from wideflow.pipeline.log import logged
from wideflow.pipeline.scale import KnownScale
from wideflow.pipeline.step.order import STAGE
from wideflow.pipeline.step.timings import Seconds, timings, total
from wideflow.pipeline.summary import first_summary, whole_summary
from wideflow.pipeline.tasks.do import noted
from wideflow.pipeline.tasks.forecast import require_space
from wideflow.pipeline.tasks.plan import Plan, Task
from wideflow.pipeline.tasks.resume import Survey, survey
from wideflow.pipeline.tasks.schedule import run_here, run_on_cluster
from wideflow.progress import Progress, silent
from wideflow.storage.checked_files import write_files
from wideflow.storage.lock import locked
from wideflow.storage.place import Place
from wideflow.storage.result import Result
from wideflow.storage.schema import OPTIONAL
from wideflow.storage.store import Store
from wideflow.storage.work import Work
from wideflow.types import Camera, Rig

LOG = logging.getLogger("wideflow")


def run(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    out: str | os.PathLike[str],
    config: Config | None = None,
    *,
    frames: slice = slice(0, None, 1),
    size: int = 960,
    intrinsics: tuple[Camera | None, Camera | None] = (None, None),
    rig: Rig | None = None,
    offset: float | None = None,
    scale: float | None = None,
    scale_points: tuple[tuple[float, float], tuple[float, float]] | None = None,
    scale_length: float | None = None,
    scale_frame: int | None = None,
    tag_size: float | None = None,
    fps: float | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    anyway: bool = False,
    keep: tuple[str, ...] = (),
    view: str = "a",
    proposals: str | os.PathLike[str] | None = None,
    discard_work: bool = False,
    report: bool = True,
    progress: Progress = silent,
) -> Result:
    """Dense depth and 3D motion from two videos of the same moment.

    What is done is kept in ``out``: a run that was ended, however, goes on where it was, and one with other
    settings computes only what depends on them.

    Parameters
    ----------
    a, b : path
        The two clips, or folders of pictures.
    out : path or URL
        Folder for the result; ``s3://…`` and what else fsspec knows.
    config : Config, optional
        The default settings unless given.
    frames : slice
        Frames of A: start, stop, stride.
    size : int
        Longest side of the pictures that are matched, px; they are never enlarged.
    intrinsics : pair of Camera or None
        Known lenses; the others are calibrated.
    rig : Rig, optional
        A known calibration, whose frames are A's by their index.
    offset : float, optional
        Seconds by which B started later; found from sound and pictures unless given.
    scale : float, optional
        Distance between the cameras in the first frame; it sets the unit of the world. So do
        ``scale_points`` or ``tag_size``; give one of them.
    scale_points : two (x, y), optional
        Pixels of A's frame that are ``scale_length`` apart.
    scale_length : float, optional
        Distance between the points of ``scale_points``.
    scale_frame : int, optional
        Frame of A for which ``scale`` or ``scale_points`` hold; the first unless given.
    tag_size : float, optional
        Side in metres of a tag of ``wideflow tag`` that the videos show.
    fps : float, optional
        Pictures per second of folders.
    workers : int, optional
        Processes that share the work; this one does it unless given.
    cluster : str, optional
        Address of a Dask scheduler whose workers see the clips and ``out``.
    anyway : bool
        Go on where synchronisation or calibration is not to be trusted; the verdict says so all the same.
    keep : tuple of str
        Arrays to store beside those of every result: "loop_flow", "covariance", "motion_covariance",
        "colour_transform". What the result in ``out`` has of them already is kept too.
    view : str
        "both" gives depth and motion of B's pictures too, which ``Result(out, view="b")`` reads.
    proposals : path, optional
        Flows of your own that propose to the matches: a folder named as ``wideflow export --to flo`` writes
        it, of which any file may be missing, or an ONNX model (extra ``onnx``).
    discard_work : bool
        Remove at the end what only a run that goes on, or one with other settings, needs.
    report : bool
        Write ``report.html`` at the end.
    progress : callable
        Told (steps done, steps in all, what comes next).

    Returns
    -------
    Result
        Its ``verdict`` says whether to trust it, and why not.

    Raises
    ------
    RefusedError
        Synchronisation or calibration is not to be trusted; ``anyway`` goes on from there.
    WideflowError
        With one sentence about what the clips, settings or the disk lack; what was done is kept.
    """
    job = Job(
        Path(a),
        Path(b),
        str(out),
        config or Config(),
        frames,
        size,
        intrinsics,
        rig,
        offset,
        KnownScale(scale, scale_points, scale_length, tag_size, scale_frame),
        fps,
        anyway,
        keep,
        view,
        None if proposals is None else Path(proposals),
        discard_work,
    )
    return run_job(job, workers, cluster, report, progress)


def run_job(job: Job, workers: int | None, cluster: str | None, report: bool, progress: Progress) -> Result:
    """`run` of what a `Job` describes."""
    keep_memory()
    place = Place(job.out)
    if wrong := sorted(set(job.keep) - set(OPTIONAL)):
        raise InputError(f"there is no array {wrong[0]} to keep; there are {', '.join(OPTIONAL)}")
    if job.view not in VIEWS:
        raise InputError(f"--view is {' or '.join(VIEWS)}, not '{job.view}'")
    with locked(place) as claim, logged(place):
        place.sweep()
        LOG.info("wideflow %s: '%s' and '%s' into '%s'", __version__, job.a, job.b, job.out)
        plan, found = make_plan(job, progress, claim)
        plan = replace(plan, claim=claim, keep=_kept_too(place, plan))
        claim.check(place)
        state, summary = _begin(place, plan, job, found, progress)
        notes = _notes_of_others(plan, state.tasks)

        def done(task: Task, note: dict[str, Any]) -> None:
            notes[task] = note
            LOG.info("%s of moment %d: %s", task.name, task.t, note.get("unknown") or note["seconds"])

        if workers is None and cluster is None:
            run_here(plan, state.tasks, progress, done)
        else:
            run_on_cluster(plan, state.tasks, cluster, workers or 1, progress, done)
        _require_all(plan)
        told = timings(found["seconds"], _seconds(notes))
        claim.check(place)
        write_files(place, {"timings.json": json.dumps(told, indent=1).encode()})
        result = conclude(job.out, whole_summary(summary, notes))
        if report:
            from wideflow.report.write import write_report

            write_report(result, progress)
        if job.discard_work:
            Work(place).discard()
        LOG.info("done: %d moments", len(plan))
    return result


def _begin(
    place: Place, plan: Plan, job: Job, found: dict[str, Any], progress: Progress
) -> tuple[Survey, dict[str, Any]]:
    """See what is done, make the store ready, and write what is known before the work.

    What the plan cannot use counts as missing before anything that belongs to the plan is written.
    """
    state = survey(plan, Store.find(place))
    for reason in state.reasons:
        LOG.info("%s", reason.words)
        if not reason.asked:
            warnings.warn(reason.words, stacklevel=2)
    Store.create(place, len(plan), plan.rig.cameras, plan.keep)
    require_space(place, plan, state.tasks, progress)
    summary = first_summary(job, found)
    files = {"rig.json": rig_to_bytes(plan.rig), "filmed.json": rig_to_bytes(plan.filmed)}
    write_files(place, files | {"summary.json": json.dumps(summary, indent=1).encode()})
    return state, summary


def _kept_too(place: Place, plan: Plan) -> tuple[str, ...]:
    """Arrays to keep: those asked for, and those that the result has already, so that no moment lacks one."""
    store = Store.find(place)
    same = store is not None and store.sizes == tuple(camera.size for camera in plan.rig.cameras)
    return tuple(sorted({*plan.keep, *(store.kept if store is not None and same else ())}))


def _notes_of_others(plan: Plan, tasks: tuple[Task, ...]) -> dict[Task, dict[str, Any]]:
    """What was noted of the tasks that need not be done; nothing of flows that were discarded."""
    others = [task for task in plan.tasks() if task not in set(tasks)]
    return {task: note for task in others if (note := noted(plan, task)) is not None}


def _require_all(plan: Plan) -> None:
    """Look once more whether all moments are there: workers of a run that has ended may write late."""
    for task in plan.tasks():
        if STAGE[task.name].kept == "result" and noted(plan, task) is None:
            raise FileError(
                f"moment {task.t} of '{plan.out}' is missing, though it was computed; another run may have "
                "removed it; start the run again"
            )


def _seconds(notes: dict[Task, dict[str, Any]]) -> dict[int, Seconds]:
    """Of each stage, for every moment."""
    moments: dict[int, Seconds] = {}
    for task, note in notes.items():
        moments[task.t] = total(moments.get(task.t, {}), note["seconds"])
    return moments
