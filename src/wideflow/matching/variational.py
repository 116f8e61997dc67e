"""A flow that makes two grey pictures agree below the pixel, and is smooth (the energy of DeepFlow).

Brightness and gradients are compared under a robust penalty, each divided by how much the pictures change
there, so that strong edges do not count for more than weak ones. Every step samples the second picture anew
by cubics, linearises, and relaxes the linear system over a checkerboard, whose colours are stored apart: the
loops over a row then fill vector registers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wideflow.matching.variational_rows import RIM, add_step, assemble, relax, sample

Floats = NDArray[np.float32]

_RELAXATION = np.float32(1.95)  # of over-relaxation
_TURNS = 20  # of either colour that rows take while they are in the cache
_FURTHEST = np.float32(2.0)  # px of a step


class Weights(NamedTuple):
    """Of smoothness, brightness and gradients, for grey levels of 0..255.

    ``contrast`` is the step of grey levels over which smoothness falls to 1/e, or 0 if edges of the picture
    do not set the flow free. ``line`` is that of the squared distance in px from epipolar lines.
    """

    smoothness: float = 4.0
    brightness: float = 0.5
    gradient: float = 5 / 3
    contrast: float = 0.0
    line: float = 0.0


class Rounds(NamedTuple):
    """How often the pictures are sampled, and the sweeps over all pixels after each time."""

    steps: int
    sweeps: int


def refine_flow(
    first: Floats,
    second: Floats,
    flow: Floats,
    weights: Weights,
    rounds: Rounds,
    F: NDArray[np.float64] | None = None,
) -> Floats:
    """The flow after some steps towards the optimum; it has to be right to a pixel or two.

    Parameters
    ----------
    first, second : (H, W), (H2, W2) float32
        Grey levels, 0..255. Where the flow leads out of the second, nothing is compared.
    flow : (H, W, 2) float32
        In pixels.
    weights : Weights
        Of the terms of the energy.
    rounds : Rounds
        How far to go.
    F : (3, 3), optional
        From pixels of the first picture to lines in the second, which the flow is held to.
    """
    height, width = first.shape
    here, there = (np.pad(picture, RIM, mode="edge") for picture in (first, second))
    u, v = (np.pad(flow[..., i], 1, mode="edge") for i in range(2))
    half = (width + 1) // 2
    system = np.zeros((2, height, 5, half), np.float32)
    bonds = np.zeros((2, height + 1, 2, half + 1), np.float32)
    steps = np.empty((2, 2, height + 2, half + 2), np.float32)
    sampled = np.empty((height + 2 * RIM, width + 2 * RIM), np.float32)
    inside = np.empty((height, width), np.float32)
    free = _conductance(first, weights.contrast)
    lines = np.zeros((3, 3)) if F is None else np.ascontiguousarray(F, np.float64)
    scales = np.array(
        [weights.smoothness, weights.brightness, weights.gradient, 2 * weights.line], np.float32
    )
    for _ in range(rounds.steps):
        sample(there, u, v, sampled, inside)
        assemble(here, sampled, inside, u, v, free, lines, scales / 2, system, bonds)
        steps[:] = 0
        for turn in range(0, 2 * rounds.sweeps, _TURNS):
            relax(system, bonds, steps, width, turn, min(_TURNS, 2 * rounds.sweeps - turn), _RELAXATION)
        add_step(steps, u, v, _FURTHEST)
    return np.stack([u[1:-1, 1:-1], v[1:-1, 1:-1]], axis=-1)


def _conductance(picture: Floats, contrast: float) -> Floats:
    """(2, H, W): how much of the smoothness is left towards the pixel to the right, and below."""
    free = np.ones((2, *picture.shape), np.float32)
    if contrast > 0:
        free[0, :, :-1] = np.exp(-np.abs(np.diff(picture, axis=1)) / np.float32(contrast))
        free[1, :-1] = np.exp(-np.abs(np.diff(picture, axis=0)) / np.float32(contrast))
    return free
