"""The clips that ship with the package: two phones before one moving scene, rendered with their truth."""

from __future__ import annotations

from pathlib import Path

CLIPS = Path(__file__).parent / "clips"  # a.mp4, b.mp4, rig.json (where they were), truth.npz (what they saw)
