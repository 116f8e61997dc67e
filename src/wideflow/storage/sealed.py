"""Notes that tell whether they are as they were written: JSON with a checksum of its content."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def checksum(content: bytes) -> str:
    """32 hexadecimal digits (BLAKE2b) that change with any bit of the content."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def seal(note: dict[str, Any]) -> bytes:
    """A note as the content of a file."""
    return json.dumps({"checksum": checksum(_plain(note)), "note": note}, indent=1).encode()


def unseal(content: bytes | None) -> dict[str, Any] | None:
    """The note in what `seal` gave; None if there is nothing, or anything about it is not as it was."""
    try:
        sealed = json.loads(content or b"")
        note = sealed["note"]
        whole = isinstance(note, dict) and sealed["checksum"] == checksum(_plain(note))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return note if whole else None


def _plain(note: Any) -> bytes:
    return json.dumps(note, sort_keys=True, separators=(",", ":")).encode()
