"""The order of the stages: from pictures and cameras to scene flow, and onto the disk."""

from wideflow.pipeline.step.in_memory import Step, compute_step, scene_flow

__all__ = ["Step", "compute_step", "scene_flow"]
