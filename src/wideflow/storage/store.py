"""``result.zarr`` as it is written: arrays with a leading time axis, one chunk for each moment.

The arrays of a moment count once a note in ``checksums`` names them, and that is written last; so a moment
is whole, or reported as missing, whatever happened. Zarr, xarray and others read the chunks without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import DamagedError, FileError
from wideflow.storage.believable import is_about, is_note
from wideflow.storage.lock import Claim
from wideflow.storage.place import Place
from wideflow.storage.schema import (
    FORMAT,
    SLOT_OF,
    SLOTS,
    TITLE,
    Sizes,
    array_metadata,
    arrays_of,
    chunk_path,
    decode,
    encode,
    group_metadata,
    spec,
)
from wideflow.storage.sealed import checksum, seal, unseal
from wideflow.types import Camera

NAME = "result.zarr"
_FIRST = 2  # format that has checksums
_NOTES = "checksums"
_ABOUT = f"{_NOTES}/store.json"
TRACKS_NOTE = f"{_NOTES}/tracks.json"  # what makes tracks count


class Store:
    """A ``result.zarr`` that exists; `open` or `create` gives it.

    Attributes
    ----------
    place : Place
        Folder or URL that it lies in.
    moments : int
    sizes : pair of (int, int)
        Width and height of the pictures of A and of B.
    kept : tuple of str
        Arrays that it has beside those of every result.
    form : int
        The format that it was written in.
    """

    def __init__(self, place: Place, moments: int, sizes: Sizes, kept: tuple[str, ...], form: int) -> None:
        self.place, self.moments, self.sizes, self.kept, self.form = place, moments, sizes, kept, form

    @staticmethod
    def open(place: Place) -> Store:
        """The store of a place; nothing is written.

        Raises
        ------
        FileError
            There is none, it cannot be read now, or a newer version has written it.
        """
        store = Store.find(place)
        if store is None:
            raise FileError(f"'{place}' holds no whole {NAME}; start the run again")
        return store

    @staticmethod
    def find(place: Place) -> Store | None:
        """The store of a place; None if there is none, or only the beginning of one."""
        about = _about(place)
        if about is None or about["format"] < _FIRST:
            return None
        kept = tuple(about["kept"])
        return Store(place, int(about["moments"]), _pairs(about["sizes"]), kept, about["format"])

    @staticmethod
    def create(place: Place, moments: int, cameras: tuple[Camera, Camera], keep: Iterable[str] = ()) -> Store:
        """A store for so many moments of these cameras; what it holds already stays as far as it fits.

        A store for pictures of other sizes, or without checksums, is begun anew; one of another length is
        cut or extended; one of an older format gets the arrays that it lacks. May be interrupted at any
        moment and called again.

        Raises
        ------
        FileError
            A ``result.zarr`` lies there that is not ours, or a newer version's; or it cannot be written.
        """
        require_ours(place)
        about = _about(place)
        sizes = cameras[0].size, cameras[1].size
        fits = about is not None and about["format"] >= _FIRST and _pairs(about["sizes"]) == sizes
        if not fits:
            place.write(_ABOUT, seal({"format": 0}))  # a run that is killed now goes on from here
            _forget(place, 0)
            place.remove(TRACKS_NOTE)
            place.remove(NAME)
        elif about is not None and about["moments"] > moments:
            _forget(place, moments)
        kept = tuple(sorted({*keep, *(about["kept"] if about and fits else ())}))
        store = Store(place, moments, sizes, kept, FORMAT)
        for name in store.names:
            _replace(place, f"{NAME}/{name}/zarr.json", array_metadata(name, moments, sizes))
        _replace(place, f"{NAME}/zarr.json", group_metadata())
        described = {"format": FORMAT, "moments": moments, "sizes": sizes, "kept": kept}
        _replace(place, _ABOUT, seal(described))
        if about is not None and fits and about["moments"] > moments:
            store._cut(int(about["moments"]))
        return store

    @property
    def names(self) -> tuple[str, ...]:
        """Arrays that it has."""
        return (*arrays_of(self.form), *self.kept)

    @property
    def slots(self) -> tuple[str, ...]:
        """What every moment of it has been written as."""
        return tuple(slot for slot, names in SLOTS.items() if set(names) & set(self.names))

    def shape(self, name: str) -> tuple[int, ...]:
        """Of one moment of an array."""
        return spec(name).shape(1, self.sizes)[1:]

    def put(
        self,
        slot: str,
        t: int,
        key: str,
        arrays: Mapping[str, NDArray[Any]],
        note: dict[str, Any] | None = None,
        claim: Claim | None = None,
    ) -> None:
        """Write arrays of a moment as one: until this ends, the moment counts as missing.

        Parameters
        ----------
        slot : str
            "pictures", or "moment" for what was found from them.
        t : int
            The moment.
        key : str
            Of everything that the arrays depend on.
        arrays : mapping
            Names of the schema, and what they hold at the moment.
        note : dict, optional
            What else is known of it, for JSON.
        claim : Claim, optional
            Of who writes: it is not written if another has taken over.

        Raises
        ------
        FileError
            It cannot be written, or another run has the lock by now.
        """
        if claim is not None:
            claim.check(self.place)
        self.place.remove(_note_path(slot, t))
        sums = {}
        for name, values in arrays.items():
            chunk = encode(name, self.sizes, values)
            self.place.write(f"{NAME}/{chunk_path(name, t)}", chunk)
            sums[name] = checksum(chunk)
        if claim is not None:
            claim.check(self.place)
        self.place.write(_note_path(slot, t), seal({"key": key, "arrays": sums, "note": note or {}}))

    def noted(self, slot: str, t: int) -> dict[str, Any] | None:
        """ "key", "arrays" with their checksums, and "note" of a moment that was written; else None."""
        found = unseal(self.place.find(_note_path(slot, t)))
        return found if found is not None and is_note(found) else None

    def note(self, slot: str, t: int, key: str, names: Iterable[str] = ()) -> dict[str, Any] | None:
        """What was noted of a moment that was written with this key and has these arrays; else None."""
        noted = self.noted(slot, t)
        if noted is None or noted["key"] != key or not set(names) <= set(noted["arrays"]):
            return None
        return dict(noted["note"])

    def get(self, name: str, t: int) -> NDArray[Any]:
        """One array of one moment, as it was written.

        Raises
        ------
        DamagedError
            It was not written, or is not as it was.
        """
        noted = self.noted(SLOT_OF[name], t)
        if noted is None or name not in noted["arrays"]:
            raise DamagedError(
                f"{name} of moment {t} in '{self.place}' is missing; start the run again, which computes it"
            )
        chunk = self._whole_chunk(name, t, noted["arrays"][name])
        try:
            if chunk is not None:
                return decode(name, self.sizes, chunk)
        except (ValueError, RuntimeError, TypeError, MemoryError):
            pass  # of another schema, or made to deceive
        raise DamagedError(
            f"{name} of moment {t} in '{self.place}' is damaged; start the run again, which computes it anew"
        )

    def damage(self, slot: str, t: int) -> str | None:
        """What is wrong with a moment, every byte of which is read; None if nothing is."""
        noted = self.noted(slot, t)
        if noted is None:
            return "missing" if self.place.find(_note_path(slot, t)) is None else "its note is damaged"
        wrong = [
            name for name, digest in noted["arrays"].items() if self._whole_chunk(name, t, digest) is None
        ]
        return f"damaged: {', '.join(wrong)}" if wrong else None

    def forget(self, slot: str, t: int) -> None:
        """Take a moment for missing."""
        self.place.remove(_note_path(slot, t))

    def _whole_chunk(self, name: str, t: int, digest: str) -> bytes | None:
        """The chunk of a moment if it is there and as it was written."""
        chunk = self.place.find(f"{NAME}/{chunk_path(name, t)}")
        return chunk if chunk is not None and checksum(chunk) == digest else None

    def _cut(self, moments: int) -> None:
        """Remove what a store of so many moments had beyond the end of this one."""
        for name in self.names:
            first = spec(name).shape(self.moments, self.sizes)[0]
            for t in range(first, spec(name).shape(moments, self.sizes)[0]):
                self.place.remove(f"{NAME}/{name}/c/{t}")


def require_ours(place: Place) -> None:
    """Refuse a place whose ``result.zarr`` is not ours: it would be written over.

    Raises
    ------
    FileError
        It is another program's, or nothing is left of it that could be known.
    """
    if _about(place) is None and (place.exists(NAME) or place.names(NAME)) and not _is_ours(place):
        raise FileError(
            f"'{place}/{NAME}' was not written by Wideflow, or is damaged beyond that; choose another "
            "folder, or move it away"
        )


def take_over(place: Place, part: Place) -> None:
    """Put a whole store in the place of the one that lies there, on this disk."""
    place.write(_ABOUT, seal({"format": 0}))  # whoever is killed now leaves no mixture behind
    place.remove(NAME)
    place.rename(f"{part.folder.name}/{NAME}", NAME)
    place.remove(_NOTES)
    place.rename(f"{part.folder.name}/{_NOTES}", _NOTES)


def unknown_arrays(store: Store, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Arrays that say of a moment that nothing is known."""
    values = {"occluded": 1.0, "occluded_b": 1.0}
    return {
        name: np.full(store.shape(name), values.get(name, spec(name).fill), spec(name).dtype)
        for name in names
    }


