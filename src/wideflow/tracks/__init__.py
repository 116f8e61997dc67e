"""Tracks: any pixel followed through the whole result, in both directions and behind what hides it."""

from __future__ import annotations

from wideflow.tracks.follow import track

__all__ = ["track"]
