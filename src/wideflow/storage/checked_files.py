"""Small files of a result, such as ``rig.json``, whose checksums stand in ``checksums/files.json``."""

from __future__ import annotations

from collections.abc import Mapping

from wideflow.errors import DamagedError, FileError
from wideflow.storage.place import Place
from wideflow.storage.sealed import checksum, seal, unseal

_FILES = "checksums/files.json"


def write_files(place: Place, files: Mapping[str, bytes]) -> None:
    """Write files of a result that are checked whenever they are read.

    Until the last of them is written, both the old content and the new count as right: each of them is whole.
    """
    before = unseal(place.find(_FILES)) or {}
    now = {name: checksum(content) for name, content in files.items()}
    both = {name: f"{before[name]} {digest}" if name in before else digest for name, digest in now.items()}
    place.write(_FILES, seal({**before, **both}))
    for name, content in files.items():
        place.write(name, content)
    place.write(_FILES, seal({**before, **now}))


def find_file(place: Place, name: str) -> bytes | None:
    """A file of a result; None if there is none and there should be none.

    Raises
    ------
    DamagedError
        It is not as it was written, or gone.
    FileError
        It cannot be read.
    """
    content = place.find(name)
    known = checked_names(place)
    if name not in known:
        return content
    if content is None:
        raise DamagedError(f"'{place}/{name}' is missing; start the run again, which writes it anew")
    if checksum(content) not in known[name].split():
        raise DamagedError(f"'{place}/{name}' is damaged; start the run again, which writes it anew")
    return content


def read_file(place: Place, name: str) -> bytes:
    """A file that every result has.

    Raises
    ------
    DamagedError
        It is not as it was written, or gone.
    FileError
        It is missing or cannot be read.
    """
    content = find_file(place, name)
    if content is None:
        raise FileError(f"'{place}/{name}' does not exist; check the path")
    return content


def checked_names(place: Place) -> dict[str, str]:
    """Names of the files whose checksums are known, and these: two while it is being written.

    Raises
    ------
    DamagedError
        The list of them is damaged.
    """
    content = place.find(_FILES)
    known = {} if content is None else unseal(content)
    if known is None:
        raise DamagedError(f"'{place}/{_FILES}' is damaged; start the run again, which writes it anew")
    return {str(name): str(digests) for name, digests in known.items()}