def _about(place: Place) -> dict[str, Any] | None:
    """What is known of the store of a place, "format" above all: 0 if it is only the beginning of one."""
    about = unseal(place.find(_ABOUT))
    if about is None or not is_about(about):
        return None
    if about["format"] > FORMAT:
        raise FileError(
            f"'{place}' was written by a newer version of Wideflow (format {about['format']}; this one knows "
            f"formats up to {FORMAT}); install that version, or choose another folder"
        )
    return about


def _pairs(sizes: Any) -> Any:
    return tuple(tuple(size) for size in sizes)


def _is_ours(place: Place) -> bool:
    """Whether the group says so, or any note of ours is left."""
    if any(unseal(place.find(f"{_NOTES}/{name}")) is not None for name in place.names(_NOTES)):
        return True
    try:
        return json.loads(place.find(f"{NAME}/zarr.json") or b"")["attributes"]["title"] == TITLE
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _forget(place: Place, first: int) -> None:
    """Take all moments from ``first`` on for missing."""
    for name in place.names(_NOTES):
        number = name.split(".")[0]
        if number.isdecimal() and int(number) >= first:
            place.remove(f"{_NOTES}/{name}")


def _replace(place: Place, name: str, content: bytes) -> None:
    """Write a file unless that is what it holds."""
    if place.find(name) != content:
        place.write(name, content)


def _note_path(slot: str, t: int) -> str:
    return f"{_NOTES}/{t:06d}.{slot}.json"
