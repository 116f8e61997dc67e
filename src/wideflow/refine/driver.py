"""Coarse to fine: the loop around an energy, which knows nothing of its formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.config import RefineConfig
from wideflow.errors import InputError
from wideflow.geometry.flow_loop import FlowLoop
from wideflow.geometry.pyramid import resized_flow, resized_mask, scale_between, shrunk
from wideflow.progress import Progress, silent
from wideflow.refine.energy import Energy
from wideflow.refine.lanes import Laned, aligned, from_lanes, to_lanes

_HALVINGS = 4  # times that a step which raises the energy is halved before the level is done
Field = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Refinement:
    """Refined flows and what is left of the data terms.

    Attributes
    ----------
    flows : FlowLoop
    penalty : (H, W) float32
        Mean of the data terms that are on at a pixel, grey levels; NaN where none is.
    energies : tuple of tuple of float
        Energy before and after every step, level by level from coarse to fine. It never rises within a level.
    """

    flows: FlowLoop
    penalty: Field
    energies: tuple[tuple[float, ...], ...]


def refine_flows(
    pictures: Sequence[Field],
    fundamental: Sequence[ArrayLike],
    flows: FlowLoop,
    config: RefineConfig | None = None,
    progress: Progress = silent,
    late: tuple[float, float] = (0.0, 0.0),
) -> Refinement:
    """Refine the flows of a time step together (paper, equation 11).

    Parameters
    ----------
    pictures : four of (h, w, 3) float32
        A at t, B at t, A at t + 1, B at t + 1; RGB in 0..1. Those of A in the colours of B (the paper's
        [A a]). The two cameras may differ in size.
    fundamental : two of (3, 3)
        F_t and F_t+1, from pixels of A to lines in B, of any scale.
    flows : FlowLoop
        The matched and filled flows, with what is visible.
    config : RefineConfig, optional
        The default settings unless given.
    progress : callable
        Told (levels done, levels in all, what comes next).
    late : pair of float
        Of pictures that are not of one moment: the share of its way from t to t + 1 by which a point in B at
        t is moved to the time of A, and in A at t + 1 to that of B; F_t and F_t+1 are of the cameras there.

    Raises
    ------
    InputError
        Pictures, cameras and flows do not belong together.
    """
    config = RefineConfig() if config is None else config
    F = np.stack([np.asarray(matrix, np.float64) for matrix in fundamental])
    _check(pictures, F, flows)
    state = np.empty((*flows.optical.shape[:2], 6), np.float32)
    state[..., :2], state[..., 2:4], state[..., 4:] = flows.optical, flows.stereo, flows.closure
    visible = [flows.optical_visible, flows.stereo_visible, flows.loop_visible]
    present = [picture.shape for picture in pictures]  # the sizes that the flows belong to
    energies = []
    for level in range(config.levels):
        small = tuple(shrunk(np.asarray(p, np.float32), config.levels - 1 - level) for p in pictures)
        sizes = [picture.shape for picture in small]
        state, present = _resized(state, present, sizes), sizes
        seen = np.stack([resized_mask(mask, small[0].shape[:2]) for mask in visible], axis=-1)
        energy = Energy(small, _resized_fundamental(F, pictures, small), seen, state, config, late)
        progress(level, config.levels, f"refine at {small[0].shape[1]}x{small[0].shape[0]}")
        found, values = minimise(energy, to_lanes(state), config.iterations)
        state = from_lanes(found, state.shape[1])
        energies.append(tuple(values))
    refined = FlowLoop(*(np.ascontiguousarray(state[..., i : i + 2]) for i in (0, 2, 4)), *visible)
    return Refinement(refined, energy.penalty, tuple(energies))


def minimise(energy: Energy, flows: Laned, iterations: int) -> tuple[Laned, list[float]]:
    """Flows of lower energy, and the energy before and after every step: it never rises."""
    values = [energy(flows, iterations > 0)]
    for left in reversed(range(iterations)):
        values.append(values[-1] - energy.bend(flows))
        step = energy.step(flows)
        for _ in range(_HALVINGS):
            there = np.add(flows, step, out=aligned(flows.shape))
            value = energy(there, left > 0)
            if value <= values[-1]:
                break
            step = step * np.float32(0.5)
        else:
            energy(flows, False)
            break
        flows = there
        values.append(value)
    return flows, values


def _resized(state: Field, before: Sequence[tuple[int, ...]], after: Sequence[tuple[int, ...]]) -> Field:
    """u1, u2, u3 on another level: each place x + u is mapped as the picture in which it lies."""
    if list(before) == list(after):
        return state
    a, b, a_next, b_next = (scale_between(old, new) for old, new in zip(before, after, strict=True))
    shape = (after[0][0], after[0][1])
    u1, u2, u3 = state[..., :2], state[..., 2:4], state[..., 4:]
    optical = resized_flow(u1, a, a_next, shape)
    stereo = resized_flow(u2, a, b, shape)
    loop = resized_flow(u1 + u2 + u3, a, b_next, shape)
    return np.concatenate([optical, stereo, loop - optical - stereo], axis=2)


def _resized_fundamental(
    fundamental: NDArray[np.float64], before: Sequence[Field], after: Sequence[Field]
) -> NDArray[np.float64]:
    """F_t and F_t+1 in the pixels of smaller pictures."""
    a, b = (scale_between(before[c].shape, after[c].shape) for c in (0, 1))
    return np.linalg.inv(b).T @ fundamental @ np.linalg.inv(a)


def _check(pictures: Sequence[Field], fundamental: NDArray[np.float64], flows: FlowLoop) -> None:
    if len(pictures) != 4 or any(np.ndim(picture) != 3 or np.shape(picture)[2] != 3 for picture in pictures):
        raise InputError("refinement needs four RGB pictures: A and B at t, A and B at t + 1")
    for picture in pictures:
        if not cv2.checkRange(np.asarray(picture, np.float32), True, minVal=-0.01, maxVal=1.01)[0]:
            raise InputError("refinement needs pictures with finite values in 0..1; scale them first")
    a, b, a_next, b_next = (picture.shape[:2] for picture in pictures)
    if a != a_next or b != b_next:
        raise InputError(
            f"the pictures of one camera must have one size, not {a} and {a_next}, {b} and {b_next}"
        )
    if flows.optical.shape[:2] != a:
        raise InputError(f"flows of {flows.optical.shape[:2]} pixels do not fit pictures of {a}")
    if fundamental.shape != (2, 3, 3) or not np.isfinite(fundamental).all():
        raise InputError("refinement needs two fundamental matrices of 3 x 3 finite numbers")
