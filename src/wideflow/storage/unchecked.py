"""Results of the first format, which had no checksums: read as they are, never written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import DamagedError, FileError
from wideflow.storage.place import Place
from wideflow.storage.schema import arrays_of
from wideflow.storage.store import NAME


class UncheckedStore:
    """A ``result.zarr`` that any program may have written in our schema.

    What was never written is the fill value there, and cannot be told from what was lost.

    Attributes
    ----------
    place : Place
    moments : int
    kept : tuple of str
        None: only results with checksums can have more arrays.
    names : tuple of str
        Arrays that it has.
    """

    kept: tuple[str, ...] = ()
    names = arrays_of(1)
    sizes = None  # as the rig says

    def __init__(self, place: Place) -> None:
        import zarr

        self.place = place
        try:
            arrays: Any = zarr.open_group(place.store(NAME), mode="r")
            self._arrays = arrays
            self.moments = int(self._arrays["depth"].shape[0])
        except (KeyError, ValueError, OSError, TypeError, AttributeError, IndexError) as error:
            raise FileError(f"'{place}/{NAME}' is damaged: {error}; compute it again") from error
        if arrays.attrs.get("version") != 1:
            raise DamagedError(
                f"the checksums of '{place}' are gone, so nobody can tell whether it is whole; start the run "
                "again"
            )

    def get(self, name: str, t: int) -> NDArray[Any]:
        """One array of one moment."""
        try:
            return np.asarray(self._arrays[name][t])
        except (KeyError, OSError, RuntimeError, ValueError, TypeError, IndexError) as error:
            raise DamagedError(
                f"{name} of moment {t} in '{self.place}' is damaged; compute the result again"
            ) from error

    def noted(self, slot: str, t: int) -> dict[str, Any] | None:
        """Nothing is noted of any moment, but it is taken for computed."""
        return {}
