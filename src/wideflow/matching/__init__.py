"""Dense correspondence between two pictures: oriented DAISY under PatchMatch belief propagation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.config import MatchConfig
from wideflow.errors import InputError
from wideflow.geometry import PairGeometry, forward_backward_error
from wideflow.geometry.picture import checked_picture
from wideflow.geometry.pyramid import resized_flow, scale_between, shrunk
from wideflow.geometry.vectors import vectors_where
from wideflow.matching.colour import ColourTransform
from wideflow.matching.fundamental import estimate_geometry, reestimate_geometry
from wideflow.matching.passes import Matches, run_passes
from wideflow.matching.polish import polish_optical, polish_stereo
from wideflow.matching.proposals import Proposal, checked_proposals
from wideflow.progress import Progress, silent
from wideflow.types import Flow, View

__all__ = ["OCCLUDED", "Match", "Proposal", "match"]
Floats = NDArray[np.float32]
OCCLUDED = 3.0  # px of forward-backward error from which a pixel counts as occluded
_SMALLEST = 8  # px of a side below which there is nothing to describe
_PLAIN = 0.05  # texture at which a pixel is trusted half


@dataclass(frozen=True, eq=False)
class Match:
    """Both directions of a dense match.

    Attributes
    ----------
    forward, backward : Flow
        From the first picture to the second, and back.
    occluded : (H, W) bool
        Pixels of the first picture whose forward-backward error exceeds 3 px.
    geometry : PairGeometry or None
        The cameras that were given or found; None for optical flow.
    colours, colours_back : ColourTransform
        Take the first picture's colours to the second's, and back.
    """

    forward: Flow
    backward: Flow
    occluded: NDArray[np.bool_]
    geometry: PairGeometry | None
    colours: ColourTransform
    colours_back: ColourTransform


def match(
    first: ArrayLike,
    second: ArrayLike,
    kind: str = "stereo",
    views: tuple[View, View] | None = None,
    config: MatchConfig | None = None,
    progress: Progress = silent,
    start: tuple[Floats, Floats] | None = None,
    both: bool = True,
    proposals: Sequence[Proposal] = (),
) -> Match:
    """Match every pixel of one picture to another.

    Parameters
    ----------
    first, second : (H, W, 3) or (H, W), uint8, uint16 or float in 0..1
        RGB or grey; the sizes may differ.
    kind : "stereo" or "optical"
        Two cameras at one moment, or one camera at two.
    views : pair of View, optional
        The cameras of a stereo pair, pinhole. Without them the epipolar geometry is estimated from the
        pictures, and again from the dense matches after each level.
    config : MatchConfig, optional
        The default settings unless given.
    progress : callable
        Told (steps done, steps in all, what comes next).
    start : pair of (H, W, 2) float32, optional
        Warm start: flows near the true ones, forward and backward, such as those of the moment before; saves
        the search.
    both : bool
        Find the backward flow as finely as the forward one, for a quarter of the time. Without, it is good
        enough to tell what is occluded.
    proposals : sequence of Proposal
        Flows of the first picture that something else knows; the pictures decide where they are taken.

    Raises
    ------
    InputError
        Pictures that cannot be matched, or cameras that do not belong to them.
    """
    config = MatchConfig() if config is None else config
    pictures = (
        checked_picture(first, "the first picture", _SMALLEST),
        checked_picture(second, "the second picture", _SMALLEST),
    )
    if kind not in ("stereo", "optical"):
        raise InputError(f"a match is either 'stereo' or 'optical', not '{kind}'")
    geometry, reestimate = None, None
    if kind == "stereo" and views is not None:
        geometry = _geometry_of_views(pictures, views)
    elif kind == "stereo":
        geometry, reestimate = estimate_geometry(pictures), reestimate_geometry
    offered = checked_proposals(proposals, pictures[0].shape)
    *_, matches = run_passes(pictures, geometry, config, reestimate, progress, start, both, offered)
    flows = matches.flows if not config.polish else _polished(pictures, matches, both)
    fine = errors = _errors(flows)
    if matches.geometry is None:  # smooth flows agree more easily than matches do
        rough = _errors(matches.flows)
        errors = np.maximum(rough[0], fine[0]), np.maximum(rough[1], fine[1])
    forward, backward = (
        Flow(flows[i], _confidence(errors[i], matches.costs[i], matches.textures[i], matches.geometry, i))
        for i in range(2)
    )
    return Match(forward, backward, fine[0] > OCCLUDED, matches.geometry, *matches.transforms)


def _polished(pictures: tuple[Floats, Floats], matches: Matches, both: bool) -> tuple[Floats, Floats]:
    """Both flows below the pixel; a way back that is coarse stays so."""
    one = _polished_flow(pictures, matches, 0)
    if both:
        return one, _polished_flow(pictures, matches, 1)
    if matches.geometry is not None:
        return one, matches.flows[1]
    # it only tells what is hidden: of matches, which know what is small and fast, and of smooth flow, which
    # knows what is plain, the one that agrees with the way there
    smooth = _polished_flow((shrunk(pictures[0], 1), shrunk(pictures[1], 1)), matches, 1)
    agrees = forward_backward_error(smooth, one) < forward_backward_error(matches.flows[1], one)
    return one, vectors_where(agrees, smooth, matches.flows[1])


def _polished_flow(pictures: tuple[Floats, Floats], matches: Matches, i: int) -> Floats:
    """One of them, in pictures of another size if they are smaller."""
    source, target, flow = matches.transforms[i](pictures[i]), pictures[1 - i], matches.flows[i]
    if matches.geometry is not None:
        known = matches.geometry.infinity is not None
        F = matches.geometry.F.T if i else matches.geometry.F
        return polish_stereo(source, target, flow, F if known else None)
    # without a look at the other way, which may be coarse: this way stays the same
    likely = _confidence(np.zeros_like(matches.costs[i]), matches.costs[i], matches.textures[i], None, i)
    other, size = matches.flows[1 - i].shape, (source.shape[0], source.shape[1])
    small = resized_flow(
        flow, scale_between(flow.shape, source.shape), scale_between(other, target.shape), size
    )
    likely = cv2.resize(likely, source.shape[1::-1], interpolation=cv2.INTER_AREA)
    polished = polish_optical(source, target, small, likely)
    return resized_flow(
        polished,
        scale_between(source.shape, flow.shape),
        scale_between(target.shape, other),
        (flow.shape[0], flow.shape[1]),
    )


def _errors(flows: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return forward_backward_error(flows[0], flows[1]), forward_backward_error(flows[1], flows[0])


def _geometry_of_views(pictures: tuple[Floats, Floats], views: tuple[View, View]) -> PairGeometry:
    for picture, view in zip(pictures, views, strict=True):
        camera = view.camera
        if picture.shape[:2] != (camera.height, camera.width):
            raise InputError(
                f"the picture of camera '{camera.name}' is {picture.shape[1]}x{picture.shape[0]}, its "
                f"calibration is for {camera.width}x{camera.height}; give the picture that was calibrated"
            )
        if not camera.is_pinhole:
            raise InputError(f"camera '{camera.name}' has lens distortion; undistort its picture first")
    return PairGeometry.from_views(*views)


def _confidence(
    error: Floats,
    cost: Floats,
    texture: Floats,
    geometry: PairGeometry | None,
    i: int,
) -> Floats:
    """0..1: do both directions agree, do the pixels look alike, is there anything to see, and depth?"""
    agreement = np.exp(-((error / OCCLUDED) ** 2))
    likeness = np.exp(-np.maximum(cost, 0))
    confidence = agreement * likeness * (texture / (texture + _PLAIN))
    if geometry is not None:
        # near an epipole all depths look the same
        e = geometry.epipoles[i]
        height, width = error.shape
        across, down = e[0] - np.arange(width) * e[2], e[1] - np.arange(height) * e[2]
        distance = np.sqrt(across * across + (down * down)[:, None])
        reach = 0.02 * max(height, width) * abs(e[2])
        confidence = confidence * (distance / (distance + reach + 1e-12))
    return confidence.astype(np.float32)
