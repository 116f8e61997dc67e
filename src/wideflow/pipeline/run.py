"""The whole job: two videos in, depth and motion of every pixel out."""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wideflow import __version__
from wideflow.config import Config
from wideflow.errors import InputError, WideflowError
from wideflow.files.place import Place
from wideflow.files.rig import rig_to_bytes
from wideflow.pipeline.conclude import conclude
from wideflow.pipeline.lock import locked
from wideflow.pipeline.plan import Plan, Task
from wideflow.pipeline.prepare import Job, make_plan
from wideflow.pipeline.schedule import run_here, run_on_cluster
from wideflow.pipeline.store import Store
from wideflow.pipeline.timings import Seconds, timings, total
from wideflow.pipeline.work import Work
from wideflow.progress import Progress
from wideflow.results import Result
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
    fps: float | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    anyway: bool = False,
    report: bool = True,
    progress: Progress = lambda done, total, text: None,
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
        Distance between the cameras in the first frame; it sets the unit of the world.
    fps : float, optional
        Pictures per second of folders.
    workers : int, optional
        Processes that share the work; this one does it unless given.
    cluster : str, optional
        Address of a Dask scheduler whose workers see the clips and ``out``.
    anyway : bool
        Go on where synchronisation or calibration is not to be trusted; the verdict says so all the same.
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
        scale,
        fps,
        anyway,
    )
    return run_job(job, workers, cluster, report, progress)


def run_job(job: Job, workers: int | None, cluster: str | None, report: bool, progress: Progress) -> Result:
    """`run` of what a `Job` describes."""
    place = Place(job.out)
    with locked(place) as alive, _logged(place):
        LOG.info("wideflow %s: '%s' and '%s' into '%s'", __version__, job.a, job.b, job.out)
        plan, found = make_plan(job, progress)
        summary = _begin(place, plan, job, found)
        notes: dict[Task, dict[str, Any]] = {}

        def done(task: Task, note: dict[str, Any]) -> None:
            notes[task] = note
            LOG.info("%s of moment %d: %s", task.name, task.t, note.get("unknown") or note["seconds"])
            alive()

        if workers is None and cluster is None:
            run_here(plan, progress, done)
        else:
            run_on_cluster(plan, cluster, workers or 1, progress, done)
        told = timings(found["seconds"], _seconds(notes))
        place.write("timings.json", json.dumps(told, indent=1).encode())
        summary["moments"]["unmatched"] = _unmatched(notes)
        result = conclude(job.out, summary)
        if report:
            from wideflow.report.write import write_report

            write_report(result, progress)
        LOG.info("done: %d moments", len(plan))
    return result


def _begin(place: Place, plan: Plan, job: Job, found: dict[str, Any]) -> dict[str, Any]:
    """Write what is known before the work, the summary that is returned too, and make the store ready."""
    shape = [len(plan), *plan.rig.cameras[0].size, *plan.rig.cameras[1].size]
    known = [0]
    if place.exists("work/shape.json") and place.exists("result.zarr/zarr.json"):
        known = json.loads(place.read("work/shape.json"))
    # what lay beyond the end of a shorter store, or in one of another size, is gone
    kept = min(known[0], len(plan)) if known[1:] == shape[1:] else 0
    for slot in ("pictures", "moment"):
        Work(place).forget(slot, kept)
    Store(place, len(plan), plan.rig.cameras)
    place.write("work/shape.json", json.dumps(shape).encode())
    place.write("rig.json", rig_to_bytes(plan.rig))
    place.write("filmed.json", rig_to_bytes(plan.filmed))
    report = found["calibration"]
    summary = {
        "inputs": {"a": job.a.name, "b": job.b.name},
        "sync": found["sync"],
        "check": found["check"],
        "calibration": {
            **report,
            "reprojection_error": report["reprojection_error_median"],
            "angle": report["axis_angle"],
        },
        "moments": found["moments"],
        "settings": asdict(job.config),
        "versions": _versions(),
    }
    place.write("summary.json", json.dumps(summary, indent=1).encode())
    return summary


def _seconds(notes: dict[Task, dict[str, Any]]) -> dict[int, Seconds]:
    """Of each stage, for every moment."""
    moments: dict[int, Seconds] = {}
    for task, note in notes.items():
        moments[task.t] = total(moments.get(task.t, {}), note["seconds"])
    return moments


def _unmatched(notes: dict[Task, dict[str, Any]]) -> int:
    """Steps that could not be matched and are left unknown; if that is all of them, there is no result."""
    steps = [note.get("unknown") for task, note in notes.items() if task.name == "step"]
    if all(steps):
        raise InputError(f"no moment could be matched: {steps[0]}")
    return sum(map(bool, steps))


def _versions() -> dict[str, str]:
    versions = {"wideflow": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in ("numpy", "numba", "opencv-contrib-python-headless", "av", "zarr"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


@contextmanager
def _logged(place: Place) -> Iterator[None]:
    """Everything that is logged goes into ``log.txt`` too, warnings and the sentence of an error included."""
    lines = _Lines(place)
    lines.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    level = LOG.level
    LOG.setLevel(logging.INFO)
    LOG.addHandler(lines)
    begun = time.monotonic()
    try:
        yield
        LOG.info("ended after %.1f s", time.monotonic() - begun)
    except WideflowError as error:
        LOG.error("%s", error)
        raise
    except BaseException:
        LOG.error("ended early", exc_info=sys.exc_info())
        raise
    finally:
        LOG.removeHandler(lines)
        LOG.setLevel(level)
        lines.close()


class _Lines(logging.Handler):
    """Appends to ``log.txt`` beside the result; behind a URL, writes it whole at the end."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place, self._kept = place, [""]
        if place.remote and place.exists("log.txt"):
            self._kept = [place.read("log.txt").decode(errors="replace").rstrip("\n")]

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        if self._place.remote:
            self._kept.append(line)
            return
        try:
            with open(self._place.folder / "log.txt", "a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError:
            pass  # a full disk is told by what the run itself cannot write

    def close(self) -> None:
        if self._place.remote:
            self._place.write("log.txt", "\n".join(self._kept).lstrip("\n").encode())
        super().close()
