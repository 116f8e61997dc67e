"""The ``handheld`` layout: pictures of two cameras over time with exact ground truth.

A folder holds ``cam{c}_{t:04d}.png`` (or ``a.mp4`` and ``b.mp4``), ``cameras.json`` = [camera][time] of K, R,
t with x_cam = R X + t, and ``gt{c}_{t:04d}.npz``, the fields of `wideflow.types.Truth`. A folder of videos
may have ``truth.json`` instead of ``cameras.json``: cameras [camera][own frame], and ``offset_seconds`` by
which B started later than A.

Cameras and truth belong to the moments of A's frames, in both cameras: ``gt1_{t}`` describes B at the time of
A's frame t. They belong to ideal pinhole pictures; the distortion of the lenses is in ``rig.json``.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files import atomic_path, read_image, write_bytes
from wideflow.files.disk import MAX_PIXELS, AnyPath, read_bytes
from wideflow.files.json_fields import Fields
from wideflow.geometry import TruthFlows, truth_flows
from wideflow.types import Camera, Rig, RigFrame, Truth, View

_TRUTH_KIND = "ground-truth archive (.npz)"
_CHANNELS = {"motion": 3}


@dataclass(frozen=True, eq=False)
class HandheldScene:
    """A folder of the layout; pictures and truth are read when asked for.

    Attributes
    ----------
    path : Path
    rig : Rig
        Ideal cameras at the moments of the truth. The last moment may be one that only motion leads to.
    """

    path: Path
    rig: Rig

    def times(self, camera: int) -> list[int]:
        """Frame numbers that have ground truth for this camera."""
        found = (re.fullmatch(rf"gt{camera}_(\d+)\.npz", file.name) for file in self.path.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def image(self, camera: int, time: int) -> NDArray[np.float32]:
        """Picture ``time`` of a camera, (H, W, 3) RGB in 0..1."""
        return read_image(self.path / f"cam{camera}_{time:04d}.png")

    def truth(self, camera: int, time: int) -> Truth:
        """Ground truth of a camera at the moment of A's frame ``time``."""
        truth = read_truth(self.path / f"gt{camera}_{time:04d}.npz")
        size = self.rig.cameras[camera].size
        if truth.depth.shape != size[::-1]:
            raise FileError(
                f"'{self.path}/gt{camera}_{time:04d}.npz' is not of the camera's size {size[0]} x {size[1]}; "
                "render the scene anew"
            )
        return truth

    def flows(self, camera: int, time: int) -> TruthFlows:
        """True flows from a camera's picture ``time`` to the other pictures of the time step."""
        return truth_flows(self.truth(camera, time), self.rig.frame(time), self.rig.frame(time + 1), camera)


def read_handheld(path: AnyPath) -> HandheldScene:
    """Open a folder of the layout.

    Raises
    ------
    FileError
        No such folder, no cameras in it, or a file of it is damaged.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileError(f"'{path}' is not a folder; give one that 'wideflow synth' wrote")
    if (folder / "cameras.json").exists():
        source, poses = folder / "cameras.json", _load_json(folder / "cameras.json")
        shift = 0
    elif (folder / "truth.json").exists():
        source = folder / "truth.json"
        top = Fields(_load_json(source), "", source)
        if not top.has_list("cameras"):
            raise FileError(f"'{source}' lacks the list cameras; render the scene anew")
        poses = _load_json(source)["cameras"]
        frames = float(top.numbers("offset_seconds")) * float(top.numbers("fps"))
        shift = round(frames)
        if abs(frames - shift) > 1e-3:
            raise FileError(f"'{source}': B started within a frame of A, so cameras.json is needed as well")
    else:
        raise FileError(
            f"'{path}' holds neither cameras.json nor truth.json; give a folder of 'wideflow synth'"
        )
    return HandheldScene(folder, _rig(folder, source, poses, shift))


def _load_json(path: Path) -> Any:
    data = read_bytes(path, "JSON file", limit=2**28)
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"'{path}' is not valid JSON; render the scene anew") from error


def _rig(folder: Path, source: Path, poses: Any, shift: int) -> Rig:
    """Rig of lists [camera][time]; the frame t of A is simultaneous with t - shift of B."""
    if not (isinstance(poses, list) and len(poses) == 2 and all(isinstance(p, list) and p for p in poses)):
        raise FileError(f"'{source}' must list the poses of two cameras; render the scene anew")
    entries = [[Fields(entry, f"[{c}][{t}].", source) for t, entry in enumerate(poses[c])] for c in (0, 1)]
    cameras = []
    for c in (0, 1):
        K = entries[c][0].numbers("K", 3, 3)
        if any(not np.array_equal(entry.numbers("K", 3, 3), K) for entry in entries[c]):
            raise FileError(f"'{source}': K of camera {c} changes over time; only fixed lenses are supported")
        cameras.append(_checked(source, Camera, "ab"[c], *_picture_size(folder, c), K))
    frames = []
    for t in range(len(poses[0])):
        if 0 <= t - shift < len(poses[1]):
            views = [
                _checked(
                    source,
                    View,
                    cameras[c],
                    np.column_stack([entry.numbers("R", 3, 3), entry.numbers("t", 3)]),
                )
                for c, entry in enumerate((entries[0][t], entries[1][t - shift]))
            ]
            frames.append(RigFrame(t, (float(t), float(t - shift)), (views[0], views[1])))
    return _checked(source, Rig, (cameras[0], cameras[1]), tuple(frames))


def _checked(source: Path, make: Any, *values: Any) -> Any:
    """An object of the rig; what is impossible about it is the file's fault."""
    try:
        return make(*values)
    except InputError as error:
        raise FileError(f"'{source}': {error}") from error


