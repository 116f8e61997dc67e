"""What light that changes within a step does to depth and motion: a lamp at 100 Hz, and drifting exposure.

The scenes of `benchmarks.one_time`, whose cameras see one moment here. Errors after all stages of a step.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.one_time import SCENES, cell, scene_in, score

# what differs; a clip of three frames drifts as fast as one of a second that doubles its exposure
LIGHTS = {
    "constant": {},
    "lamp": {"lamp_flicker": 0.3},
    "drift": {"exposure_drift": 2 ** (2 / 30)},
}


def main() -> None:
    """Print a row for each scene: of what moves, and of all that stands still, as far as both see it."""
    print(f"| scene | {' | '.join(LIGHTS)} |\n|---{'|---' * len(LIGHTS)}|")
    ratios = []
    for name in SCENES:
        rows = []
        for light, settings in LIGHTS.items():
            with tempfile.TemporaryDirectory() as folder:
                scene = scene_in(Path(folder) / light, name, 0.0, **settings)
                rows.append(score(scene))
        ratios.append([row / rows[0] for row in rows])
        print(f"| `{name}` | {' | '.join('; '.join(map(cell, row)) for row in rows)} |", flush=True)
    for light, mean in zip(LIGHTS, np.mean(ratios[3:], axis=0), strict=True):
        print(f"untouched, {light} over constant, moving and still: {np.round(mean[:, 1:], 2).tolist()}")


if __name__ == "__main__":
    main()
