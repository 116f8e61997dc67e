"""First matches of known cameras, from planes: a floor is found as a floor, however slanted it is seen.

A descriptor of an upright window finds nothing on a surface that one camera sees twice as wide as the
other. A plane of about the right orientation does, and says how the surface is sheared, so that descriptors
can be laid along it from the beginning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import over_rows
from wideflow.config import MatchConfig
from wideflow.geometry import PairGeometry, forward_backward_error
from wideflow.geometry.picture import grey_bytes
from wideflow.matching.level import Level
from wideflow.matching.particles import Direction
from wideflow.matching.plane_labels import plane_labels
from wideflow.matching.plane_volume import plane_volumes
from wideflow.matching.semiglobal import likeliest
from wideflow.matching.slant import Slant

_AGREE = 0.75  # px of the level: matches that tell how deep the scene is


def is_swept(geometry: PairGeometry | None, config: MatchConfig) -> bool:
    """Whether the first matches come from planes: of known cameras only."""
    return config.search == "planes" and geometry is not None and geometry.orientations is not None


def sweep_planes(level: Level, directions: tuple[Direction, ...], config: MatchConfig) -> bool:
    """Replace the particles of both directions by the planes that the pictures show, and lay the descriptors.

    Parameters
    ----------
    level : Level
        Whose sources are described anew.
    directions : pair of Direction
        With the matches of a search, which tell how deep the scene is; changed in place.
    config : MatchConfig
        Of the descriptors.

    Returns
    -------
    bool
        False where too few matches tell how deep the scene is; then nothing is changed.
    """
    assert level.geometry is not None
    flows = [np.ascontiguousarray(direction.best) for direction in directions]
    y, x = np.nonzero(forward_backward_error(flows[0], flows[1]) < _AGREE)
    pixels = np.stack([x, y], axis=1).astype(np.float64)
    labels = plane_labels(level.geometry, level.pictures[0].shape, pixels, flows[0][y, x])
    if labels is None:
        return False
    volumes = plane_volumes(level.pictures, labels.homographies)
    for i, direction in enumerate(directions):
        taken = likeliest(volumes[i], labels.joined, grey_bytes(level.pictures[i]))
        maps = labels.homographies if i == 0 else np.linalg.inv(labels.homographies)
        slant = _slant(maps, taken)
        direction.flow[:] = slant.flow[:, :, None]
        level.lay(i, slant, config)
    return True


def _slant(homographies: NDArray[np.floating[Any]], taken: NDArray[np.int32]) -> Slant:
    """Flow and slope of the plane that each pixel lies on."""
    flow, slope = np.empty((*taken.shape, 2), np.float32), np.empty((*taken.shape, 2, 2), np.float32)
    _differentiate(len(taken), np.ascontiguousarray(homographies, np.float64), taken, flow, slope)
    return Slant(flow, slope)


@over_rows()
def _differentiate(first, end, homographies, taken, flow, slope):
    columns = taken.shape[1]
    for y in range(first, end):
        for x in range(columns):
            H = homographies[taken[y, x]]
            w = H[2, 0] * x + H[2, 1] * y + H[2, 2]
            if w == 0:
                flow[y, x], slope[y, x] = 0, 0
                continue
            for k in range(2):
                there = (H[k, 0] * x + H[k, 1] * y + H[k, 2]) / w
                flow[y, x, k] = there - (x if k == 0 else y)
                slope[y, x, k, 0] = (H[k, 0] - there * H[2, 0]) / w - (1 if k == 0 else 0)
                slope[y, x, k, 1] = (H[k, 1] - there * H[2, 1]) / w - (1 if k == 1 else 0)
