"""How far to trust a depth: the chance that it is within one percent.

Two things can go wrong. The match may lie on another surface; heuristics say how likely that is. Or it lies
on the right one, but noise moves it along its epipolar line; how far can be computed from the pictures, and
what that means for depth, from the cameras. What the cameras themselves may be off adds to the noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from wideflow.geometry import epipolar_directions, oriented_epipoles, pixel_grid
from wideflow.lift.camera_spread import tilt
from wideflow.types import RigFrame

_RIGHT = 0.01  # relative error of a depth that counts as right

# log odds of a match to be on its surface; `python -m benchmarks confidence` shows what they are worth
_ODDS = -3.8  # if nothing speaks for it
_MATCH = 1.6  # times the confidence of the match
_LOOP = 0.5  # if the loop closes
_STAYED = 3.9  # if refinement left the match where it was
_SMOOTH = 2.55  # if the flow around is smooth
_GUESSED = -1.0  # if B does not show the pixel
_LOOP_GAP = 2.0  # px between the two ways round the loop, from which it does not close
_STEP, _REACH = 4, 5  # px: what the flow is compared with, and how far around a bend is minded

_FLOOR = 0.1  # px, noise of the sharpest matches
_SHARE = 0.25  # of the noise of one window that is left after smoothing over many
_BLUR = 0.8  # px, of the pictures
_WINDOWS = 1.5, 4.0  # px: a pixel needs texture of its own, and some around
_DETAIL = 8.0  # px, what is smoother is no detail
_ROUNDING = 0.05  # square grey levels: no picture is known better
_FLAT = 1e-3  # square grey levels a square pixel, below which nothing holds a match

Floats = NDArray[np.float32]
_GREY_WEIGHTS = np.array([0.299, 0.587, 0.114], np.float32)


@dataclass(frozen=True, eq=False)
class MatchEvidence:
    """What is known of a stereo flow besides its values; all arrays (H, W), None where not known.

    Attributes
    ----------
    visible : bool
        False where the flow is a guess.
    match_confidence : float32, optional
        Of the match, 0..1.
    loop_error : float32, optional
        Of `close_loop`, px.
    moved : float32, optional
        How far refinement has moved the match, px.
    noise : float32, optional
        Of `match_noise`, px.
    spread : float32, optional
        Of `camera_spread`, a share of depth.
    late : float
        By how much of a time step B's picture was taken later than A's.
    """

    visible: NDArray[np.bool_]
    match_confidence: Floats | None = None
    loop_error: Floats | None = None
    moved: Floats | None = None
    noise: Floats | None = None
    spread: Floats | None = None
    late: float = 0.0


@dataclass(frozen=True, eq=False)
class Judged:
    """What is known of a depth besides its value; arrays (H, W) float32.

    Attributes
    ----------
    surface : 0..1
        Chance that it is the depth of what the pixel shows, and not of something beside it.
    deviation
        If so, its standard deviation from noise, as a share of depth; infinite where depth is unknown.
    bent
        And from what the cameras may be off, or from what moved between the two pictures.
    tilt : float
        Of `tilt`, over the pixels that would be trusted if the cameras were certain.
    near : 0..1, optional
        Chance that it is within some percent of that surface, if more is known of it than of ``surface``.
    """

    surface: Floats
    deviation: Floats
    bent: Floats
    tilt: float = 0.0
    near: Floats | None = None

    def within(self, share: float = _RIGHT) -> Floats:
        """The chance of the depth to be right to this share of itself."""
        surface = self.surface if self.near is None or share <= _RIGHT else self.near
        return np.asarray(surface * _within(self.deviation, self.bent, share), np.float32)


def judge_depth(
    relative: Floats, stereo: Floats, evidence: MatchEvidence, slip: Floats | None = None
) -> Judged:
    """How far to trust every depth of a pair.

    Parameters
    ----------
    relative : (H, W)
        Standard deviation of depth for noise of 1 px in every coordinate, as a share of depth; infinite where
        depth is unknown.
    stereo : (H, W, 2)
        The flow that depth comes from, px.
    evidence : MatchEvidence
        How far to trust it.
    slip : (H, W), optional
        Share of depth by which it is off because things moved between the two pictures.
    """
    noise = np.float32(_FLOOR) if evidence.noise is None else evidence.noise
    surface = _on_surface(stereo, evidence)
    matched = np.asarray(noise * relative, np.float32)
    slip = np.zeros_like(matched) if slip is None else slip
    judged = Judged(surface, matched, slip)
    if evidence.spread is None:
        return judged
    bent = tilt(evidence.spread, judged.within() > 0.5)
    return Judged(surface, matched, np.hypot(evidence.spread, slip), bent)


def _within(matched: Floats, spread: Floats, right: float) -> Floats:
    """The chance of an error to stay within a share; its two parts are relative standard deviations.

    Errors of cameras are normal; those of matches have longer tails, which the two-sided exponential
    distribution (Laplace's) fits. Of their sum, each has its share of the variance.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.hypot(matched, spread)
        long_tailed = -np.expm1(np.float32(-np.sqrt(2) * right) / deviation)
        if not spread.any():
            return long_tailed
        normal = erf(np.float32(right / np.sqrt(2)) / deviation)
        share = np.where(np.isinf(deviation), np.float32(0), (spread / deviation) ** 2)
    return np.asarray(long_tailed + share * (normal - long_tailed), np.float32)


def _on_surface(stereo: Floats, evidence: MatchEvidence) -> Floats:
    """The chance of a match to be on its surface; what is not told does not speak against it."""
    odds = _ODDS + _SMOOTH / (1 + _bend(stereo)) + np.where(evidence.visible, 0, _GUESSED)
    odds += _MATCH if evidence.match_confidence is None else _MATCH * evidence.match_confidence
    odds += _STAYED if evidence.moved is None else _STAYED / (1 + evidence.moved)
    # a pixel that leaves the picture or is hidden at t + 1 has no second way: its error is infinite
    odds += (
        _LOOP if evidence.loop_error is None else _LOOP * np.exp(-((evidence.loop_error / _LOOP_GAP) ** 2))
    )
    return np.asarray(1 / (1 + np.exp(-odds)), np.float32)


def _bend(stereo: Floats) -> Floats:
    """How far a flow is from linear around each pixel, px: large at the edges of surfaces."""
    padded = np.pad(stereo, ((_STEP, _STEP), (_STEP, _STEP), (0, 0)), "edge")
    along_x = padded[_STEP:-_STEP, 2 * _STEP :] + padded[_STEP:-_STEP, : -2 * _STEP] - 2 * stereo
    along_y = padded[2 * _STEP :, _STEP:-_STEP] + padded[: -2 * _STEP, _STEP:-_STEP] - 2 * stereo
    bend = np.maximum(np.abs(along_x), np.abs(along_y))
    return np.asarray(
        cv2.dilate(bend[..., 0] + bend[..., 1], np.ones((_REACH, _REACH), np.uint8)), np.float32
    )


def match_noise(a: Floats, b: Floats, frame: RigFrame, stereo: Floats) -> Floats:
    """Standard deviation of a match along its epipolar line, from what the pictures show around it.

    Where two windows differ by noise n and their brightness changes by g a pixel along the line, the match is
    known to n / g, less what smoothing over neighbours gains (Cramér and Rao's bound). Noise is what the
    windows do not have in common, whatever their gain; of the changes only what both show counts, so that
    noise does not pass for texture.

    Parameters
    ----------
    a, b : (H, W, 3) float32
        RGB, 0..1.
    frame : RigFrame
        Of ideal cameras.
    stereo : (H, W, 2) float32
        From A to B, px.

    Returns
    -------
    (H, W) float32
        px in every coordinate, the unit of the covariance of triangulation.
    """
    height, width = stereo.shape[:2]
    grid = pixel_grid(width, height)
    places = grid.astype(np.float32) + stereo
    first = _blurred(_grey(a), _BLUR)
    second = cv2.remap(
        _blurred(_grey(b), _BLUR), places, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    lines = epipolar_directions(oriented_epipoles(*frame.views)[0], grid).astype(np.float32)
    texture = _along(first, lines) * _along(second, lines)
    details = first - _blurred(first, _DETAIL), second - _blurred(second, _DETAIL)
    small, large = (_shift(texture, *details, window) for window in _WINDOWS)
    return np.asarray(np.sqrt(_FLOOR**2 + _SHARE**2 * np.sqrt(small * large)), np.float32)


def _shift(texture: Floats, detail_a: Floats, detail_b: Floats, window: float) -> Floats:
    """Square pixels by which noise shifts a match that only a window around it holds."""
    common = _blurred(detail_a * detail_b, window)
    product = _blurred(detail_a**2, window) * _blurred(detail_b**2, window)
    # the share of the variance that a gain does not explain, times the mean variance of both
    unlike = np.maximum(product - common * np.abs(common), 0) / np.sqrt(product + 1e-6)
    return np.asarray((unlike + _ROUNDING) / np.maximum(_blurred(texture, window), _FLAT), np.float32)


def _grey(picture: Floats) -> Floats:
    """Brightness in grey levels of 0..255."""
    return np.ascontiguousarray(255 * (picture @ _GREY_WEIGHTS), np.float32)


def _blurred(values: Floats, sigma: float) -> Floats:
    return np.asarray(cv2.GaussianBlur(values, (0, 0), sigma), np.float32)


def _along(picture: Floats, lines: Floats) -> Floats:
    """Change of brightness along the lines, grey levels a pixel."""
    dx = cv2.Sobel(picture, cv2.CV_32F, 1, 0, scale=1 / 8)
    dy = cv2.Sobel(picture, cv2.CV_32F, 0, 1, scale=1 / 8)
    return np.asarray(dx * lines[..., 0] + dy * lines[..., 1], np.float32)
