"""How the surfaces of most scenes stand to two cameras: floors, walls, and what faces the cameras.

Cameras that people hold stand nearly upright beside each other. So their axes tell where down is, well
enough to lay a window along a floor: by how much they lean towards each other around the vertical.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.types import View

Floats = NDArray[np.float64]

_LEVEL = (
    0.15  # how much a view straight ahead is believed against what the cameras' axes tell of the vertical
)
_WALLS = 45.0, -45.0  # degrees by which walls are turned from facing the cameras


def downward(view1: View, view2: View) -> Floats:
    """(3,) unit vector of the world that likely points down.

    Cameras held level have both their horizontal axes and the line between them at right angles to it.
    """
    base = view2.centre - view1.centre
    ahead = _unit(view1.R[2] + view2.R[2])
    rows = np.stack([view1.R[0], view2.R[0], _unit(base), _LEVEL * ahead])
    down = np.asarray(np.linalg.eigh(rows.T @ rows)[1][:, 0], np.float64)
    return down if down @ (view1.R[1] + view2.R[1]) >= 0 else -down


def usual_orientations(view1: View, view2: View) -> Floats:
    """Planes of the usual orientations, as one sees them in the first picture.

    Returns
    -------
    (4, 3) float64
        For what faces the cameras, the floor, and two walls at 45 degrees: the line at which such planes
        vanish. A plane of that orientation has the inverse depth ``s (line @ pixel)``, s > 0, in front.
    """
    down = downward(view1, view2)
    ahead = _unit(view1.R[2] + view2.R[2])
    level = _unit(ahead - down * (ahead @ down))
    beside = np.cross(down, level)
    turns = np.deg2rad(_WALLS)
    normals = [ahead, down, *(np.cos(turn) * level + np.sin(turn) * beside for turn in turns)]
    return np.asarray(np.stack(normals) @ view1.R.T @ np.linalg.inv(view1.camera.K), np.float64)


def _unit(vector: Floats) -> Floats:
    """Of unit length; nothing stays nothing."""
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
