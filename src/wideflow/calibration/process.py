"""COLMAP in a process of its own: a crash of it is one sentence, not the end of the program."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from wideflow.calibration.problem import Model, model_from_arrays
from wideflow.errors import InputError, MissingExtraError
from wideflow.progress import Progress

_MODULE = "wideflow.calibration.worker"


def need_colmap() -> None:
    """Raise unless COLMAP can be used."""
    if find_spec("pycolmap") is None:
        raise MissingExtraError(
            "calibration needs COLMAP; install it with 'pip install wideflow[calibrate]', or give the "
            "cameras with --rig"
        )


def run_colmap(verb: str, problem: Mapping[str, Any], report: Progress) -> Model:
    """Let COLMAP solve a problem.

    Parameters
    ----------
    verb : {"map", "adjust"}
        Which problem.
    problem : mapping of str to array
        See `wideflow.calibration.worker`.
    report : callable
        Called with the steps done, all steps, and what comes next.

    Raises
    ------
    MissingExtraError
        COLMAP is not installed.
    InputError
        It could not cope with the problem.
    """
    need_colmap()
    with tempfile.TemporaryDirectory(prefix="wideflow-") as name:
        folder = Path(name)
        np.savez(folder / "problem.npz", **problem)
        _run(verb, folder, report)
        try:
            with np.load(folder / "solution.npz") as file:
                return model_from_arrays(dict(file))
        except (OSError, ValueError, KeyError) as error:
            raise _failed(folder) from error


def _run(verb: str, folder: Path, report: Progress) -> None:
    package = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", _MODULE, verb, str(folder)]
    with open(folder / "errors.txt", "w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ | {"PYTHONPATH": path}
        )
        try:
            for line in process.stdout or ():
                done, total, text = (*line.rstrip().split(" ", 2), "", "", "")[:3]
                if done.isdecimal() and total.isdecimal():
                    report(int(done), int(total), text)
            code = process.wait()
        finally:
            process.kill()
            process.wait()
    if code != 0:
        raise _failed(folder)


def _failed(folder: Path) -> InputError:
    try:
        lines = (folder / "errors.txt").read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    said = f" ({lines[-1].strip()[:200]})" if lines else ""
    return InputError(
        f"COLMAP stopped while it calibrated the cameras{said}; try other frames with --frames, or give the "
        "cameras with --rig"
    )
