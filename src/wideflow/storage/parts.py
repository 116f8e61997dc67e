"""Parts of one computation that are kept: what a run that was ended has done, the next does not do again."""

from __future__ import annotations

import logging
from collections.abc import Callable

from wideflow.errors import FileError
from wideflow.storage.packed import Arrays, pack, unpack
from wideflow.storage.place import Place

LOG = logging.getLogger("wideflow")


class Parts:
    """A folder with one file of arrays for every part done; nothing is kept without a place.

    Parameters
    ----------
    place : Place or None
        Where the folder lies.
    key : str
        Of everything that the results depend on: another key finds nothing.
    """

    def __init__(self, place: Place | None, key: str) -> None:
        self._place, self._key = place, key

    def part(self, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """The arrays of a part, as they were kept if it was done before; what is damaged is done anew."""
        if self._place is None:
            return compute()
        path = f"{self._key}/{name}.bin"
        content = self._place.find(path)
        if content is not None:
            try:
                return unpack(content, f"{self._place}/{path}")
            except FileError as error:
                LOG.warning("%s", error)
        arrays = compute()
        self._place.write(path, pack(arrays), wait=False)
        return arrays