def _picture_size(folder: Path, camera: int) -> tuple[int, int]:
    """Width and height, from the first truth or picture of the camera, or of the other one."""
    for c in (camera, 1 - camera):
        for file in sorted(folder.glob(f"gt{c}_*.npz")):
            height, width = _read_array(file, _archive(file), "depth").shape
            return width, height
        for file in sorted(folder.glob(f"cam{c}_*.png")):
            height, width = read_image(file).shape[:2]
            return width, height
    raise FileError(f"'{folder}' holds neither pictures nor ground truth; render the scene anew")


def read_truth(path: AnyPath) -> Truth:
    """Read one ``gt*.npz``; nothing is allocated before its size has been checked.

    Raises
    ------
    FileError
        Missing, damaged, a field missing or of the wrong shape.
    """
    archive = _archive(path)
    arrays = {field.name: _read_array(path, archive, field.name) for field in fields(Truth)}
    height, width = arrays["depth"].shape[:2]
    for name, array in arrays.items():
        wanted = (height, width, _CHANNELS[name]) if name in _CHANNELS else (height, width)
        if array.shape != wanted:
            raise FileError(
                f"'{path}': {name} has the shape {array.shape}, not {wanted}; render the scene anew"
            )
    return Truth(
        depth=arrays["depth"].astype(np.float32),
        motion=arrays["motion"].astype(np.float32),
        stereo_visible=arrays["stereo_visible"].astype(bool),
        optical_visible=arrays["optical_visible"].astype(bool),
        loop_visible=arrays["loop_visible"].astype(bool),
        object=arrays["object"].astype(np.int16),
    )


def _archive(path: AnyPath) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(BytesIO(read_bytes(path, _TRUTH_KIND, (b"PK",))))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise FileError(f"'{path}' is damaged; render the scene anew") from error


def _read_array(path: AnyPath, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array of an archive, read by hand: NumPy's own reader trusts the header."""
    try:
        with archive.open(f"{name}.npy") as file:
            version = np.lib.format.read_magic(file)
            read_header = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read_header(file)
            count = int(np.prod(shape, dtype=np.float64)) if len(shape) in (2, 3) else 0
            if not 0 < count <= 3 * MAX_PIXELS or dtype.kind not in "fbiu" or fortran:
                raise FileError(f"'{path}': {name} is not a picture of numbers; render the scene anew")
            data = file.read(count * dtype.itemsize)
        return np.frombuffer(data, dtype, count).reshape(shape)
    except KeyError as error:
        raise FileError(f"'{path}' lacks the array {name}; render the scene anew") from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        ValueError,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise FileError(f"'{path}': {name} is damaged; render the scene anew") from error


def write_truth(path: AnyPath, truth: Truth) -> None:
    """Write one ``gt*.npz``; `read_truth` returns the same bits."""
    arrays = {field.name: getattr(truth, field.name) for field in fields(Truth)}
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def write_cameras(path: AnyPath, rig: Rig) -> None:
    """Write ``cameras.json`` of a rig: [camera][time] of K, R, t."""
    poses = [[pose_fields(frame.views[c]) for frame in rig.frames] for c in (0, 1)]
    write_bytes(path, json.dumps(poses).encode())


def pose_fields(view: View) -> dict[str, Any]:
    """K, R and t of a view as ``cameras.json`` and ``truth.json`` list them."""
    return {"K": view.camera.K.tolist(), "R": view.R.tolist(), "t": view.t.tolist()}
