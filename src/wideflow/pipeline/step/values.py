"""What the stages of a time step hand on; every field that is kept has the name under which it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry.flow_loop import FlowLoop

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
_ROUND = np.float32(256)  # flows are kept to this fraction of a pixel: it halves their files


@dataclass(frozen=True, eq=False)
class Pictures:
    """Both pictures of one moment as ideal cameras would have taken them: (H, W, 3) RGB, 8 bits."""

    picture_a: NDArray[np.uint8]
    picture_b: NDArray[np.uint8]

    @property
    def a(self) -> Floats:
        """That of A, 0..1."""
        return _floats(self.picture_a)

    @property
    def b(self) -> Floats:
        """That of B, 0..1."""
        return _floats(self.picture_b)


@dataclass(frozen=True, eq=False)
class MatchedFlow:
    """A match as it is kept.

    Attributes
    ----------
    uv, back : (H, W, 2) and (H2, W2, 2) float32
        Flow to the other picture and back, px, to 1/256.
    confidence, confidence_back : (H, W) and (H2, W2) float32
        Of them, 0..1.
    colours, colours_back : (3, n) float64
        The matrices of the colour transforms to the other picture and back.
    """

    uv: Floats
    back: Floats
    confidence: Floats
    confidence_back: Floats
    colours: NDArray[np.float64]
    colours_back: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FilledFlow:
    """A matched flow whose gaps are filled.

    Attributes
    ----------
    uv : (H, W, 2) float32
        Flow, px, to 1/256; finite everywhere.
    confidence : (H, W) float32
        0..1.
    occluded : (H, W) bool
        Where it is a guess.
    colours : (3, n) float64
        The matrix of the colour transform to the other picture.
    """

    uv: Floats
    confidence: Floats
    occluded: Mask
    colours: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RefinedFlows:
    """The flows of a time step that agree.

    ``loop_error`` (H, W) are the px by which the matched ones did not, ``moved`` (H, W) those by which
    refinement would move the stereo flow, also where it is held.
    """

    flows: FlowLoop
    loop_error: Floats
    moved: Floats


@dataclass(frozen=True, eq=False)
class LastMoment:
    """Picture A at the moment that no step starts from: its stereo flow, matched and filled, and its depth.

    Arrays as in `SceneFlow`.
    """

    stereo_flow: Floats
    depth: Floats
    occluded: Mask
    confidence: Floats
    confidence_5: Floats
    source: NDArray[np.uint8]
    moving: Floats
    tilt: float = 0.0


@dataclass(frozen=True, eq=False)
class SteadyDepth:
    """Depth (H, W) of picture A with the help of the moments around it, and where it comes from."""

    depth_steady: Floats
    source_steady: NDArray[np.uint8]


def rounded(values: NDArray[Any]) -> Floats:
    """As a run keeps it, so that a step computed in memory and one that was resumed have the same bits."""
    kept = np.asarray(values * _ROUND)
    np.rint(kept, out=kept)
    kept /= _ROUND
    return kept.astype(np.float32, copy=False)


def _floats(picture: NDArray[np.uint8]) -> Floats:
    colours = picture.astype(np.float32)
    colours /= np.float32(255)
    return colours
