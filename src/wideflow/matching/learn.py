"""What the matches so far tell about the rest of a match: colours, candidates, slants, planes."""

from __future__ import annotations

import numpy as np

from wideflow.config import MatchConfig
from wideflow.descriptors.daisy import texture
from wideflow.geometry import forward_backward_error
from wideflow.geometry.planes import Planes, find_planes
from wideflow.matching.colour import fit_colour_transform, matched_colours
from wideflow.matching.level import Level
from wideflow.matching.particles import Direction, exchange
from wideflow.matching.slant import Slant, fit_slant

_AGREE = 2.0  # px of a level: directions that differ by less are taken for true
_SURE = 1.0  # px of a level: and to be matches that planes are fitted to
_PLAIN = 0.2  # texture at which a pixel tells half as much of a slanted surface


def learn(level: Level, directions: tuple[Direction, ...], config: MatchConfig) -> list[Slant] | None:
    """What the matches so far tell: colours, each other's candidates, slanted surfaces."""
    if config.colour_transform:
        _fit_colours(level, directions, config.colour_degree)
    if config.exchange:
        exchange(directions)
    return _fit_slants(level, directions) if config.slanted and level.geometry is not None else None


def _fit_colours(level: Level, directions: tuple[Direction, ...], degree: int) -> None:
    for i, direction in enumerate(directions):
        agreed = forward_backward_error(direction.best, directions[1 - i].best) < _AGREE
        own, other = matched_colours(level.pictures[i], level.pictures[1 - i], direction.best, agreed)
        direction.transform = fit_colour_transform(own, other, degree)


def _fit_slants(level: Level, directions: tuple[Direction, ...]) -> list[Slant]:
    """Locally affine flows of both directions, from pixels on which they agree and that have texture."""
    slants = []
    for i, direction in enumerate(directions):
        flow = np.ascontiguousarray(direction.best)
        agreed = forward_backward_error(flow, directions[1 - i].best) < _AGREE
        seen = texture(level.descriptors[i])
        slants.append(fit_slant(level.pictures[i], flow, agreed * seen / (seen + _PLAIN)))
    return slants


def level_planes(level: Level, directions: tuple[Direction, ...], config: MatchConfig) -> Planes | None:
    """The planes that matches lie on, from pixels on which both directions agree and that have texture."""
    assert level.geometry is not None
    flows = [np.ascontiguousarray(direction.best) for direction in directions]
    sure = [
        (forward_backward_error(flows[i], flows[1 - i]) < _SURE) & (texture(level.descriptors[i]) > _PLAIN)
        for i in range(2)
    ]
    return find_planes(level.geometry, level.pictures, (flows[0], flows[1]), (sure[0], sure[1]), config.seed)
