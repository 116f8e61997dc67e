"""What ``summary.json`` says of a job."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from wideflow import __version__
from wideflow.errors import InputError
from wideflow.pipeline.job import Job
from wideflow.pipeline.tasks.plan import Task
from wideflow.storage.versions import made_by

Notes = Mapping[Task, dict[str, Any]]  # what was noted of each task that is done


def first_summary(job: Job, found: dict[str, Any]) -> dict[str, Any]:
    """What is known before the work; ``found`` is what `make_plan` has found."""
    report = found["calibration"]
    return {
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


def whole_summary(first: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The first summary with what the work itself has told.

    Raises
    ------
    InputError
        No moment could be matched.
    """
    moments = {**first["moments"], "unmatched": _unmatched(notes)}
    return {**first, "moments": moments, "made": _made(notes)}


def _made(notes: Notes) -> dict[str, Any]:
    """What made what: the version of each stage, and of the package for each moment."""
    stages: dict[str, int] = made_by(("sync", "check", "calibration"))
    packages: dict[str, list[int]] = {}
    for task, note in sorted(notes.items(), key=lambda item: item[0].t):
        made = dict(note.get("made", {}))
        package = str(made.pop("wideflow", "unknown"))
        stages |= made
        if task.name in ("step", "last"):
            packages.setdefault(package, []).append(task.t)
    return {"stages": stages, "moments": packages}


def _unmatched(notes: Notes) -> int:
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
