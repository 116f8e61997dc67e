"""One run at a time for each result.

On a disk the lock is the operating system's and goes with the process, however that ends. In object storage
it is a file that only one can create, which its owner touches every few seconds: one that does not change
while another looks on is nobody's. Either way it names a token, so that whoever writes for a run, on any
machine, can tell whether the run still has it.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from wideflow.errors import FileError
from wideflow.storage.place import Place, make_folder

_FOLDER = "lock"
BEAT = 10.0  # seconds between two signs of life
PATIENCE = 45.0  # seconds without one after which a lock is nobody's
LOG = logging.getLogger("wideflow")


@dataclass(frozen=True)
class Claim:
    """That a run has the lock of a place; small, so that it can be sent to other machines.

    Attributes
    ----------
    number : int
        Of the lock: whoever takes over has a higher one.
    token : str
        Nobody else's.
    """

    number: int
    token: str

    def check(self, place: Place) -> None:
        """Refuse to go on if the run has lost its lock.

        Raises
        ------
        FileError
            Another run has taken over, or the lock cannot be read.
        """
        owner = _owner(place.find(_path(self.number)))
        if owner.get("token") != self.token or place.exists(_path(self.number + 1)):
            other = _owner(place.find(_path(self.number + 1))) or owner
            raise FileError(
                f"another run ({_who(other)}) has taken over '{place}'; what this one has done is kept"
            )


@contextmanager
def locked(place: Place) -> Iterator[Claim]:
    """Hold the lock of a result while the block runs.

    Raises
    ------
    FileError
        Another run holds it.
    """
    holder = _held_remotely if place.remote else _held_here
    with holder(place) as claim:
        yield claim


@contextmanager
def _held_here(place: Place) -> Iterator[Claim]:
    from filelock import FileLock, Timeout

    make_folder(place.folder)
    lock = FileLock(place.folder / ".lock", timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise FileError(_taken(place, _owner(place.find(_path(1))))) from error
    except (OSError, NotImplementedError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise FileError(f"cannot write into '{place}': {reason}; choose another place") from error
    claim = Claim(1, uuid4().hex)
    try:
        place.remove(_path(2))  # of nobody: the system's lock is ours
        place.write(_path(1), _written(claim, 0))
        yield claim
    finally:
        try:
            with suppress(FileError):
                place.remove(_FOLDER)
        finally:
            lock.release()


@contextmanager
def _held_remotely(place: Place) -> Iterator[Claim]:
    claim = _acquired(place)
    done = threading.Event()
    heart = threading.Thread(target=_beat, args=(place, claim, done), daemon=True, name="wideflow lock")
    heart.start()
    try:
        yield claim
    finally:
        done.set()
        heart.join(BEAT)
        with suppress(FileError):  # what went wrong before matters more
            if _owner(place.find(_path(claim.number))).get("token") == claim.token:
                place.remove(_path(claim.number))


def _acquired(place: Place) -> Claim:
    """The lock of a place in object storage, once nobody else has it.

    Whoever takes over from number n creates n + 1, which only one can, and then looks whether n is still
    what it was: somebody may have created a new one in the meantime.
    """
    number, seen = _last(place)
    if number and not _is_gone(_owner(seen)):
        _watch(place, number, seen)
    claim = Claim(number + 1, uuid4().hex)
    mine = _written(claim, 0)
    try:
        created = place.create(_path(claim.number), mine)
        # a service that knows no conditions would let anybody write over it
        safe = not created or not place.create(_path(claim.number), mine)
    except NotImplementedError:
        place.write(_path(claim.number), mine)
        created, safe = True, False
    if not safe:
        LOG.warning(
            "'%s' lies in a storage that cannot lock: make sure yourself that no other run works on it", place
        )
    if not created:
        raise FileError(_taken(place, _owner(place.find(_path(claim.number)))))
    before = place.find(_path(number)) if number else None
    if _last(place)[0] != claim.number or before not in (seen, None):
        place.remove(_path(claim.number))
        raise FileError(_taken(place, _owner(_last(place)[1])))
    for name in place.names(_FOLDER):
        if name.split(".")[0].isdecimal() and int(name.split(".")[0]) < claim.number:
            place.remove(f"{_FOLDER}/{name}")
    return claim


def _watch(place: Place, number: int, seen: bytes | None) -> None:
    """Look on until a lock counts as nobody's; refuse as soon as its owner shows a sign of life."""
    LOG.info("waiting for %.0f s to see whether the other run (%s) is alive", PATIENCE, _who(_owner(seen)))
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE:
        time.sleep(min(1.0, PATIENCE / 10))
        now = place.find(_path(number))
        if now is None:
            return  # it has ended
        if now != seen:
            raise FileError(_taken(place, _owner(now)))


def _beat(place: Place, claim: Claim, done: threading.Event) -> None:
    """Show that the run is alive, until it ends or has lost its lock."""
    beats = 0
    while not done.wait(BEAT):
        beats += 1
        try:
            claim.check(place)
            place.write(_path(claim.number), _written(claim, beats))
        except FileError as error:
            # the next write of the run finds the same, or the service answers again
            LOG.info("no sign of life could be given: %s", error)


def _last(place: Place) -> tuple[int, bytes | None]:
    """The highest number and its content; 0 if there is no lock."""
    numbers = [int(stem) for name in place.names(_FOLDER) if (stem := name.split(".")[0]).isdecimal()]
    number = max(numbers, default=0)
    return number, place.find(_path(number)) if number else None


def _written(claim: Claim, beats: int) -> bytes:
    who = {"process": os.getpid(), "machine": socket.gethostname(), "token": claim.token, "beats": beats}
    return json.dumps(who).encode()


def _owner(content: bytes | None) -> dict[str, Any]:
    """What a lock says; nothing if it is damaged."""
    try:
        owner = json.loads(content or b"")
    except (ValueError, RecursionError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _who(owner: dict[str, Any]) -> str:
    if "process" not in owner:
        return "another process"
    return f"process {owner['process']} on {owner.get('machine')}"


def _is_gone(owner: dict[str, Any]) -> bool:
    """Whether that process was of this machine and has ended."""
    process = owner.get("process")
    if owner.get("machine") != socket.gethostname() or not isinstance(process, int) or process <= 0:
        return False
    if process == os.getpid() or os.name != "posix":  # elsewhere this signal would end it
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def _taken(place: Place, owner: dict[str, Any]) -> str:
    who = _who(owner)
    return f"another run ({who}) is working on '{place}'; wait until it has ended, or choose another folder"


def _path(number: int) -> str:
    return f"{_FOLDER}/{number:06d}.json"
