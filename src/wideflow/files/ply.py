"""PLY point clouds with colour, velocity and normals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files.disk import AnyPath, read_bytes, write_bytes
from wideflow.types import Array

_KIND = "PLY point cloud"
_MAX_HEADER_BYTES = 2**16
_BYTE_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": "="}
_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1",
    "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
_XYZ = ("x", "y", "z")
_RGB = ("red", "green", "blue")
_VELOCITY = ("vx", "vy", "vz")
_NORMAL = ("nx", "ny", "nz")


@dataclass(frozen=True, eq=False)
class PointCloud:
    """Points in space.

    Attributes
    ----------
    xyz : (N, 3) float32 or float64
        World units, finite.
    rgb : (N, 3) uint8 or None
    velocity : (N, 3) float32 or None
        World units a second, or a time step, as the writer chooses; NaN where unknown.
    normal : (N, 3) float32 or None
        Of length 1, away from the surface.
    """

    xyz: NDArray[Any]
    rgb: NDArray[np.uint8] | None = None
    velocity: NDArray[np.float32] | None = None
    normal: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        if self.xyz.ndim != 2 or self.xyz.shape[1] != 3 or self.xyz.dtype not in (np.float32, np.float64):
            raise InputError(f"points must be (N, 3) floats, not {self.xyz.shape} {self.xyz.dtype}")
        if not np.isfinite(self.xyz).all():
            raise InputError("a point is not finite; leave out what is unknown")
        for name, array, dtype in (
            ("rgb", self.rgb, np.uint8),
            ("velocity", self.velocity, np.float32),
            ("normal", self.normal, np.float32),
        ):
            if array is not None and (array.shape != self.xyz.shape or array.dtype != dtype):
                raise InputError(
                    f"{name} of {len(self.xyz)} points must be (N, 3) {np.dtype(dtype)}, "
                    f"not {array.shape} {array.dtype}"
                )


def write_ply(path: AnyPath, cloud: PointCloud) -> None:
    """Write a binary little-endian PLY: x, y, z, then red, green, blue, vx, vy, vz and nx, ny, nz, if any.

    It reads back bit for bit.

    Raises
    ------
    FileError
        The file cannot be written.
    """
    position = "float" if cloud.xyz.dtype == np.float32 else "double"
    groups = [
        (_XYZ, position, cloud.xyz),
        (_RGB, "uchar", cloud.rgb),
        (_VELOCITY, "float", cloud.velocity),
        (_NORMAL, "float", cloud.normal),
    ]
    present = [(names, kind, array) for names, kind, array in groups if array is not None]
    properties = [(name, kind) for names, kind, _ in present for name in names]
    vertices = np.empty(len(cloud.xyz), [(name, "<" + _TYPES[kind]) for name, kind in properties])
    for names, _, array in present:
        for i, name in enumerate(names):
            vertices[name] = array[:, i]
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {len(vertices)}"]
    lines += [f"property {kind} {name}" for name, kind in properties]
    lines += ["end_header", ""]
    write_bytes(path, "\n".join(lines).encode("ascii"), vertices)


def read_ply(path: AnyPath) -> PointCloud:
    """Read the vertices of a PLY file, binary or ASCII; further properties and elements are skipped.

    Colour must be ``uchar`` and is None where the file has none; so are velocity and normals.

    Raises
    ------
    FileError
        Missing, damaged, of another format, or with a point that is not finite.
    """
    data = read_bytes(path, _KIND, (b"ply\n", b"ply\r"))
    lines, body = _header(path, data)
    order = _BYTE_ORDERS.get(lines[0].split()[1]) if lines and lines[0].startswith("format ") else None
    if order is None:
        raise _damaged(path, "its format line is missing or unknown")
    skipped, count, dtype = _vertex_layout(path, lines[1:], order)
    if any(name not in (dtype.names or ()) for name in _XYZ):
        raise _damaged(path, "its vertices lack x, y or z")
    if order == "=":
        vertices = _ascii_vertices(path, data[body:], skipped, count, dtype)
    else:
        start = body + skipped
        if count * dtype.itemsize > len(data) - start:
            raise _damaged(path, f"it is too short for {count} vertices")
        vertices = np.frombuffer(data, dtype, count, start)
    rgb = _columns(vertices, _RGB)
    if rgb is not None and rgb.dtype != np.uint8:
        raise FileError(f"'{path}' has colours of type {rgb.dtype}; convert them to uchar")
    velocity, normal = _columns(vertices, _VELOCITY), _columns(vertices, _NORMAL)
    xyz = _columns(vertices, _XYZ)
    assert xyz is not None
    try:
        return PointCloud(
            xyz.astype(np.float64 if xyz.dtype == np.float64 else np.float32),
            rgb,
            None if velocity is None else velocity.astype(np.float32),
            None if normal is None else normal.astype(np.float32),
        )
    except InputError as error:
        raise FileError(f"'{path}' cannot be used: {error}") from error


def _damaged(path: AnyPath, reason: str) -> FileError:
    return FileError(f"'{path}' is not a whole {_KIND}: {reason}; fetch or export it again")


def _header(path: AnyPath, data: bytes) -> tuple[list[str], int]:
    """Header lines between "ply" and "end_header" without comments, and where the body starts."""
    marker = data.find(b"end_header", 0, _MAX_HEADER_BYTES)
    end = data.find(b"\n", marker) if marker >= 0 else -1
    if end < 0:
        raise _damaged(path, "its header has no end")
    text = data[:marker].decode("ascii", errors="replace")
    lines = [" ".join(line.split()) for line in text.splitlines()[1:]]
    return [line for line in lines if line and line.split()[0] not in ("comment", "obj_info")], end + 1


def _vertex_layout(path: AnyPath, lines: list[str], order: str) -> tuple[int, int, np.dtype[Any]]:
    """What lies before the vertices (bytes, or lines if ASCII), their count, and one vertex's layout."""
    skipped = count = 0
    element = ""
    properties: list[tuple[str, str]] = []

    def passed() -> int:
        return count if order == "=" else count * np.dtype(properties).itemsize

    for line in [*lines, "element end 0"]:
        words = line.split()
        if words[0] == "element" and len(words) == 3 and words[2].isdecimal() and len(words[2]) < 16:
            if element == "vertex":
                return skipped, count, np.dtype(properties)
            skipped += passed()
            element, count, properties = words[1], int(words[2]), []
        elif words[0] == "property" and len(words) == 3 and words[1] in _TYPES and element:
            if any(words[2] == name for name, _ in properties):
                raise _damaged(path, f"it has two properties {words[2]}")
            properties.append((words[2], order + _TYPES[words[1]]))
        elif words[:2] == ["property", "list"] and element and element != "vertex" and order == "=":
            continue  # one line each, however long
        else:
            raise _damaged(path, f"its header line '{line[:60]}' is not understood")
    raise _damaged(path, "it has no vertices")


def _ascii_vertices(path: AnyPath, body: bytes, skipped: int, count: int, dtype: np.dtype[Any]) -> Array:
    names = dtype.names or ()
    if skipped + count * 2 * len(names) - 1 > len(body):  # a digit and a blank each
        raise _damaged(path, f"it is too short for {count} vertices")
    rows = body.split(b"\n", maxsplit=skipped)[skipped:]
    words = (rows[0] if rows else b"").split(maxsplit=count * len(names))[: count * len(names)]
    if len(words) < count * len(names):
        raise _damaged(path, f"it has fewer numbers than {count} vertices need")
    vertices = np.empty(count, dtype)
    try:
        for i, name in enumerate(names):
            vertices[name] = np.array(words[i :: len(names)], dtype=dtype[name])
    except (ValueError, OverflowError) as error:
        raise _damaged(path, "a vertex is not made of numbers") from error
    return vertices


def _columns(vertices: Array, names: tuple[str, ...]) -> Array | None:
    if any(name not in (vertices.dtype.names or ()) for name in names):
        return None
    return np.column_stack([vertices[name] for name in names])
