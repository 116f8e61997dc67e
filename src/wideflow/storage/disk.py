"""The operations that storage does on a disk, one by one, so that tests can let each of them fail."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_CHUNK = 2**24  # bytes in one call: some systems refuse 2 GB and more


class Disk:
    """Single operations; every one may raise ``OSError``."""

    def is_file(self, path: Path) -> bool:
        """Whether there is such a file; an error other than its absence is raised, not taken for it."""
        return self._mode(path, folder=False)

    def is_folder(self, path: Path) -> bool:
        return self._mode(path, folder=True)

    def _mode(self, path: Path, folder: bool) -> bool:
        import stat

        try:
            mode = os.stat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        return stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode)

    def read(self, path: Path) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def names(self, folder: Path) -> list[str]:
        return os.listdir(folder)

    def make_folder(self, folder: Path) -> None:
        """Make a folder and those above it."""
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, content: bytes) -> None:
        """A new file with this content; it may be cut short if this is interrupted."""
        # Not mkstemp: it makes files that nobody else may read, whatever the umask says.
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(handle, rest[:_CHUNK]) :]
        finally:
            os.close(handle)

    def sync(self, path: Path) -> None:
        """Wait until the content of a file has reached the disk."""
        handle = os.open(path, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, path: Path, target: Path) -> None:
        """Give a file or folder another name; a file of that name goes in the same instant."""
        os.replace(path, target)

    def sync_folder(self, folder: Path) -> None:
        """Wait until the names in a folder have reached the disk; not every system can."""
        with suppress(PermissionError, IsADirectoryError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def remove_file(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        path.rmdir()

    def free(self, folder: Path) -> int:
        """Bytes that may still be written."""
        import shutil

        return shutil.disk_usage(folder).free
