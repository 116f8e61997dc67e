"""A look at two clips before the long job: is it worth a run, and what to do better in the next take."""

from wideflow.check.clips import ClipCheck, check_clips

__all__ = ["ClipCheck", "check_clips"]
