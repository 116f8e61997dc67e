"""Short texts that change with what a result depends on: the names under which finished work is kept."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wideflow.errors import FileError


def fingerprint(*values: Any) -> str:
    """A short text that changes with any of the values: texts, numbers, arrays, dataclasses of these."""
    digest = hashlib.sha256()
    _feed(digest, values)
    return digest.hexdigest()[:16]


def _feed(digest: Any, value: Any) -> None:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        value = sorted(value.items())
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, (list, tuple)):
        digest.update(f"({len(value)}".encode())
        for item in value:
            _feed(digest, item)
    else:
        digest.update(f"{type(value).__name__}:{value!r};".encode())


def content_hash(path: Path) -> str:
    """Of a file, or of the files in a folder: it changes with any byte in them."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file.is_file():
                with open(file, "rb") as opened:
                    digest.update(hashlib.file_digest(opened, "blake2b").digest())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(f"'{path}' cannot be read: {reason}; check the path") from error
    return digest.hexdigest()
