"""The particles of a direction: how they start on a level, and what the two directions tell each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.config import MatchConfig
from wideflow.geometry import pixel_grid
from wideflow.geometry.vectors import whole_vectors
from wideflow.matching.colour import ColourTransform
from wideflow.matching.cost import byte_weights
from wideflow.matching.level import Level, colour_bytes
from wideflow.matching.search import search_line

Flows = tuple[NDArray[np.float32], NDArray[np.float32]]
Particles = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(eq=False)
class Direction:
    """The particles of one direction on one level, which the passes change in place.

    Attributes
    ----------
    flow, costs
        As `pmbp.sweep` takes them.
    transform : ColourTransform
        Source colours to target colours.
    settled : (h, w) bool
        Pixels that search no more; see `settled`.
    """

    flow: NDArray[np.float32]
    costs: NDArray[np.float32]
    transform: ColourTransform
    settled: NDArray[np.bool_]
    _colours: tuple[ColourTransform, NDArray[np.uint8]] | None = None

    def colours(self, picture: NDArray[np.float32]) -> NDArray[np.uint8]:
        """(h, w, 4): those of the source's picture as the target's camera would have seen them."""
        if self._colours is None or self._colours[0] is not self.transform:
            self._colours = self.transform, colour_bytes(self.transform(picture))
        return self._colours[1]

    @property
    def best(self) -> NDArray[np.float32]:
        """Flow of the best particles, (h, w, 2)."""
        return self.flow[:, :, 0]


def start_direction(
    level: Level,
    i: int,
    coarser: NDArray[np.float32] | None,
    transform: ColourTransform,
    config: MatchConfig,
    every: int = 1,
) -> Direction:
    """First particles of a level: those of the coarser one, or a search.

    Along epipolar lines, ``every`` so many-th row and column may be enough: the pixels between take theirs.
    """
    height, width = level.pictures[i].shape[:2]
    K = config.particles
    costs = np.empty((height, width, K), np.float32)
    if coarser is not None:
        flow = enlarged(coarser, height, width) * np.float32(2)
    elif level.geometry is not None and config.search != "random":
        geometry = level.geometry if i == 0 else level.geometry.reversed()
        infinity = np.zeros((3, 3)) if geometry.infinity is None else geometry.infinity
        flow = np.empty((height, width, K, 2), np.float32)
        source, target = level.sources[i], level.descriptors[1 - i]
        colours = (level.colours[i], level.colours[1 - i])
        weights = byte_weights(1, config.descriptor_cap, 0, 0)
        epipole = geometry.epipoles[1]
        F = np.ascontiguousarray(geometry.F, np.float32)
        search_line(source, target, colours, F, infinity, epipole, flow, costs, weights, every)
        if every > 1:
            rows, columns = (np.arange(side) // every * every for side in (height, width))
            flow = flow.take(rows, axis=0).take(columns, axis=1)
    else:
        flow = _random_particles(level, i, config)
    return Direction(flow, costs, transform, np.zeros((height, width), np.bool_))


def enlarged(coarser: NDArray[np.float32], height: int, width: int) -> NDArray[np.float32]:
    """Each value of a coarser level at the pixels that it covers."""
    rows = np.minimum(np.arange(height) // 2, coarser.shape[0] - 1)
    columns = np.minimum(np.arange(width) // 2, coarser.shape[1] - 1)
    # not [:, columns]: that would lay out the pixels of a column side by side
    return coarser.take(rows, axis=0).take(columns, axis=1)


def shrunk_start(level: Level, start: Flows, halvings: int, config: MatchConfig) -> Particles:
    """Particles of the level above ``level`` from flows at full size: the flows, and others around them."""
    particles = []
    for i, flow in enumerate(start):
        height, width = (-(-side // 2) for side in level.pictures[i].shape[:2])
        size = 2 ** (halvings + 1)
        rows = np.minimum(np.arange(height) * size + size // 2, flow.shape[0] - 1)
        columns = np.minimum(np.arange(width) * size + size // 2, flow.shape[1] - 1)
        chance = np.random.default_rng((config.seed, i))
        around = chance.normal(0, config.step / 4, (height, width, config.particles, 2))
        around[:, :, 0] = 0
        here = flow.take(rows, axis=0).take(columns, axis=1)
        particles.append((here[:, :, None] / size + around).astype(np.float32))
    return particles[0], particles[1]


def _random_particles(level: Level, i: int, config: MatchConfig) -> NDArray[np.float32]:
    """Random targets anywhere (stereo), or no motion and random motions around it (optical flow)."""
    chance = np.random.default_rng((config.seed, i))
    height, width = level.pictures[i].shape[:2]
    shape = (height, width, config.particles, 2)
    if level.geometry is None:
        reach = config.search_range * max(height, width)
        flow = chance.uniform(-reach, reach, shape)
        flow[:, :, 0] = 0
        return flow.astype(np.float32)
    here = pixel_grid(width, height)[:, :, None]
    other = np.array(level.pictures[1 - i].shape[1::-1])
    return (chance.uniform(0, other - 1, shape) - here).astype(np.float32)


def exchange(directions: tuple[Direction, ...]) -> None:
    """Where a match of one direction ends, its inverse becomes the other direction's last particle."""
    offers = [inverse(d.flow, d.costs, directions[1 - i].flow.shape[:2]) for i, d in enumerate(directions)]
    for i, offer in enumerate(offers):
        last = whole_vectors(directions[1 - i].flow)[..., -1]
        np.copyto(last, whole_vectors(offer), where=~np.isnan(offer[..., 0]))


def inverse(
    flow: NDArray[np.float32], costs: NDArray[np.float32], shape: tuple[int, ...]
) -> NDArray[np.float32]:
    """Flow (h2, w2, 2) from each target pixel to the source pixel that matches it best; NaN for none."""
    offer, best = np.full((*shape, 2), np.nan, np.float32), np.full(shape, np.inf, np.float32)
    _invert(flow, costs, best, offer)
    return offer


@njit()
def _invert(flow, costs, best, offer):
    rows, columns = best.shape
    for y in range(flow.shape[0]):
        for x in range(flow.shape[1]):
            tx = int(np.floor(x + flow[y, x, 0, 0] + 0.5))
            ty = int(np.floor(y + flow[y, x, 0, 1] + 0.5))
            inside = 0 <= tx < columns and 0 <= ty < rows
            if inside and costs[y, x, 0] < best[ty, tx]:
                best[ty, tx] = costs[y, x, 0]
                offer[ty, tx, 0], offer[ty, tx, 1] = x - tx, y - ty
