"""Depth and 3D motion of every pixel from four pictures with known cameras.

    python examples/02_scene_flow_of_four_pictures.py [OUT.ply]

Renders the four pictures (two cameras, two moments) with `wideflow synth`, so that the truth is known, and
writes a coloured point cloud with the motion of every point.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import wideflow


def moving_points(out: Path, size: tuple[int, int] = (480, 270)) -> float:
    """Write the points that are trusted; the median error of their depth, as a share of it."""
    with tempfile.TemporaryDirectory() as folder:
        wideflow.render(folder, wideflow.SynthConfig(angle=12, size=size, seed=3))
        scene = wideflow.read_handheld(folder)
        pictures = [scene.image(camera, time) for time in (0, 1) for camera in (0, 1)]
        found = wideflow.scene_flow(*pictures, scene.rig)
        truth = scene.truth(camera=0, time=0)
    sure = found.confidence > 0.5
    points = wideflow.points_from_depth(scene.rig.frame(0).views[0], found.depth)
    colours = np.rint(255 * pictures[0]).astype(np.uint8)
    wideflow.write_ply(out, wideflow.PointCloud(points[sure], colours[sure], found.motion[sure]))
    return float(np.nanmedian(np.abs(found.depth / truth.depth - 1)[sure]))


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "points.ply")
    error = moving_points(out)
    print(f"{out}: the depth of these points is off by {error:.2%} at the median")
