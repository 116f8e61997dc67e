"""The schema of ``result.zarr``: its arrays, and as what Zarr they are stored."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Raised when the layout changes, or results get another array (its ``since``). Results of every format are
# read: 1 had no checksums.
FORMAT = 5
TITLE = "Wideflow scene flow"  # by which a group is known to be ours
_CRC_BYTES = 4  # at the end of a chunk
Sizes = tuple[tuple[int, int], tuple[int, int]]  # width and height of the pictures of A and of B


@dataclass(frozen=True)
class ArraySpec:
    """One array of a result.

    Attributes
    ----------
    dimensions : tuple of str
        After the first, which counts moments or steps.
    unit, meaning : str
    of_step : bool
        Of the step from a moment to the next: there is one fewer than moments.
    dtype : str
    fill : float
        Its values where nothing was ever written.
    since : int
        The first format whose results have it.
    """

    dimensions: tuple[str, ...]
    unit: str
    meaning: str
    of_step: bool = False
    dtype: str = "float32"
    fill: float = float("nan")
    since: int = 1

    def shape(self, moments: int, sizes: Sizes) -> tuple[int, ...]:
        """Of the whole array."""
        (width, height), (width_b, height_b) = sizes
        extents = _EXTENTS | {"y": height, "x": width, "y_b": height_b, "x_b": width_b}
        first = max(moments - 1, 1) if self.of_step else moments
        return (first, *(extents[name] for name in self.dimensions))


_EXTENTS = {"xy": 2, "xyz": 3, "xyz_2": 3, "rgb": 3, "rgb_b": 3, "colour_term": 13}
_FLOW = ("y", "x", "xy")
_TURNED = {"y": "y_b", "x": "x_b", "A": "B", "B": "A"}
ARRAYS = {
    "stereo_flow": ArraySpec(_FLOW, "px", "from A to B at the same moment"),
    "optical_flow_a": ArraySpec(_FLOW, "px", "from A to A at the next moment, refined", True),
    "optical_flow_b": ArraySpec(
        ("y_b", "x_b", "xy"), "px", "from B to B at the next moment, matched and filled, not refined", True
    ),
    "depth": ArraySpec(("y", "x"), "world units", "z in camera A"),
    "motion": ArraySpec(("y", "x", "xyz"), "world units", "3D displacement to the next moment", True),
    "occluded": ArraySpec(("y", "x"), "1", "not seen by B: the flow is a guess", dtype="bool", fill=0),
    "confidence": ArraySpec(("y", "x"), "1", "chance that depth is within one percent", fill=0),
    "confidence_5": ArraySpec(("y", "x"), "1", "chance that depth is within five percent", fill=0, since=3),
    "source": ArraySpec(
        ("y", "x"),
        "1",
        "of depth: 0 unknown, 1 both cameras now, 2 camera A over time, 3 carried along a track, 4 completed",
        dtype="uint8",
        fill=0,
        since=3,
    ),
    "depth_steady": ArraySpec(
        ("y", "x"), "world units", "depth on which A's moments around agree where nothing moves", since=4
    ),
    "source_steady": ArraySpec(
        ("y", "x"), "1", "source of the steady depth, as in source", dtype="uint8", fill=0, since=5
    ),
    "moving": ArraySpec(("y", "x"), "1", "chance that the world moved there", fill=0, since=3),
    "picture_a": ArraySpec(
        ("y", "x", "rgb"), "1", "what camera A saw, without distortion", dtype="uint8", fill=0
    ),
    "picture_b": ArraySpec(
        ("y_b", "x_b", "rgb"), "1", "what camera B saw, without distortion", dtype="uint8", fill=0
    ),
}
# stored only if they are asked for
OPTIONAL = {
    "loop_flow": ArraySpec(_FLOW, "px", "from A to B at the next moment, refined", True),
    "covariance": ArraySpec(
        ("y", "x", "xyz", "xyz_2"), "square world units", "of the point, for noise of 1 px", True
    ),
    "motion_covariance": ArraySpec(
        ("y", "x", "xyz", "xyz_2"), "square world units", "of the motion, for noise of 1 px", True
    ),
    "colour_transform": ArraySpec(
        ("rgb_b", "colour_term"),
        "1",
        "colours of A to those of B: a constant, then factors of R, G, B and their powers up to the fourth",
        True,
    ),
}
PICTURES = ("picture_a", "picture_b")
# arrays of the pictures of B, stored if both views are asked for, and those of A that they are like
OF_B = {
    f"{name}_b": name
    for name in (
        "stereo_flow",
        "depth",
        "depth_steady",
        "source_steady",
        "motion",
        "occluded",
        "confidence",
        "confidence_5",
        "source",
        "moving",
    )
}
# what is written as one: the pictures of a moment, what was found from them, and what is agreed with others
_STEADY = "depth_steady", "source_steady"
SLOTS: dict[str, tuple[str, ...]] = {
    "pictures": PICTURES,
    "moment": tuple(name for name in (*ARRAYS, *OPTIONAL) if name not in (*PICTURES, *_STEADY)),
    "moment_b": tuple(name for name, of_a in OF_B.items() if of_a not in _STEADY),
    "steady": _STEADY,
    "steady_b": tuple(f"{name}_b" for name in _STEADY),
}
SLOT_OF = {name: slot for slot, names in SLOTS.items() for name in names}


def spec(name: str) -> ArraySpec:
    """Of an array that a result has or may have."""
    if name in OF_B:
        return _of_b(ARRAYS[OF_B[name]])
    return ARRAYS[name] if name in ARRAYS else OPTIONAL[name]


def _of_b(described: ArraySpec) -> ArraySpec:
    """The same array with A and B in each other's place."""
    dimensions = tuple(_TURNED.get(name, name) for name in described.dimensions)
    meaning = re.sub(r"\b[AB]\b", lambda found: _TURNED[found[0]], described.meaning)
    return replace(described, dimensions=dimensions, meaning=meaning)


