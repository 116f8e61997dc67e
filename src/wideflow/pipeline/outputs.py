"""What stages give as arrays of a result, and a result of one time step."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from wideflow import __version__
from wideflow.errors import FileError
from wideflow.files.disk import TEMPORARY, AnyPath
from wideflow.files.rig import rig_to_bytes
from wideflow.pipeline.step.in_memory import Step
from wideflow.pipeline.step.timings import timings
from wideflow.storage.checked_files import write_files
from wideflow.storage.lock import locked
from wideflow.storage.packed import Arrays
from wideflow.storage.place import Place
from wideflow.storage.schema import ARRAYS, OF_B, PICTURES, spec
from wideflow.storage.store import Store, require_ours, take_over
from wideflow.storage.versions import made_by


def stored_arrays(value: object, names: Iterable[str] = tuple(ARRAYS)) -> Arrays:
    """The attributes of what a stage gives that a result has arrays for."""
    attributes = {name: OF_B.get(name, name) for name in names}
    return {name: getattr(value, here) for name, here in attributes.items() if hasattr(value, here)}


def colour_terms(matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """A colour transform of any degree as the schema has it: the constant first, no power left out."""
    terms = np.zeros((3, spec("colour_transform").shape(1, ((1, 1), (1, 1)))[-1]), np.float32)
    terms[:, 0] = matrix[:, -1]
    terms[:, 1 : matrix.shape[1]] = matrix[:, :-1]
    return terms


def write_step(out: AnyPath, step: Step) -> None:
    """Write ``result.zarr``, ``rig.json`` and ``timings.json`` of one time step into a folder.

    Raises
    ------
    FileError
        The folder cannot be written; an older result in it is then still whole.
    """
    place = Place(out)
    stages = ("pictures", "match", "fill", "refine", "lift", "steady")
    note = {"made": {"wideflow": __version__, **made_by(stages)}}
    with locked(place) as claim:
        place.sweep()
        require_ours(place)
        part = Place(f"{place}/{TEMPORARY}result")
        try:
            store = Store.create(part, 2, step.rig.cameras)
            for t, found in enumerate((step.scene, step.last)):
                store.put("pictures", t, "frames", stored_arrays(step.pictures[t], PICTURES), note)
                store.put("moment", t, "frames", stored_arrays(found), note)
                store.put("steady", t, "frames", stored_arrays(step.steady[t]), note)
            claim.check(place)
            for name in ("summary.json", "report.html", "filmed.json"):
                place.remove(name)  # of the result that was there
            take_over(place, part)
        finally:
            with suppress(FileError):
                place.remove(f"{TEMPORARY}result")
        told = json.dumps(timings({}, step.moments), indent=1).encode()
        write_files(place, {"rig.json": rig_to_bytes(step.rig), "timings.json": told})
