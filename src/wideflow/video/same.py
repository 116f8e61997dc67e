"""Are two clips one and the same?"""

from __future__ import annotations

from pathlib import Path

from wideflow.errors import InputError
from wideflow.files.fingerprint import content_hash
from wideflow.video.folder import list_pictures


def require_two_clips(a: Path, b: Path) -> None:
    """Refuse one clip given twice, under whatever names: there is no angle between its pictures.

    Raises
    ------
    InputError
        The files, or the pictures of the folders, have the same content.
    """
    if _same_pictures(a, b):
        raise InputError(
            f"'{a}' and '{b}' are the same pictures, and depth needs those of two cameras; give the video of "
            "the other phone"
        )


def _same_pictures(a: Path, b: Path) -> bool:
    if a.is_dir() != b.is_dir():
        return False
    files = [list_pictures(path) if path.is_dir() else [path] for path in (a, b)]
    if [path.stat().st_size for path in files[0]] != [path.stat().st_size for path in files[1]]:
        return False
    return all(content_hash(one) == content_hash(two) for one, two in zip(*files, strict=True))
