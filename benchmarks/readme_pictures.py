"""The two pictures of the README, drawn from a result such as that of the demo.

python -m benchmarks.readme_pictures demo-out docs/images

`demo.jpg` has what both cameras saw and what was found; in `demo.webp` both videos play beside the points,
before which a camera orbits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

import wideflow
from wideflow.export.turntable import Turn, moments_of, turn_pictures
from wideflow.files import atomic_path

Picture = NDArray[np.uint8]
PANEL = (400, 225)
TURN = Turn(longest=520, fps=12.0, seconds=6.0, confidence=0.2)


def still_picture(result: wideflow.Result, t: int) -> Picture:
    """A, B and depth; below, flow to the other camera, flow to the next moment, and what can be trusted."""
    known = np.isfinite(result.depth(t))
    moved = result.optical_flow_a(t)
    trusted = np.where((result.confidence(t) > 0.5)[..., None], result.picture_a(t), 0)
    panels = [
        result.picture_a(t),
        result.picture_b(t),
        np.where(known[..., None], wideflow.depth_colours(result.depth(t)), 0),
        wideflow.flow_colours(result.stereo_flow(t)),
        wideflow.flow_colours(moved, max_magnitude=float(np.nanpercentile(np.abs(moved), 99.5))),
        trusted,
    ]
    small = [_resized(panel, PANEL) for panel in panels]
    return np.vstack([np.hstack(small[:3]), np.hstack(small[3:])])


def moving_picture(result: wideflow.Result) -> list[Picture]:
    """Both videos above each other, beside them the points as the camera orbits."""
    chosen = range(len(result))
    moments = np.rint(moments_of(len(result), TURN)).astype(int)
    frames = []
    for t, points in zip(moments, turn_pictures(result, chosen, TURN, lambda *_: None), strict=True):
        height, width = points.shape[:2]
        filmed = [
            _resized(picture(t), (width // 2, height // 2))
            for picture in (result.picture_a, result.picture_b)
        ]
        frames.append(np.hstack([np.vstack(filmed), points[: 2 * (height // 2)]]))
    return frames


def _resized(picture: NDArray[np.generic], size: tuple[int, int]) -> Picture:
    return np.asarray(cv2.resize(picture.astype(np.uint8), size, interpolation=cv2.INTER_AREA))


def main(source: Path, folder: Path) -> None:
    """Write both."""
    result = wideflow.Result(source)
    wideflow.write_image(folder / "demo.jpg", still_picture(result, 0))
    animation = cv2.Animation()
    animation.frames = [np.ascontiguousarray(frame[..., ::-1]) for frame in moving_picture(result)]
    animation.durations = np.full(len(animation.frames), round(1000 / TURN.fps))
    with atomic_path(folder / "demo.webp") as temporary:
        cv2.imwriteanimation(str(temporary), animation, [cv2.IMWRITE_WEBP_QUALITY, 45])
    for name in ("demo.jpg", "demo.webp"):
        print(f"{folder / name}: {(folder / name).stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
