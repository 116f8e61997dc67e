"""A synchronisation as JSON holds it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wideflow.sync import FramePairs, Sync


def described_sync(sync: Sync, pairs: FramePairs) -> dict[str, Any]:
    """A synchronisation for ``summary.json``, with how far apart the frames of these pairs are."""
    error = float(np.abs(pairs.error).mean())
    return {**sync_fields(sync), "pair_error_mean": error}


def sync_fields(sync: Sync) -> dict[str, Any]:
    """A synchronisation for JSON, without its pairs."""
    return {
        "offset_seconds": sync.offset_seconds,
        "rate": sync.rate,
        "method": sync.method,
        "confidence": sync.confidence,
        "notes": list(sync.notes),
        "reasons": list(sync.reasons),
    }


def sync_from_fields(fields: dict[str, Any], pairs: FramePairs) -> Sync:
    """What `sync_fields` has described."""
    sentences = {name: tuple(fields[name]) for name in ("notes", "reasons")}
    return Sync(**{**fields, **sentences}, pairs=pairs)
