"""The format of a scene with ground truth, which `wideflow.synth` writes and `wideflow.evaluate` reads."""

from wideflow.handheld.cameras import pose_fields, write_cameras
from wideflow.handheld.clip import Clip, find_clips, read_clip
from wideflow.handheld.scene import HandheldScene, read_handheld
from wideflow.handheld.truth import read_truth, write_truth

__all__ = [
    "Clip",
    "HandheldScene",
    "find_clips",
    "pose_fields",
    "read_clip",
    "read_handheld",
    "read_truth",
    "write_cameras",
    "write_truth",
]
