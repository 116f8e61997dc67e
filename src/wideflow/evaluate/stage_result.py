"""What one stage of the method, or another method, leaves of a sample."""

from __future__ import annotations

from dataclasses import dataclass

from wideflow.evaluate.datasets.sample import Field, Mask


@dataclass(frozen=True, eq=False)
class StageResult:
    """What one stage leaves.

    Attributes
    ----------
    stage : str
    stereo, optical, loop : (H, W, 2) float32, optional
        Flow of every pixel of A to B at t, to A and to B at t + 1, px.
    depth, motion : (H, W) and (H, W, 3) float32, optional
    occluded : (H, W) bool, optional
        What the method believes to be hidden in the second picture of the pair, or in B at t.
    seconds : float
        That the method took to here; what is computed only to be measured does not count.
    """

    stage: str
    stereo: Field | None = None
    optical: Field | None = None
    loop: Field | None = None
    depth: Field | None = None
    motion: Field | None = None
    occluded: Mask | None = None
    seconds: float = 0.0
