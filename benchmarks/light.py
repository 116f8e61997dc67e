"""What light that changes within a step does to depth and motion: a lamp at 100 Hz, and drifting exposure.

The scenes of `benchmarks.one_time`, whose cameras see one moment here. Errors after all stages of a step.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.one_time import SCENES, cell, scene_in, score
from wideflow.config import Config, RefineConfig

# what differs; a clip of three frames drifts as fast as one of a second that doubles its exposure
LIGHTS = {
    "constant": {},
    "lamp": {"lamp_flicker": 0.3},
    "drift": {"exposure_drift": 2 ** (2 / 30)},
}
UNMINDED = Config(refine=RefineConfig(one_light=False))


def main() -> None:
    """Print a row for each scene: of what moves, and of all that stands still, as far as both see it."""
    columns = [*LIGHTS, "lamp, unminded", "drift, unminded"]
    print(f"| scene | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
    ratios = []
    for name in SCENES:
        with tempfile.TemporaryDirectory() as folder:
            scenes = [scene_in(Path(folder) / light, name, 0.0, **LIGHTS[light]) for light in LIGHTS]
            rows = [score(scene) for scene in scenes]
            rows += [score(scene, config=UNMINDED) for scene in scenes[1:]]
        ratios.append([row / rows[0] for row in rows])
        print(f"| `{name}` | {' | '.join('; '.join(map(cell, row)) for row in rows)} |", flush=True)
    for light, mean in zip(columns, np.mean(ratios[3:], axis=0), strict=True):
        print(f"untouched, {light} over constant, moving and still: {np.round(mean[:, 1:], 2).tolist()}")


if __name__ == "__main__":
    main()
