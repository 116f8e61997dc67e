"""When: the time offset between two clips, by sound, then by pictures."""

from wideflow.sync.offset import Sync, synchronise
from wideflow.sync.pairing import FramePairs, pair_frames

__all__ = ["FramePairs", "Sync", "pair_frames", "synchronise"]
