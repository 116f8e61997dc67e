"""What the steps of the pipeline find, as arrays of a result."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow import __version__
from wideflow.errors import FileError
from wideflow.files.disk import TEMPORARY, AnyPath
from wideflow.files.rig import rig_to_bytes
from wideflow.lift import LiftedStereo
from wideflow.matching.colour import ColourTransform
from wideflow.pipeline.moment import FilledFlow, Moment
from wideflow.pipeline.step import Step
from wideflow.storage.lock import locked
from wideflow.storage.place import Place
from wideflow.storage.schema import ARRAYS, OPTIONAL, PICTURES, spec
from wideflow.storage.store import Store, require_ours, take_over, write_files
from wideflow.storage.versions import made_by
from wideflow.types import Rig, SceneFlow

Arrays = dict[str, NDArray[Any]]


def picture_arrays(moment: Moment) -> Arrays:
    """Both pictures of a moment."""
    return {
        name: np.rint(picture * 255).astype(np.uint8)
        for name, picture in zip(PICTURES, moment.pictures, strict=True)
    }


def scene_arrays(scene: SceneFlow) -> Arrays:
    """What the step from a moment to the next has found."""
    return {name: getattr(scene, name) for name in (*ARRAYS, *OPTIONAL) if hasattr(scene, name)}


def last_arrays(stereo: FilledFlow, lifted: LiftedStereo) -> Arrays:
    """What is known of the moment that no step starts from."""
    return {
        "stereo_flow": stereo.uv,
        "occluded": stereo.occluded,
        "depth": lifted.depth,
        "confidence": lifted.confidence,
    }


def colour_terms(colours: ColourTransform) -> NDArray[np.float32]:
    """A colour transform of any degree as the schema has it: the constant first, no power left out."""
    terms = np.zeros((3, spec("colour_transform").shape(1, ((1, 1), (1, 1)))[-1]), np.float32)
    terms[:, 0] = colours.matrix[:, -1]
    terms[:, 1 : colours.matrix.shape[1]] = colours.matrix[:, :-1]
    return terms


def write_step(out: AnyPath, step: Step) -> None:
    """Write ``result.zarr``, ``rig.json`` and ``timings.json`` of one time step into a folder.

    Raises
    ------
    FileError
        The folder cannot be written; an older result in it is then still whole.
    """
    place = Place(out)
    frames = step.moments[0].frame, step.moments[1].frame
    cameras = frames[0].views[0].camera, frames[0].views[1].camera
    note = {"made": {"wideflow": __version__, **made_by(("pictures", "match", "fill", "refine", "lift"))}}
    with locked(place) as claim:
        place.sweep()
        require_ours(place)
        part = Place(f"{place}/{TEMPORARY}result")
        try:
            store = Store.create(part, 2, cameras)
            for t, moment in enumerate(step.moments):
                store.put("pictures", t, "frames", picture_arrays(moment), note)
            scene = scene_arrays(step.scene)
            chosen = {name: scene[name] for name in ARRAYS if name not in PICTURES}
            store.put("moment", 0, "frames", chosen, note)
            store.put("moment", 1, "frames", last_arrays(step.stereo_next, step.lifted_next), note)
            claim.check(place)
            take_over(place, part)
        finally:
            with suppress(FileError):
                place.remove(f"{TEMPORARY}result")
        write_files(place, {"rig.json": rig_to_bytes(Rig(cameras, frames))})
        timings = {stage: round(seconds, 3) for stage, seconds in step.seconds.items()}
        place.write("timings.json", json.dumps({"seconds": timings}, indent=1).encode())
