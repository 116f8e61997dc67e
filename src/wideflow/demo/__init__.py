"""The clips that ship with the package: two phones before one moving scene, rendered with their truth."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CLIPS", "demo_clips"]

CLIPS = Path(__file__).parent / "clips"  # a.mp4, b.mp4, rig.json (where they were), truth.npz (what they saw)


def demo_clips() -> tuple[Path, Path]:
    """The two videos that ship with the package, of A and of B."""
    return CLIPS / "a.mp4", CLIPS / "b.mp4"
