"""Tracks in a result: a group of its own in ``result.zarr``, which readers that do not know it pass over.

The note ``checksums/tracks.json`` is removed first and written last, so tracks are whole or not there. It
also names what they were found in: after a run has computed moments anew, they are no longer served.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import DamagedError, InputError
from wideflow.storage.lock import locked
from wideflow.storage.place import Place
from wideflow.storage.sealed import checksum, seal, unseal
from wideflow.storage.store import NAME, TRACKS_NOTE

if TYPE_CHECKING:
    from wideflow.storage.result import Result

_GROUP = f"{NAME}/tracks"
_MOST_BYTES = 2**31 - 1  # of one array: what the decoder takes
# dimensions, type and meaning of each array
_ARRAYS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "queries": (("track", "xyt"), "float32", "pixel of A and moment that was asked for"),
    "xyz": (("time", "track", "xyz"), "float32", "world point"),
    "visible": (("time", "track"), "bool", "seen in the picture of A"),
    "confidence": (("time", "track"), "float32", "chance that the point is within five percent of its depth"),
    "moving": (("track",), "bool", "moves at some time"),
}
_CRC_BYTES = 4


@dataclass(frozen=True, eq=False)
class Tracks:
    """N points followed through T moments.

    Attributes
    ----------
    queries : (N, 3) float32
        x, y and the moment that was asked for.
    xyz : (T, N, 3) float32
        World coordinates; NaN where nothing is known, as of a pixel without depth.
    visible : (T, N) bool
        Seen in A's picture.
    confidence : (T, N) float32
        About the chance that the point is within five percent of its depth.
    moving : (N,) bool
        It moves at some time; else it is one world point.
    """

    queries: NDArray[np.float32]
    xyz: NDArray[np.float32]
    visible: NDArray[np.bool_]
    confidence: NDArray[np.float32]
    moving: NDArray[np.bool_]

    def __len__(self) -> int:
        """Points."""
        return len(self.queries)


def require_room(moments: int, count: int) -> None:
    """Refuse more tracks than one array can hold."""
    if moments * count * 12 > _MOST_BYTES:
        most = _MOST_BYTES // (12 * moments)
        raise InputError(f"{count} tracks over {moments} moments are too many at once; give at most {most}")


def write_tracks(result: Result, tracks: Tracks) -> None:
    """Keep tracks with a result, in place of those that it has; a kill leaves it whole and without tracks.

    Raises
    ------
    InputError
        The result is of the first format, which has no checksums.
    FileError
        Another run works on it, or it cannot be written.
    """
    place = result.place
    if not place.exists("checksums/store.json"):
        raise InputError(f"'{place}' has no checksums; start the run again, which adds them, or give -o FILE")
    files = _encoded(tracks)
    with locked(place) as claim:
        found_in = _found_in(result)
        place.remove(TRACKS_NOTE)
        place.remove(_GROUP)
        for name, content in files.items():
            place.write(f"{_GROUP}/{name}", content)
        claim.check(place)
        sums = {name: checksum(files[_chunk(name)]) for name in _ARRAYS}
        place.write(
            TRACKS_NOTE,
            seal({"moments": len(result), "count": len(tracks), "arrays": sums, "found_in": found_in}),
        )


def has_tracks(place: Place) -> bool:
    """Whether tracks have been kept; whether they are whole and of now shows when they are read."""
    return place.exists(TRACKS_NOTE)


def read_tracks(result: Result) -> Tracks:
    """The tracks of a result.

    Raises
    ------
    InputError
        It has none, or has been computed anew since.
    DamagedError
        They are not as they were written.
    """
    place = result.place
    if not has_tracks(place):
        raise InputError(f"'{place}' has no tracks; 'wideflow track {place} --grid 8' adds them")
    sums, moments, count = _noted(place)
    if moments != len(result) or _note(place).get("found_in") != _found_in(result):
        raise InputError(f"'{place}' was computed anew after its tracks; run 'wideflow track' again")
    arrays = {name: _read(place, name, moments, count, sums[name]) for name in _ARRAYS}
    return Tracks(**arrays)


def tracks_problem(place: Place) -> str | None:
    """What is wrong with the tracks of a place, every byte of which is read; None if nothing is."""
    if not has_tracks(place):
        return None
    try:
        sums, moments, count = _noted(place)
        for name in _ARRAYS:
            _read(place, name, moments, count, sums[name])
    except DamagedError as error:
        return str(error)
    return None


def _noted(place: Place) -> tuple[dict[str, str], int, int]:
    """Checksums of the arrays, and how many moments and tracks there are."""
    note = _note(place)
    sums, moments, count = note.get("arrays"), note.get("moments"), note.get("count")
    whole = isinstance(sums, dict) and set(sums) == set(_ARRAYS)
    if not whole or not all(type(number) is int and number >= 1 for number in (moments, count)):
        raise _damaged(place)
    return dict(sums or {}), int(moments or 0), int(count or 0)


def _note(place: Place) -> dict[str, Any]:
    return unseal(place.find(TRACKS_NOTE)) or {}


def _damaged(place: Place) -> DamagedError:
    return DamagedError(f"the tracks of '{place}' are damaged; run 'wideflow track' again")


def _read(place: Place, name: str, moments: int, count: int, digest: Any) -> NDArray[Any]:
    from numcodecs.zstd import Zstd

    dimensions, kind, _ = _ARRAYS[name]
    sizes = {"time": moments, "track": count, "xyz": 3, "xyt": 3}
    shape, dtype = tuple(sizes[each] for each in dimensions), np.dtype(kind).newbyteorder("<")
    size = math.prod(shape) * dtype.itemsize
    chunk = place.find(f"{_GROUP}/{_chunk(name)}")
    if chunk is None or checksum(chunk) != digest or size > _MOST_BYTES:
        raise _damaged(place)
    try:
        plain = np.zeros(size, np.uint8)
        Zstd().decode(chunk[:-_CRC_BYTES], plain)
    except (ValueError, RuntimeError, TypeError, MemoryError) as error:
        raise _damaged(place) from error  # made to deceive
    return plain.view(dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _chunk(name: str) -> str:
    """The only one of an array."""
    return "/".join([name, "c", *"0" * len(_ARRAYS[name][0])])


def _found_in(result: Result) -> str:
    """Changes with any bit of the moments and cameras that tracks are found in."""
    parts = [result.place.find("rig.json") or b""]
    for t in range(len(result)):
        for slot in ("pictures", "moment", "steady"):
            noted = result.store.noted(slot, t)
            parts.append(repr(sorted((noted or {}).get("arrays", {}).items())).encode())
    return checksum(b"\n".join(parts))


def _encoded(tracks: Tracks) -> dict[str, bytes]:
    """The files of the group as Zarr writes them, a chunk for each array."""
    import zarr
    from zarr.codecs import Crc32cCodec, ZstdCodec
    from zarr.storage import MemoryStore

    files: dict[str, Any] = {}
    group = zarr.create_group(MemoryStore(files), attributes={"title": "Wideflow tracks"})
    for name, (dimensions, kind, meaning) in _ARRAYS.items():
        values = np.asarray(getattr(tracks, name), kind)
        array = group.create_array(
            name,
            shape=values.shape,
            chunks=values.shape,
            dtype=kind,
            fill_value=float("nan") if kind == "float32" else 0,
            compressors=[ZstdCodec(level=0), Crc32cCodec()],
            dimension_names=dimensions,
            attributes={"units": "world units" if name == "xyz" else "1", "long_name": meaning},
            config={"write_empty_chunks": True},
        )
        array[...] = values
    return {name: bytes(content.to_bytes()) for name, content in files.items()}
