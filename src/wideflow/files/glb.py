"""GLB: a textured mesh in one file, as glTF 2.0 has it (Khronos, "glTF 2.0 Specification")."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.files.disk import AnyPath, write_bytes
from wideflow.types import Array

_MAGIC, _VERSION = b"glTF", 2
_JSON, _BIN = b"JSON", b"BIN\0"
_FLOAT, _UINT = 5126, 5125  # component types
_VERTICES, _INDICES = 34962, 34963  # targets of buffer views
_LINEAR, _CLAMP = 9729, 33071  # of samplers
_KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg"}


@dataclass(frozen=True, eq=False)
class TexturedMesh:
    """Triangles with a picture on them.

    Attributes
    ----------
    vertices : (N, 3) float32
        x right, y up, z towards the viewer: right-handed, finite.
    uv : (N, 2) float32
        Where each vertex lies in the picture; 0, 0 is its top left corner, 1, 1 the bottom right one.
    faces : (M, 3) uint32
        Vertices of each triangle, counter-clockwise as seen from its front.
    texture : bytes
        A whole PNG or JPEG file.
    """

    vertices: NDArray[np.float32]
    uv: NDArray[np.float32]
    faces: NDArray[np.uint32]
    texture: bytes

    def __post_init__(self) -> None:
        if not np.isfinite(self.vertices).all():
            raise InputError("a vertex is not finite; leave out what is unknown")
        if len(self.uv) != len(self.vertices):
            raise InputError(f"a mesh of {len(self.vertices)} vertices has {len(self.uv)} places in it")
        if len(self.faces) and self.faces.max() >= len(self.vertices):
            raise InputError(f"a face refers to vertex {self.faces.max()} of {len(self.vertices)}")
        if self.texture[:4] not in _KINDS and self.texture[:3] not in _KINDS:
            raise InputError("the texture of a mesh must be a PNG or JPEG file")


def write_glb(path: AnyPath, mesh: TexturedMesh) -> None:
    """Write a mesh with its texture, unlit (the picture holds the light) and seen from both sides.

    Without a triangle the file is a scene with nothing in it, which the format allows.

    Raises
    ------
    FileError
        The file cannot be written.
    """
    document: dict[str, Any] = {"asset": {"version": "2.0", "generator": "wideflow"}, "scene": 0}
    if len(mesh.faces) == 0:
        document["scenes"] = [{}]
        write_bytes(path, _file(document, []))
        return
    blocks = [
        mesh.vertices.astype("<f4"),
        mesh.uv.astype("<f4"),
        mesh.faces.astype("<u4"),
        np.frombuffer(mesh.texture, np.uint8),
    ]
    starts = np.concatenate([[0], np.cumsum([_padded(block.nbytes) for block in blocks])]).tolist()
    targets = (_VERTICES, _VERTICES, _INDICES, None)
    kind = _KINDS.get(mesh.texture[:4]) or _KINDS[mesh.texture[:3]]
    document |= {
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [
            {"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}
        ],
        "materials": [
            {
                "pbrMetallicRoughness": {
                    "baseColorTexture": {"index": 0},
                    "metallicFactor": 0,
                    "roughnessFactor": 1,
                },
                "doubleSided": True,
                "extensions": {"KHR_materials_unlit": {}},
            }
        ],
        "extensionsUsed": ["KHR_materials_unlit"],
        "textures": [{"source": 0, "sampler": 0}],
        "samplers": [{"magFilter": _LINEAR, "minFilter": _LINEAR, "wrapS": _CLAMP, "wrapT": _CLAMP}],
        "images": [{"bufferView": 3, "mimeType": kind}],
        "accessors": [
            {
                "bufferView": 0,
                "componentType": _FLOAT,
                "count": len(mesh.vertices),
                "type": "VEC3",
                "min": mesh.vertices.min(axis=0).tolist(),  # which the format demands
                "max": mesh.vertices.max(axis=0).tolist(),
            },
            {"bufferView": 1, "componentType": _FLOAT, "count": len(mesh.uv), "type": "VEC2"},
            {"bufferView": 2, "componentType": _UINT, "count": mesh.faces.size, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": start, "byteLength": block.nbytes}
            | ({} if target is None else {"target": target})
            for start, block, target in zip(starts, blocks, targets, strict=False)
        ],
        "buffers": [{"byteLength": starts[-1]}],
    }
    write_bytes(path, _file(document, blocks))


def _padded(size: int) -> int:
    return -(-size // 4) * 4


def _file(document: dict[str, Any], blocks: list[Array]) -> bytes:
    """Header, the chunk of JSON, and the chunk of bytes if there are any; all begin at multiples of four."""
    text = json.dumps(document, separators=(",", ":")).encode()
    chunks = [(_JSON, text.ljust(_padded(len(text)), b" "))]
    if blocks:
        chunks.append(
            (_BIN, b"".join(block.tobytes().ljust(_padded(block.nbytes), b"\0") for block in blocks))
        )
    body = b"".join(struct.pack("<I4s", len(data), kind) + data for kind, data in chunks)
    return struct.pack("<4sII", _MAGIC, _VERSION, 12 + len(body)) + body
