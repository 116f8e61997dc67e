"""Where an export goes, and the libraries that it needs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from wideflow.errors import FileError, MissingExtraError
from wideflow.storage.place import make_folder


def target_folder(out: Path, *names: str) -> Path:
    """The folder of an export, or one inside it, made if it is missing; what is in it stays."""
    if out.exists() and not out.is_dir():
        raise FileError(f"cannot export into '{out}': it is a file; give the name of a folder")
    folder = out.joinpath(*names)
    make_folder(folder)
    return folder


def target_file(out: Path, suffixes: tuple[str, ...]) -> Path:
    """The file of an export, checked for its name."""
    options = " or ".join(suffixes)
    if out.is_dir():
        raise FileError(f"cannot export to '{out}': it is a folder; give the name of a {options} file")
    if out.suffix.lower() not in suffixes:
        raise FileError(f"cannot export to '{out}': the name must end in {options}; rename it")
    return out


def require(module: str, extra: str) -> Any:
    """A module of an optional package, or the sentence that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"this export needs the package {package}: install it with pip install 'wideflow[{extra}]'"
        ) from error


def write_failed(out: Path, library: str) -> FileError:
    """What to say when a library that writes files itself gives up; its own words name our temporary file."""
    return FileError(
        f"cannot write '{out}': {library} failed while writing; free some space or choose another place"
    )
