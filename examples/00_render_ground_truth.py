"""Render what two phones see of one moving scene, and put its exact ground truth into one picture.

    python examples/00_render_ground_truth.py [FOLDER] [WIDTHxHEIGHT]

Needs the extra "synth". The picture, ground_truth.jpg, shows what A and B saw and the depth in A; below,
where every pixel of A lies in B (flow colours), how it moves in A, and A with all that B cannot see darkened.
"""

import sys
from pathlib import Path

import cv2
import numpy as np

import wideflow

PANEL = (320, 180)


def ground_truth_picture(folder: Path, size: tuple[int, int]) -> Path:
    """Render a scene into ``folder``; returns the path of the picture that explains it."""
    wideflow.render(folder, wideflow.SynthConfig(angle=20, frames=2, size=size, seed=1))

    scene = wideflow.read_handheld(folder)
    truth, flows = scene.truth(camera=0, time=0), scene.flows(camera=0, time=0)
    seen_by_b = scene.image(0, 0) * np.where(truth.stereo_visible, 1, 0.15)[..., None]
    panels = [
        _shown(scene.image(0, 0)),
        _shown(scene.image(1, 0)),
        wideflow.depth_colours(truth.depth),
        wideflow.flow_colours(flows.stereo),
        wideflow.flow_colours(
            flows.optical, max_magnitude=float(np.nanpercentile(np.abs(flows.optical), 99.5))
        ),
        _shown(seen_by_b),
    ]
    small = [cv2.resize(panel, PANEL, interpolation=cv2.INTER_AREA) for panel in panels]
    picture = folder / "ground_truth.jpg"
    wideflow.write_image(picture, np.vstack([np.hstack(small[:3]), np.hstack(small[3:])]))
    return picture


def _shown(image: np.ndarray) -> np.ndarray:
    return np.rint(255 * image).astype(np.uint8)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "ground-truth")
    width, height = (int(side) for side in (sys.argv[2] if len(sys.argv) > 2 else "640x360").split("x"))
    print(f"look at {ground_truth_picture(folder, (width, height))}")
