"""A folder for results: on this disk, or behind any URL that fsspec knows (``s3://bucket/run``)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from wideflow.errors import FileError, MissingExtraError
from wideflow.files.disk import AnyPath, read_bytes, write_bytes


class Place:
    """Reads and writes whole files by their names inside one folder; a write never leaves half a file.

    Parameters
    ----------
    where : path or str
        A folder, which need not exist yet, or a URL.
    """

    def __init__(self, where: AnyPath) -> None:
        self.where = str(where).rstrip("/") or "/"
        self.remote = "://" in self.where
        if self.remote:
            self._files, self._root = _connect(self.where)
        else:
            self.folder = Path(self.where)

    def __str__(self) -> str:
        return self.where

    def read(self, name: str) -> bytes:
        """Contents of a file; a `FileError` if there is none."""
        if not self.remote:
            return read_bytes(self.folder / name, "file of a result")
        try:
            return bytes(self._files.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError as error:
            raise FileError(f"'{self}/{name}' does not exist; check the address") from error
        except Exception as error:  # every service has errors of its own
            raise FileError(f"'{self}/{name}' cannot be read: {_reason(error)}") from error

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole, or not at all; folders on the way are made."""
        if not self.remote:
            target = self.folder / name
            make_folder(target.parent)
            write_bytes(target, content)
            return
        try:
            self._files.pipe_file(f"{self._root}/{name}", content)
        except Exception as error:
            raise FileError(f"cannot write '{self}/{name}': {_reason(error)}") from error

    def exists(self, name: str) -> bool:
        if not self.remote:
            return (self.folder / name).exists()
        try:
            return bool(self._files.exists(f"{self._root}/{name}"))
        except Exception as error:
            raise FileError(f"'{self}' cannot be reached: {_reason(error)}") from error

    def names(self, folder: str) -> list[str]:
        """Names of the files in a folder, sorted; none if it does not exist."""
        if not self.remote:
            path = self.folder / folder
            return sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
        try:
            found = self._files.ls(f"{self._root}/{folder}", detail=False, refresh=True)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise FileError(f"'{self}' cannot be reached: {_reason(error)}") from error
        return sorted(str(name).rstrip("/").rsplit("/", 1)[-1] for name in found)

    def remove(self, name: str) -> None:
        """Remove a file or a folder with all in it; nothing happens if there is none."""
        if self.remote:
            if self.exists(name):
                self._files.rm(f"{self._root}/{name}", recursive=True)
            return
        path = self.folder / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def store(self, name: str) -> Any:
        """What Zarr opens as the group of this name."""
        if not self.remote:
            return str(self.folder / name)
        from zarr.storage import FsspecStore

        return FsspecStore.from_url(f"{self.where}/{name}", storage_options={})


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; a `FileError` if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(f"cannot make the folder '{folder}': {reason}; choose another place") from error


def _connect(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError(
            f"'{url}' needs fsspec; install it with pip install 'wideflow[cloud]'"
        ) from error
    try:
        files, root = fsspec.core.url_to_fs(url)
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
