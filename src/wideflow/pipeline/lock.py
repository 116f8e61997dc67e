"""One run at a time for each result."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from wideflow.errors import FileError
from wideflow.files.place import Place, make_folder

_NAME = "lock.json"
_FRESH = 600  # seconds without a sign of life after which a remote lock is nobody's


@contextmanager
def locked(place: Place) -> Iterator[Callable[[], None]]:
    """Hold the lock of a result while the block runs; gives a function to call as a sign of life.

    On this machine the lock is the operating system's and goes with the process, however that ends. Behind a
    URL it is a file, which counts only while it is fresh.

    Raises
    ------
    FileError
        Another run holds it.
    """
    if place.remote:
        with _locked_by_file(place) as renew:
            yield renew
    else:
        with _locked_by_system(place):
            yield lambda: None


@contextmanager
def _locked_by_system(place: Place) -> Iterator[None]:
    import fcntl

    make_folder(place.folder)
    path = place.folder / ".lock"
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(f"cannot write into '{place}': {reason}; choose another place") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            who = os.read(handle, 200).decode(errors="replace").strip()
            raise FileError(_taken(place, who or "another process")) from error
        os.truncate(handle, 0)
        with suppress(OSError):  # a full disk must not keep a finished run from being opened
            os.write(handle, _me().encode())
        yield
    finally:
        os.close(handle)


@contextmanager
def _locked_by_file(place: Place) -> Iterator[Callable[[], None]]:
    if place.exists(_NAME):
        other: dict[str, Any] = json.loads(place.read(_NAME))
        if time.time() - other.get("alive", 0) < _FRESH and not _is_gone(str(other.get("who"))):
            raise FileError(_taken(place, str(other.get("who", "another process"))))

    def renew() -> None:
        place.write(_NAME, json.dumps({"who": _me(), "alive": time.time()}).encode())

    renew()
    try:
        yield renew
    finally:
        with suppress(Exception):  # what went wrong before matters more
            place.remove(_NAME)


def _me() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _is_gone(who: str) -> bool:
    """Whether that process was of this machine and has ended."""
    words = who.split()
    if len(words) != 4 or words[3] != socket.gethostname() or not words[1].isdigit():
        return False
    try:
        os.kill(int(words[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return int(words[1]) == os.getpid()


def _taken(place: Place, who: str) -> str:
    return f"another run ({who}) is working on '{place}'; wait until it has ended, or choose another folder"
