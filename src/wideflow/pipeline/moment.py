"""What the steps of the pipeline hand on: the pictures of a moment, and flows with their gaps filled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wideflow.lift import CameraDoubt
from wideflow.types import RigFrame


@dataclass(frozen=True, eq=False)
class Moment:
    """Both pictures of one moment as ideal cameras would have taken them.

    Attributes
    ----------
    pictures : pair of (H, W, 3) float32
        RGB, 0..1, of A and of B.
    frame : RigFrame
        Of cameras without distortion.
    known : pair of (H, W) bool
        Pixels that the lens has seen.
    doubt : CameraDoubt, optional
        What calibration does not know of the cameras.
    """

    pictures: tuple[NDArray[np.float32], NDArray[np.float32]]
    frame: RigFrame
    known: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    doubt: CameraDoubt | None = None


@dataclass(frozen=True, eq=False)
class FilledFlow:
    """A matched flow whose gaps are filled: (H, W, 2) px, its confidence, and where it is a guess."""

    uv: NDArray[np.float32]
    confidence: NDArray[np.float32]
    occluded: NDArray[np.bool_]


class StepFlows(NamedTuple):
    """The four flows around the loop of a time step."""

    optical_a: FilledFlow
    stereo: FilledFlow
    optical_b: FilledFlow
    stereo_next: FilledFlow
