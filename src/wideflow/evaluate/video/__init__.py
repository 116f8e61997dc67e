"""The video track: whole clips against the truth of many of their frames."""

from wideflow.evaluate.video.track import evaluate_video

__all__ = ["evaluate_video"]
