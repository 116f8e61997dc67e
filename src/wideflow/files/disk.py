"""Whole files in, whole files out: the only place that opens a file, so every failure becomes one sentence.

A writer never leaves half a file: it writes to a temporary file beside the target and renames it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import numpy as np

from wideflow.errors import FileError
from wideflow.types import Array

AnyPath: TypeAlias = str | os.PathLike[str]

TEMPORARY = ".wideflow-"  # how the names of files begin that are not whole yet
MAX_BYTES = 2**32  # four times the largest array that we read; a larger file is not what it claims to be
MAX_PIXELS = 2**28  # 16384 x 16384, more than any phone's camera

_CANNOT_READ = {
    errno.ENOENT: "does not exist; check the path",
    errno.ENOTDIR: "does not exist; check the path",
    errno.EACCES: "may not be read; check its permissions",
}
_CANNOT_WRITE = {
    errno.ENOSPC: "the disk is full; free some space or choose another place",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another place",
    errno.ENOENT: "its directory does not exist; create it first",
    errno.ENOTDIR: "its directory is a file; choose another place",
    errno.EACCES: "writing there is not permitted; choose another place",
    errno.EPERM: "writing there is not permitted; choose another place",
    errno.EROFS: "that disk is read-only; choose another place",
    errno.EISDIR: "it is a directory; give the name of a file",
}


def why_unreadable(error: OSError | ValueError) -> str:
    """What follows the name of a file that could not be read."""
    return _reason(error, _CANNOT_READ, "cannot be read: ")


def why_unwritable(error: OSError) -> str:
    """What follows "cannot write" and the name of a file."""
    return _reason(error, _CANNOT_WRITE, "")


def _reason(error: OSError | ValueError, known: dict[int, str], otherwise: str) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return known.get(error.errno, otherwise + (error.strerror or "unknown error").lower())
    return otherwise + str(error)


def read_bytes(path: AnyPath, kind: str, magic: tuple[bytes, ...] = (), limit: int = MAX_BYTES) -> bytes:
    """Contents of a regular, non-empty file.

    Parameters
    ----------
    path : path
        Of a regular file.
    kind : str
        What the file should be, for the message: "Middlebury flow file".
    magic : tuple of bytes
        The file must start with one of these; checked before the rest is read.
    limit : int
        Largest size in bytes that can still be such a file.

    Raises
    ------
    FileError
        Missing, a directory, unreadable, empty, too large, or of another format.
    """
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise FileError(f"'{path}' is a directory; give the name of a {kind}")
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"'{path}' is a device or a pipe; give the name of a {kind}")
        if status.st_size == 0:
            raise FileError(f"'{path}' is empty; it should be a {kind}")
        if status.st_size > limit:
            raise FileError(f"'{path}' has {status.st_size} bytes, too many for a {kind}; check the path")
        with open(path, "rb") as file:
            head = file.read(max(map(len, magic), default=0))
            if magic and not head.startswith(magic):
                raise FileError(f"'{path}' is not a {kind}; check the path and the file's format")
            return head + file.read(status.st_size - len(head))
    except (OSError, ValueError) as error:
        raise FileError(f"'{path}' {why_unreadable(error)}") from error
    except MemoryError as error:
        raise FileError(f"'{path}' does not fit into memory; free some or use a smaller {kind}") from error


@contextmanager
def atomic_path(path: AnyPath) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends without an error.

    The temporary file exists, is empty, and has the suffix of ``path``, for libraries that choose the
    format by it. After an error it is gone and the old file, if any, is untouched.

    Raises
    ------
    FileError
        In place of any ``OSError`` of the block (full disk, missing directory, no permission).
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f"{TEMPORARY}{uuid4().hex[:12]}{target.suffix}")
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, "it is a device or a pipe")
        # Not mkstemp: it makes files that nobody else may read, whatever the umask says.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            yield temporary
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {why_unwritable(error)}") from error


def write_bytes(path: AnyPath, *chunks: bytes | Array) -> None:
    """Write the chunks (bytes, or arrays in C order) one after the other to one file, atomically."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        for chunk in chunks:
            file.write(chunk if isinstance(chunk, bytes) else np.ascontiguousarray(chunk).data)
