"""Every reader with small valid files of its kind, which mutations start from."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from file_readers import READERS
from fuzzing.mutate import mutated, shaken
from wideflow.config import load_config
from wideflow.storage.packed import digest, pack, unpack
from wideflow.storage.sealed import checksum, seal, unseal
from wideflow.verdict import Verdict
from wideflow.video.read import Video
from wideflow.video.write import write_video

CORPUS = Path(__file__).parent / "corpus"  # what was found once is tried again for ever
_SHARED = "WIDEFLOW_FUZZ_RESULT"
_HEAD = len(pack({})) - len(b"\2\0\0\0[]")  # of a file of arrays: what it is, and its checksum


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes
    ----------
    read : callable
        Reads a file; may raise `WideflowError`, and nothing else.
    seeds : callable
        Gives contents of valid files.
    suffix : str
        Name of the file.
    weight : int
        How often it is tried, compared with others.
    mutate : callable
        Changes the content of a file.
    """

    read: Callable[[Path], object]
    seeds: Callable[[], list[bytes]]
    suffix: str
    weight: int = 1
    mutate: Callable[[bytes, random.Random], bytes] = mutated


def _written(write: Callable[[Path], None], name: str) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / name)
        return [(Path(folder) / name).read_bytes()]


def _video() -> list[bytes]:
    pictures = [np.full((16, 24, 3), 40 * k, np.uint8) for k in range(4)]
    return _written(lambda path: write_video(path, pictures, 10), "a.mp4")


def _read_video(path: Path) -> object:
    video = Video(path)
    return [video.frame(k) for k in range(min(len(video), 4))]


@cache
def _result() -> Path:
    """A finished result, written by another process: Zarr's threads do not survive a fork of this one."""
    if _SHARED in os.environ:
        return Path(os.environ[_SHARED])
    folder = Path(tempfile.mkdtemp(prefix="wideflow-fuzz-")) / "out"
    tests = str(Path(__file__).parents[1])
    paths = os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "faults.quick_job", str(folder)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": paths})
    return folder


def shared_result() -> dict[str, str]:
    """The environment of processes that take the result of this one."""
    return os.environ | {_SHARED: str(_result())}


@cache
def _right() -> dict[str, bytes]:
    """All that the result serves while it is whole."""
    from faults.quick_job import served

    return served(_result())


def _of_result(name: str) -> Target:
    """A file of a result in the place of the good one; everything is then read and checked."""

    def read(path: Path) -> object:
        found, right = _read_with(path.parent, {name: path.read_bytes()}), _right()
        assert all(found[each] == right[each] for each in found), f"{name}: damage was served"
        return found

    return Target(read, lambda: [(_result() / name).read_bytes()], Path(name).name, weight=3)


def _read_with(folder: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    """What a result serves that has these files in the place of its own."""
    from faults.quick_job import served
    from wideflow.storage.check import check_result

    out = folder / "out"
    if not out.exists():
        shutil.copytree(_result(), out)
    try:
        for name, content in files.items():
            (out / name).write_bytes(content)
        check_result(out)
        return served(out)
    finally:
        for name in files:
            shutil.copyfile(_result() / name, out / name)


def _forged_note(name: str) -> Target:
    """A note that says something else, with the checksum that belongs to it."""

    def seeds() -> list[bytes]:
        return [json.dumps(unseal((_result() / name).read_bytes())).encode()]

    def read(path: Path) -> object:
        note = _json(path)
        return _read_with(path.parent, {name: seal(note) if isinstance(note, dict) else b""})

    return Target(read, seeds, "forged.json", weight=3, mutate=shaken)


def _forged_chunk(array: str) -> Target:
    """A chunk whose checksums are right, and whose content is not what any program compresses."""
    name, note = _chunk(array), "checksums/000000.moment.json"

    def read(path: Path) -> object:
        content = path.read_bytes()
        told = unseal((_result() / note).read_bytes())
        assert told is not None
        told["arrays"][array] = checksum(content)
        return _read_with(path.parent, {name: content, note: seal(told)})

    return Target(read, lambda: [(_result() / name).read_bytes()], "chunk", weight=3)


def _read_forged_arrays(path: Path) -> object:
    """Arrays under a right checksum."""
    rest = path.read_bytes()
    return unpack(pack({})[: _HEAD - 16] + digest(rest) + rest, "x")


def _chunk(array: str) -> str:
    folder = _result() / "result.zarr" / array / "c" / "0"
    return str(next(path for path in folder.rglob("*") if path.is_file()).relative_to(_result()))


def targets() -> dict[str, Target]:
    """All of them by name."""
    found = {
        name: Target(read, lambda write=write, name=name: _written(write, name), name)
        for name, (read, write) in READERS.items()
    }
    arrays = {"uv": np.ones((3, 4, 2), np.float32), "seen": np.ones((3, 4), bool)}
    note = {"key": "k", "arrays": {"depth": "0" * 32}, "note": {"seconds": {"match": 1.5}}}
    verdict = {"findings": [{"topic": "a", "grade": "good", "sentence": "b"}]}
    found["a.mp4"] = Target(_read_video, _video, "a.mp4", weight=6)
    found["settings.toml"] = Target(
        lambda path: load_config(path, ()),
        lambda: [b"[match]\nparticles = 3\n[fill]\nreweighted = 2\n"],
        "s.toml",
    )
    found["work.bin"] = Target(
        lambda path: unpack(path.read_bytes(), "x"), lambda: [pack(arrays)], "w.bin", 3
    )
    found["forged work.bin"] = Target(_read_forged_arrays, lambda: [pack(arrays)[_HEAD:]], "w.bin", 3)
    found["note.json"] = Target(lambda path: unseal(path.read_bytes()), lambda: [seal(note)], "note.json", 2)
    found["verdict.json"] = Target(
        lambda path: Verdict.from_dict(_json(path)), lambda: [json.dumps(verdict).encode()], "v.json"
    )
    for name in ("rig.json", "summary.json", "timings.json", "checksums/store.json", "checksums/files.json"):
        found[f"result {name}"] = _of_result(name)
    for name in ("checksums/000000.moment.json", "result.zarr/zarr.json", "result.zarr/depth/zarr.json"):
        found[f"result {name}"] = _of_result(name)
    for name in ("depth", "picture_a"):
        found[f"result chunk of {name}"] = _of_result(_chunk(name))
    found["forged chunk of depth"] = _forged_chunk("depth")
    for name in ("store.json", "files.json", "000000.moment.json", "000001.pictures.json"):
        found[f"forged {name}"] = _forged_note(f"checksums/{name}")
    return found


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
