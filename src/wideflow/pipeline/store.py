"""`result.zarr`: arrays with a leading time axis, one chunk a frame, that xarray opens by name."""

from __future__ import annotations

import errno
import json
import os
import shutil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files.disk import AnyPath
from wideflow.files.place import Place, make_folder
from wideflow.files.rig import rig_to_bytes
from wideflow.pipeline.step import Step
from wideflow.pipeline.timings import timings
from wideflow.results import ARRAYS, STEPS
from wideflow.types import Camera


class Store:
    """A ``result.zarr`` that is written moment by moment; each array of a moment is written whole or not.

    Parameters
    ----------
    place : Place
        Folder or URL that it lies in.
    moments : int
    cameras : pair of Camera
        Whose sizes its pictures have. A store of another size is begun anew, one of another length cut or
        extended.
    name : str
    """

    def __init__(
        self, place: Place, moments: int, cameras: tuple[Camera, Camera], name: str = "result.zarr"
    ) -> None:
        self.place, self.name = place, name
        self._shapes = {array: _shape(array, moments, cameras) for array in ARRAYS}
        self._group = self._opened() or self._created()

    def put(self, name: str, t: int, values: NDArray[Any]) -> None:
        """Write one array of one moment."""
        self._try(lambda: self._group[name].__setitem__(t, values))

    def put_unknown(self, t: int, step: bool) -> None:
        """Write that nothing is known of a moment, nor of the step that starts from it."""
        for name in ARRAYS:
            if not name.startswith("picture") and (step or name not in STEPS):
                value = 1 if name == "occluded" else 0 if name == "confidence" else np.nan
                self.put(name, t, np.full(self._shapes[name][1:], value))

    def get(self, name: str, t: int) -> NDArray[Any]:
        """One array of one moment, as it was written."""
        return np.asarray(self._group[name][t])

    def _opened(self) -> Any | None:
        import zarr

        if not self.place.exists(f"{self.name}/zarr.json"):
            return None
        try:
            group: Any = zarr.open_group(self.place.store(self.name), mode="r+")
            if all(group[name].shape[1:] == shape[1:] for name, shape in self._shapes.items()):
                for name, shape in self._shapes.items():
                    if group[name].shape != shape:
                        group[name].resize(shape)
                return group
        except (KeyError, ValueError, OSError, TypeError):
            pass  # begun by a process that was killed, or not ours
        return None

    def _created(self) -> Any:
        import zarr

        self.place.remove(self.name)
        if not self.place.remote:
            make_folder(self.place.folder)

        def create() -> Any:
            group = zarr.create_group(
                self.place.store(self.name), attributes={"title": "Wideflow scene flow", "version": 1}
            )
            for name, shape in self._shapes.items():
                dimensions, unit, meaning = ARRAYS[name]
                group.create_array(
                    name,
                    shape=shape,
                    chunks=(1, *shape[1:]),
                    dtype=_TYPES.get(name, np.float32),
                    fill_value=0 if name in _TYPES else np.nan,
                    dimension_names=("step" if name in STEPS else "time", *dimensions),
                    attributes={"units": unit, "long_name": meaning},
                )
            return group

        return self._try(create)

    def _try(self, action: Any) -> Any:
        try:
            return action()
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno == errno.ENOSPC:
                reason = "the disk is full; free some space and start again, what is done is kept"
            raise FileError(f"cannot write the result into '{self.place}': {reason}") from error


# of the arrays that begin as 0; all others are float32 and begin as NaN
_TYPES: dict[str, Any] = {
    "occluded": np.bool_,
    "confidence": np.float32,
    "picture_a": np.uint8,
    "picture_b": np.uint8,
}


def _shape(name: str, moments: int, cameras: tuple[Camera, Camera]) -> tuple[int, ...]:
    dimensions = ARRAYS[name][0]
    width, height = cameras["y_b" in dimensions].size
    last = {"xy": (2,), "xyz": (3,), "rgb": (3,)}.get(dimensions[-1], ())
    return (max(moments - 1, 1) if name in STEPS else moments, height, width, *last)


def stored_arrays(value: object) -> dict[str, NDArray[Any]]:
    """The attributes of what a stage gives that a result has arrays for."""
    return {name: getattr(value, name) for name in ARRAYS if hasattr(value, name)}


def write_step(out: AnyPath, step: Step) -> None:
    """Write ``result.zarr``, ``rig.json`` and ``timings.json`` of one time step into a folder.

    Raises
    ------
    FileError
        The folder cannot be written; an older result in it is then still whole.
    """
    place = Place(out)
    temporary = ".result.zarr.part"
    try:
        place.remove(temporary)
        store = Store(place, 2, step.rig.cameras, temporary)
        for t, found in enumerate((step.scene, step.last)):
            for name, values in (stored_arrays(step.pictures[t]) | stored_arrays(found)).items():
                store.put(name, t, values)
        place.remove("result.zarr")
        os.replace(place.folder / temporary, place.folder / "result.zarr")
    except (OSError, FileError) as error:
        shutil.rmtree(place.folder / temporary, ignore_errors=True)
        if isinstance(error, FileError):
            raise
        reason = error.strerror or str(error)
        raise FileError(f"cannot write the result into '{out}': {reason}; choose another place") from error
    place.write("rig.json", rig_to_bytes(step.rig))
    place.write("timings.json", json.dumps(timings({}, step.moments), indent=1).encode())
