"""Whether a result is as it was written: every checksum of it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from wideflow.errors import DamagedError, FileError
from wideflow.files.disk import AnyPath
from wideflow.files.rig import rig_from_bytes
from wideflow.progress import Progress, silent
from wideflow.storage.checked_files import checked_names, find_file, read_file
from wideflow.storage.place import Place
from wideflow.storage.schema import SLOTS, spec
from wideflow.storage.store import NAME, Store
from wideflow.storage.tracks import tracks_problem
from wideflow.storage.unchecked import UncheckedStore
from wideflow.storage.work import Work

_WHAT = {
    "pictures": "its pictures",
    "moment": "what was found",
    "moment_b": "what was found for B",
    "steady": "its steady depth",
    "steady_b": "its steady depth for B",
}
_FILES = ("rig.json", "summary.json", "timings.json")  # that results without checksums have too


@dataclass(frozen=True)
class Checked:
    """What was found.

    Attributes
    ----------
    moments : int
    arrays : int
        That are whole: one for each moment and name.
    problems : tuple of str
        A line for everything that is missing or damaged.
    checksums : bool
        There are some; without them only what cannot be decoded shows.
    work : tuple of str
        A line for everything in ``work`` that is damaged: the result is whole without it, and a run that
        needs it computes it again.
    """

    moments: int
    arrays: int
    problems: tuple[str, ...]
    checksums: bool = True
    work: tuple[str, ...] = ()


def check_result(where: AnyPath, progress: Progress = silent) -> Checked:
    """Read all of a result and compare it with its checksums.

    Parameters
    ----------
    where : path or URL
        Of a result.
    progress : callable
        Told (moments done, moments in all, what comes next).

    Raises
    ------
    FileError
        There is no result, or it cannot be read now.
    """
    place = Place(where)
    if not place.exists(f"{NAME}/zarr.json") and not place.exists("checksums/store.json"):
        raise FileError(f"'{where}' holds no {NAME}; give a folder that 'wideflow run' has written")
    problems = [*_wrong_files(place)]
    store = Store.find(place)
    if store is None:
        if place.exists("checksums/store.json"):
            return Checked(0, 0, (*problems, "checksums/store.json is damaged, or of a run that was ended"))
        try:
            return _unchecked(place, problems, progress)
        except DamagedError as error:
            return Checked(0, 0, (*problems, str(error)), checksums=False)
    problems += _wrong_metadata(store)
    whole = 0
    for t in range(store.moments):
        progress(t, store.moments, f"moment {t}")
        for slot in store.slots:
            wrong, noted = store.damage(slot, t), store.noted(slot, t)
            stored = {} if noted is None else noted["arrays"]
            missing = [name for name in SLOTS[slot] if _expected(store, name, t) and name not in stored]
            if wrong is None and missing:
                wrong = f"missing: {', '.join(missing)}"
            if wrong is None:
                whole += len(stored)
            else:
                problems.append(f"moment {t}, {_WHAT[slot]}: {wrong}")
    wrong_tracks = tracks_problem(place)
    problems += [] if wrong_tracks is None else [wrong_tracks]
    progress(store.moments, store.moments, "done")
    return Checked(store.moments, whole, tuple(problems), work=tuple(Work(place).problems()))


def _expected(store: Store, name: str, t: int) -> bool:
    """Whether every moment t of such a result has this array."""
    return name in store.names and t < store.moments - spec(name).of_step


def _wrong_files(place: Place) -> list[str]:
    problems: list[str] = []
    try:
        names = dict.fromkeys((*_FILES, *checked_names(place)))
    except DamagedError as error:
        return [str(error)]
    for name in names:
        try:
            if name == "rig.json":
                rig_from_bytes(read_file(place, name), name)
            elif not isinstance(json.loads(find_file(place, name) or b"{}"), dict):
                problems.append(f"{name} is damaged")
        except FileError as error:
            problems.append(str(error))
        except (ValueError, RecursionError):
            problems.append(f"{name} is damaged")
    return problems


def _wrong_metadata(store: Store) -> list[str]:
    """Names of arrays that other programs could not open."""
    problems = []
    for name in store.names:
        try:
            found = json.loads(store.place.find(f"{NAME}/{name}/zarr.json") or b"")
            right = tuple(found["shape"]) == spec(name).shape(store.moments, store.sizes)
        except (ValueError, TypeError, KeyError, RecursionError):
            right = False
        if not right:
            problems.append(f"{NAME}/{name}/zarr.json is missing or damaged")
    return problems


def _unchecked(place: Place, problems: list[str], progress: Progress) -> Checked:
    store, whole = UncheckedStore(place), 0
    for t in range(store.moments):
        progress(t, store.moments, f"moment {t}")
        for name in store.names:
            if t < store.moments - spec(name).of_step:
                try:
                    store.get(name, t)
                    whole += 1
                except FileError as error:
                    problems.append(str(error))
    return Checked(store.moments, whole, tuple(problems), checksums=False)
