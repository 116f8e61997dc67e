"""Whether notes say what notes may say: a right checksum tells that they are whole, not who wrote them."""

from __future__ import annotations

from typing import Any

from wideflow.storage.schema import FORMAT, OF_B, OPTIONAL, SLOT_OF

_LONGEST_SIDE = 2**15  # px
_MOST_MOMENTS = 10**7  # four days at 30 a second


def is_about(about: dict[str, Any]) -> bool:
    """Of a store: its format, and what only formats that we know are asked for."""
    form: Any = about.get("format")
    if not _is_number(form, 0, 10**6):
        return False
    if form < 2 or form > FORMAT:
        return True
    sizes: Any = about.get("sizes")
    kept: Any = about.get("kept")
    return (
        _is_number(about.get("moments"), 0, _MOST_MOMENTS)
        and _is_pair(sizes)
        and all(_is_pair(size) and all(_is_number(n, 1, _LONGEST_SIDE) for n in size) for size in sizes)
        and isinstance(kept, list)
        and all(isinstance(name, str) and name in (*OPTIONAL, *OF_B) for name in kept)
    )


def is_note(note: dict[str, Any]) -> bool:
    """Of a moment: the key of what made it, and a checksum of each array."""
    arrays, made = note.get("arrays"), note.get("note")
    return (
        isinstance(note.get("key"), str)
        and isinstance(arrays, dict)
        and all(name in SLOT_OF and isinstance(digest, str) for name, digest in arrays.items())
        and isinstance(made, dict)
        and isinstance(made.get("made", {}), dict)
    )


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2


def _is_number(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