def arrays_of(form: int) -> tuple[str, ...]:
    """Arrays that every result of a format has."""
    return tuple(name for name, described in ARRAYS.items() if described.since <= form)


def group_metadata() -> bytes:
    """``zarr.json`` of the group."""
    import zarr

    files: dict[str, Any] = {}
    zarr.create_group(_memory(files), attributes={"title": TITLE, "version": FORMAT})
    return bytes(files["zarr.json"].to_bytes())


def array_metadata(name: str, moments: int, sizes: Sizes) -> bytes:
    """``zarr.json`` of an array: one chunk for each moment, compressed, with a checksum (CRC-32C)."""
    files: dict[str, Any] = {}
    _create(name, spec(name).shape(moments, sizes), files)
    return bytes(files["zarr.json"].to_bytes())


def chunk_path(name: str, t: int) -> str:
    """Of the chunk of a moment, inside ``result.zarr``."""
    return "/".join([name, "c", str(t), *"0" * len(spec(name).dimensions)])


def encode(name: str, sizes: Sizes, values: NDArray[Any]) -> bytes:
    """The chunk of a moment as Zarr would write it."""
    files: dict[str, Any] = {}
    array = _create(name, (1, *spec(name).shape(1, sizes)[1:]), files)
    array[0] = values
    return bytes(files[chunk_path(name, 0).removeprefix(f"{name}/")].to_bytes())


def decode(name: str, sizes: Sizes, chunk: bytes) -> NDArray[Any]:
    """The values of a moment; a ``ValueError`` or ``RuntimeError`` if the chunk is damaged.

    Not by Zarr: a chunk that was made to deceive could make it take any memory. CRC-32C is Zarr's own, for
    readers that have no other checksum.
    """
    from numcodecs.zstd import Zstd

    shape, dtype = spec(name).shape(1, sizes)[1:], np.dtype(spec(name).dtype).newbyteorder("<")
    plain = np.zeros(math.prod(shape) * dtype.itemsize, np.uint8)
    Zstd().decode(chunk[:-_CRC_BYTES], plain)
    return plain.view(dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _create(name: str, shape: tuple[int, ...], files: dict[str, Any]) -> Any:
    import zarr
    from zarr.codecs import Crc32cCodec, ZstdCodec

    described = spec(name)
    return zarr.create_array(
        _memory(files),
        shape=shape,
        chunks=(1, *shape[1:]),
        dtype=described.dtype,
        fill_value=described.fill if np.dtype(described.dtype).kind == "f" else int(described.fill),
        compressors=[ZstdCodec(level=0), Crc32cCodec()],
        dimension_names=("step" if described.of_step else "time", *described.dimensions),
        attributes={"units": described.unit, "long_name": described.meaning},
        # a chunk of nothing but the fill value would not be written, and look like one that was lost
        config={"write_empty_chunks": True},
    )


def _memory(files: dict[str, Any]) -> Any:
    """A Zarr store that keeps its files in a dictionary: what reads and writes the disk is `Place` alone."""
    from zarr.storage import MemoryStore

    return MemoryStore(files)
