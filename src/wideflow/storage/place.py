"""A folder for results: on this disk, or behind any URL that fsspec knows (``s3://bucket/run``)."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from wideflow.errors import FileError, MissingExtraError
from wideflow.files.disk import TEMPORARY, AnyPath, why_unreadable, why_unwritable
from wideflow.storage.disk import Disk

DISK = Disk()


class Place:
    """Reads and writes whole files by their names inside one folder; a write never leaves half a file.

    Parameters
    ----------
    where : path or str
        A folder, which need not exist yet, or a URL.
    """

    def __init__(self, where: AnyPath) -> None:
        if not str(where):
            raise FileError("the name of the folder for the result is empty; give one")
        self.where = str(where).rstrip("/") or "/"
        self.remote = "://" in self.where
        if self.remote:
            self._files, self._root = _connect(self.where)
        else:
            self.folder = Path(self.where)

    def __str__(self) -> str:
        return self.where

    def find(self, name: str) -> bytes | None:
        """Contents of a file, None if there is none.

        Raises
        ------
        FileError
            It may be there, but cannot be read now.
        """
        try:
            if self.remote:
                return bytes(self._files.cat_file(f"{self._root}/{name}"))
            return DISK.read(self.folder / name)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise FileError(f"'{self}/{name}' {why_unreadable(error)}") from error
        except Exception as error:  # every service has errors of its own
            raise FileError(f"'{self}/{name}' cannot be read: {_reason(error)}") from error

    def read(self, name: str) -> bytes:
        """Contents of a file; a `FileError` if there is none."""
        content = self.find(name)
        if content is None:
            raise FileError(f"'{self}/{name}' does not exist; check the path")
        return content

    def write(self, name: str, content: bytes, wait: bool = True) -> None:
        """Write a file whole, or not at all; folders on the way are made.

        Parameters
        ----------
        name : str
            Inside this folder.
        content : bytes
            All of it.
        wait : bool
            Until it has reached the disk. What has a checksum and can be computed again need not: if power
            fails, a file of the last seconds may be gone or damaged.
        """
        try:
            if self.remote:
                self._files.pipe_file(f"{self._root}/{name}", content)
            else:
                self._write_here(self.folder / name, content, wait)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"cannot write '{self}/{name}': {why_unwritable(error)}") from error
        except Exception as error:
            raise FileError(f"cannot write '{self}/{name}': {_reason(error)}") from error

    def _write_here(self, target: Path, content: bytes, wait: bool) -> None:
        make_folder(target.parent)
        temporary = target.with_name(f"{TEMPORARY}{uuid4().hex[:12]}{target.suffix}")
        try:
            DISK.write(temporary, content)
            if wait:
                DISK.sync(temporary)
            DISK.rename(temporary, target)
        except OSError:
            with suppress(OSError):
                DISK.remove_file(temporary)
            raise
        if wait:
            DISK.sync_folder(target.parent)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file behind a URL unless it is there, in one instant; False if it is.

        Raises
        ------
        NotImplementedError
            The service cannot do that.
        """
        try:
            self._files.pipe_file(f"{self._root}/{name}", content, mode="create")
        except FileExistsError:
            return False
        except (TypeError, ValueError, NotImplementedError) as error:
            raise NotImplementedError from error
        except Exception as error:
            if "PreconditionFailed" in f"{error!r}" or "At least one of the pre-conditions" in str(error):
                return False
            raise FileError(f"cannot write '{self}/{name}': {_reason(error)}") from error
        return True

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        try:
            if self.remote:
                return bool(self._files.exists(f"{self._root}/{name}"))
            return DISK.is_file(self.folder / name)
        except OSError as error:
            raise FileError(f"'{self}/{name}' {why_unreadable(error)}") from error
        except Exception as error:
            raise FileError(f"'{self}' cannot be reached: {_reason(error)}") from error

    def names(self, folder: str) -> list[str]:
        """Names of what lies in a folder, sorted, without temporary files; none if it does not exist."""
        return [name for name in self._all_names(folder) if not name.startswith(TEMPORARY)]

    def _all_names(self, folder: str) -> list[str]:
        try:
            if self.remote:
                found = self._files.ls(f"{self._root}/{folder}".rstrip("/"), detail=False)
                return sorted(str(name).rstrip("/").rsplit("/", 1)[-1] for name in found)
            path = self.folder / folder
            return sorted(DISK.names(path)) if DISK.is_folder(path) else []
        except FileNotFoundError:
            return []
        except OSError as error:
            raise FileError(f"'{self}/{folder}' {why_unreadable(error)}") from error
        except Exception as error:
            raise FileError(f"'{self}' cannot be reached: {_reason(error)}") from error

    def remove(self, name: str) -> None:
        """Remove a file or a folder with all in it; nothing happens if there is none."""
        try:
            if not self.remote:
                _remove_here(self.folder / name)
            elif self._files.exists(f"{self._root}/{name}"):
                self._files.rm(f"{self._root}/{name}", recursive=True)
        except FileNotFoundError:
            return
        except OSError as error:
            raise FileError(f"cannot remove '{self}/{name}': {why_unwritable(error)}") from error
        except Exception as error:
            raise FileError(f"cannot remove '{self}/{name}': {_reason(error)}") from error

    def rename(self, name: str, target: str) -> None:
        """Give a file or folder of this disk another name."""
        try:
            DISK.rename(self.folder / name, self.folder / target)
            DISK.sync_folder((self.folder / target).parent)
        except OSError as error:
            raise FileError(f"cannot write '{self}/{target}': {why_unwritable(error)}") from error

    def sweep(self) -> None:
        """Remove temporary files that a process has left behind when it was killed.

        Only for who holds the lock of this place: they may be those of a writer that is at work.
        """
        if not self.remote:  # a service shows a file when it is whole
            self._sweep("")

    def _sweep(self, folder: str) -> None:
        for name in self._all_names(folder):
            path = f"{folder}/{name}" if folder else name
            if name.startswith(TEMPORARY):
                self.remove(path)
            elif name in _OURS or folder:
                self._sweep(path)

    def free(self) -> int | None:
        """Bytes that can still be written; None if nobody can tell."""
        if self.remote:
            return None
        try:
            return DISK.free(self.folder)
        except OSError:
            return None

    def store(self, name: str) -> Any:
        """What Zarr opens as the group of this name."""
        if not self.remote:
            return str(self.folder / name)
        from zarr.storage import FsspecStore

        return FsspecStore.from_url(f"{self.where}/{name}", storage_options={})


_OURS = ("checksums", "result.zarr", "work")  # folders of a result


def _remove_here(path: Path) -> None:
    if not path.is_symlink() and DISK.is_folder(path):
        for name in DISK.names(path):
            _remove_here(path / name)
        DISK.remove_folder(path)
    else:
        DISK.remove_file(path)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; a `FileError` if that cannot be."""
    try:
        DISK.make_folder(folder)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = why_unwritable(error)
        raise FileError(f"cannot make the folder '{folder}': {reason}; choose another place") from error


def _connect(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError(
            f"'{url}' needs fsspec; install it with pip install 'wideflow[cloud]'"
        ) from error
    try:
        # what others write while we run must be seen
        files, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        raise MissingExtraError(
            f"'{url}' needs a package that is not there; pip install 'wideflow[cloud]' for s3://, and see "
            f"fsspec for others: {_reason(error)}"
        ) from error
    except Exception as error:
        raise FileError(f"'{url}' cannot be reached: {_reason(error)}") from error
    return files, str(root).rstrip("/")


def _reason(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]
