"""The four-frame energy (paper, equation 11 and appendix) of one level: its value, and one step down."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.config import RefineConfig
from wideflow.refine.data_terms import linearise
from wideflow.refine.sampling import feature_picture
from wideflow.refine.slopes import SLOPES, first_slopes, relax_slopes, slope_energy
from wideflow.refine.smoothness import STEREO, conductance, smoothness
from wideflow.refine.solver import solve_step
from wideflow.refine.system import SYSTEM

_GUIDE_BLUR = 0.7  # px; the noise of a picture is no edge
_SLOPE_SWEEPS = 5
Field = NDArray[np.float32]


class Energy:
    """The energy of the flows u1, u2, u3 as an (H, W, 6) array, with buffers that its steps share.

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
        self._visible = (visible & _inside(flows, pictures)).astype(np.uint8)
        guide = cv2.GaussianBlur(pictures[0], (0, 0), _GUIDE_BLUR)
        self._conductance = conductance(guide, c.contrast)
        self._weights = np.array(
            [c.weight_colour, c.weight_gradient, c.weight_colour_stereo, c.weight_gradient_stereo,
             c.weight_epipolar, c.epsilon, *late],
            np.float32,
        )  # fmt: skip
        self._betas = np.array(c.smoothness, np.float32)
        shape = flows.shape[:2]
        self._system = np.empty((*shape, SYSTEM), np.float32)
        self._edges = np.empty_like(flows)
        self._bonds = np.empty((*shape, 2), np.float32)
        self._slopes = np.zeros((*shape, SLOPES), np.float32)
        self.penalty = np.empty(shape, np.float32)
        self._bent = 0.0
        if c.slope > 0:
            self._slopes = first_slopes(flows[..., 2 * STEREO : 2 * STEREO + 2])
            self._bent = self._slope_energy()

    def __call__(self, flows: Field) -> float:
        """Energy of the flows; the next `step` starts from them."""
        data = linearise(
            self._features, self._visible, self._fundamental, self._weights, flows, self._system, self.penalty
        )
        return data + self._smoothness(flows) + self._bent

    def step(self, flows: Field) -> Field:
        """Increment (H, W, 6) towards lower energy, from the flows last evaluated."""
        c = self.config
        return solve_step(self._system, self._edges, flows, self._slopes, c.sweeps, c.relaxation)

    def bend(self, flows: Field) -> float:
        """Lower the energy over the slopes of the stereo flow; by how much it fell, at least 0."""
        if self.config.slope == 0:
            return 0.0
        before = self._smoothness(flows) + self._bent
        kept = self._slopes.copy()
        stereo = np.ascontiguousarray(flows[..., 2 * STEREO : 2 * STEREO + 2])
        edges = np.ascontiguousarray(self._edges[..., STEREO::3])
        relax_slopes(stereo, edges, self._bonds, self._slopes, _SLOPE_SWEEPS)
        self._bent = self._slope_energy()
        fall = before - self._smoothness(flows) - self._bent
        if fall < 0:  # rounding, once nothing is left to gain
            self._slopes, fall = kept, 0.0
            self._bent = self._slope_energy()
            self._smoothness(flows)
        return fall

    def _smoothness(self, flows: Field) -> float:
        return smoothness(
            flows, self._slopes, self._conductance, self._betas, self.config.epsilon, self._edges
        )

    def _slope_energy(self) -> float:
        weight = self._betas[STEREO] * self.config.slope
        return slope_energy(self._slopes, self._conductance, weight, self.config.epsilon, self._bonds)


def _inside(flows: Field, pictures: tuple[Field, ...]) -> NDArray[np.bool_]:
    """(H, W, 3): x + u1 lies in A at t + 1, x + u2 in B at t, x + u1 + u2 + u3 in B at t + 1."""
    height, width = flows.shape[:2]
    y, x = np.mgrid[:height, :width]
    u1, u2 = flows[..., :2], flows[..., 2:4]
    inside = []
    for flow, picture in ((u1, pictures[2]), (u2, pictures[1]), (u1 + u2 + flows[..., 4:], pictures[3])):
        px, py = x + flow[..., 0], y + flow[..., 1]
        rows, columns = picture.shape[:2]
        inside.append((px >= 0) & (py >= 0) & (px <= columns - 1) & (py <= rows - 1))
    return np.stack(inside, axis=-1)
