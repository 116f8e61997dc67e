"""The whole job from Python: two videos in, then depth, points and motion on demand.

    python examples/03_two_videos.py [A.mp4 B.mp4] [OUT]

Without videos it takes the two clips that ship with the package. Started again, it goes on where it was.
"""

import sys
from pathlib import Path

import numpy as np

import wideflow


def depth_and_motion(a: Path, b: Path, out: Path, frames: slice, size: int) -> wideflow.Result:
    """Run, or go on with a run."""
    config = wideflow.load_config(preset="fast")
    return wideflow.run(a, b, out, config, frames=frames, size=size)


def fastest_point(result: wideflow.Result, t: int) -> tuple[np.ndarray, float]:
    """Where the fastest of the trusted points is, and how far it goes until the next moment."""
    sure = result.confidence(t) > 0.5
    points, lengths = result.points(t)[sure], np.linalg.norm(result.motion(t)[sure], axis=1)
    fastest = np.nanargmax(lengths)
    return points[fastest], float(lengths[fastest])


if __name__ == "__main__":
    videos = [Path(word) for word in sys.argv[1:3]] if len(sys.argv) > 2 else wideflow.demo_clips()
    out = Path(sys.argv[3] if len(sys.argv) > 3 else "result")
    result = depth_and_motion(*videos, out, slice(16, 20, 1), 480)
    for t in range(len(result) - 1):
        place, length = fastest_point(result, t)
        print(f"moment {t}: {length:.3f} units from {np.round(place, 2)}")
    print(f"open {out / 'report.html'}")
