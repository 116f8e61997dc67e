"""The four-frame energy (paper, equation 11 and appendix) of one level: its value, and one step down."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import RefineConfig
from wideflow.refine.data_terms import linearise
from wideflow.refine.lanes import Laned, empty_lanes, fill_margins, from_lanes, to_lanes
from wideflow.refine.sampling import feature_picture
from wideflow.refine.slopes import SLOPES, first_slopes, relax_slopes, slope_energy
from wideflow.refine.smoothness import STEREO, conductance, smoothness
from wideflow.refine.solver import solve_step
from wideflow.refine.system import SYSTEM, UNKNOWNS

_GUIDE_BLUR = 0.7  # px; the noise of a picture is no edge
_SLOPE_SWEEPS = 5
Field = NDArray[np.float32]


class Energy:
    """The energy of the flows u1, u2, u3 in the layout of `lanes`, with buffers that its steps share.

    Parameters
    ----------
    pictures : four of (h, w, 3) float32
        A at t, B at t, A at t + 1, B at t + 1 in 0..1, all in one camera's colours.
    fundamental : (2, 3, 3) float64
        F of t and of t + 1, B' F A = 0.
    visible : (H, W, 3) bool
        The pixel is seen in A at t + 1, B at t, B at t + 1.
    flows : (H, W, 6) float32
        The first flows; a pixel that they lead out of a picture is not compared there.
    config : RefineConfig
    late : pair of float
        Shares of the time step by which B at t and A at t + 1 are moved in time before they meet.
    """

    def __init__(
        self,
        pictures: tuple[Field, ...],
        fundamental: NDArray[np.float64],
        visible: NDArray[np.bool_],
        flows: Field,
        config: RefineConfig,
        late: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        c = config
        self.config = config
        self._features = tuple(feature_picture(picture, c.blur) for picture in pictures)
        self._fundamental = np.ascontiguousarray(fundamental, np.float64)
        self._visible = to_lanes(visible & _inside(flows, pictures))
        guide = cv2.GaussianBlur(pictures[0], (0, 0), _GUIDE_BLUR)
        self._conductance = to_lanes(conductance(guide, c.contrast))
        self._weights = np.array(
            [c.weight_colour, c.weight_gradient, c.weight_colour_stereo, c.weight_gradient_stereo,
             c.weight_epipolar, c.epsilon, *late],
            np.float32,
        )  # fmt: skip
        self._betas = np.array(c.smoothness, np.float32)
        rows, self._width = flows.shape[:2]
        self._system = empty_lanes(rows, self._width, SYSTEM)
        self._edges = empty_lanes(rows, self._width, UNKNOWNS)
        self._bonds = empty_lanes(rows, self._width, 2)
        self._penalty = empty_lanes(rows, self._width, 1)
        self._smooth = self._bent = 0.0
        if c.slope > 0:
            self._slopes = to_lanes(first_slopes(flows[..., 2 * STEREO : 2 * STEREO + 2]))
            self._bent = self._slope_energy()
        else:
            self._slopes = empty_lanes(rows, self._width, SLOPES)

    @property
    def penalty(self) -> Field:
        """(H, W): mean of the data terms that are on at a pixel, of the flows last evaluated; NaN if none."""
        return from_lanes(self._penalty, self._width)[..., 0]

    def __call__(self, flows: Laned, goes_on: bool = True) -> float:
        """Energy of the flows, with their margins; the next `step` starts from them, if it ``goes_on``."""
        data = linearise(
            self._features,
            self._visible,
            self._fundamental,
            self._weights,
            flows,
            self._system,
            self._penalty,
            goes_on,
        )
        self._smooth = self._smoothness(flows)
        return data + self._smooth + self._bent

    def step(self, flows: Laned) -> Laned:
        """Increment towards lower energy, from the flows last evaluated."""
        c = self.config
        return solve_step(self._system, self._edges, flows, self._slopes, c.sweeps, c.relaxation)

    def bend(self, flows: Laned) -> float:
        """Lower the energy of the flows last evaluated over the slopes; by how much it fell, at least 0."""
        if self.config.slope == 0:
            return 0.0
        before, kept = self._smooth + self._bent, self._slopes.copy()
        relax_slopes(flows, self._edges, self._bonds, self._slopes, _SLOPE_SWEEPS)
        fill_margins(self._slopes)
        self._bent, self._smooth = self._slope_energy(), self._smoothness(flows)
        fall = before - self._smooth - self._bent
        if fall < 0:  # rounding, once nothing is left to gain
            self._slopes, fall = kept, 0.0
            self._bent, self._smooth = self._slope_energy(), self._smoothness(flows)
        return fall

    def _smoothness(self, flows: Laned) -> float:
        return smoothness(
            flows,
            self._slopes,
            self._conductance,
            self._betas,
            self.config.epsilon,
            self._width,
            self._edges,
        )

    def _slope_energy(self) -> float:
        weight = self._betas[STEREO] * self.config.slope
        energy = slope_energy(
            self._slopes, self._conductance, weight, self.config.epsilon, self._width, self._bonds
        )
        fill_margins(self._bonds)
        return energy


def _inside(flows: Field, pictures: tuple[Field, ...]) -> NDArray[np.bool_]:
    """(H, W, 3): x + u1 lies in A at t + 1, x + u2 in B at t, x + u1 + u2 + u3 in B at t + 1."""
    x, y = (np.arange(size, dtype=np.float32) for size in flows.shape[1::-1])
    inside = np.empty((*flows.shape[:2], 3), np.bool_)
    u, v = flows[..., ::2], flows[..., 1::2]
    ways = (
        (u[..., 0], v[..., 0]),
        (u[..., 1], v[..., 1]),
        (u[..., 0] + u[..., 1] + u[..., 2], v[..., 0] + v[..., 1] + v[..., 2]),
    )
    for k, (way, picture) in enumerate(zip(ways, (pictures[2], pictures[1], pictures[3]), strict=True)):
        px, py = x + way[0], y[:, None] + way[1]
        rows, columns = picture.shape[:2]
        inside[..., k] = (px >= 0) & (py >= 0) & (px <= columns - 1) & (py <= rows - 1)
    return inside
