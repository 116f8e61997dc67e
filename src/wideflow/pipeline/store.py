"""`result.zarr`: arrays with a leading time axis, one chunk a frame, that xarray opens by name."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from wideflow.errors import FileError
from wideflow.files import write_rig
from wideflow.files.disk import write_bytes
from wideflow.pipeline.step import Step
from wideflow.types import Rig

_FLOW = ("y", "x", "xy")
_FLOW_B = ("y_b", "x_b", "xy")
# name: dimensions after the first, unit, what it is
ARRAYS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "stereo_flow": (_FLOW, "px", "from A to B at the same moment"),
    "optical_flow_a": (_FLOW, "px", "from A to A at the next moment"),
    "optical_flow_b": (_FLOW_B, "px", "from B to B at the next moment"),
    "depth": (("y", "x"), "world units", "z in camera A"),
    "motion": (("y", "x", "xyz"), "world units", "3D displacement to the next moment"),
    "occluded": (("y", "x"), "1", "not seen by B: the flow is a guess"),
    "confidence": (("y", "x"), "1", "0 (nothing known) to 1 (certain)"),
}


def write_step(out: str | os.PathLike[str], step: Step) -> None:
    """Write ``result.zarr``, ``rig.json`` and ``timings.json`` of one time step into a folder.

    Raises
    ------
    FileError
        The folder cannot be written; an older result in it is then still whole.
    """
    folder = Path(out)
    scene = step.scene
    values = {
        "stereo_flow": np.stack([scene.stereo_flow, step.stereo_next]),
        "optical_flow_a": scene.optical_flow_a[None],
        "optical_flow_b": scene.optical_flow_b[None],
        "depth": np.stack([scene.depth, step.depth_next]),
        "motion": scene.motion[None],
        "occluded": np.stack([scene.occluded, step.occluded_next]),
        "confidence": np.stack([scene.confidence, step.confidence_next]),
    }
    temporary, final = folder / ".result.zarr.part", folder / "result.zarr"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        _write_arrays(temporary, values)
        shutil.rmtree(final, ignore_errors=True)
        os.replace(temporary, final)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        reason = error.strerror or str(error)
        raise FileError(f"cannot write the result into '{folder}': {reason}; choose another place") from error
    cameras = (step.frames[0].views[0].camera, step.frames[0].views[1].camera)
    write_rig(folder / "rig.json", Rig(cameras, step.frames))
    timings = {stage: round(seconds, 3) for stage, seconds in step.seconds.items()}
    write_bytes(folder / "timings.json", json.dumps({"seconds": timings}, indent=1).encode())


def _write_arrays(path: Path, values: dict[str, np.ndarray[Any, Any]]) -> None:
    import zarr

    group = zarr.create_group(str(path), attributes={"title": "Wideflow scene flow", "version": 1})
    for name, array in values.items():
        dimensions, unit, meaning = ARRAYS[name]
        first = "time" if array.shape[0] == len(values["depth"]) else "step"
        stored = group.create_array(
            name,
            shape=array.shape,
            chunks=(1, *array.shape[1:]),
            dtype=array.dtype,
            dimension_names=(first, *dimensions),
            attributes={"units": unit, "long_name": meaning},
        )
        stored[:] = array
