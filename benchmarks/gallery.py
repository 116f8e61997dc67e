"""The pictures of docs/gallery.md, from real runs of the examples and from a result such as that of the demo.

python -m benchmarks.gallery demo-out docs/images
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

import wideflow
from wideflow.export.depth_cue import cue_depth
from wideflow.export.splat import draw_points
from wideflow.export.turntable import Turn, orbit_view, turn_pictures
from wideflow.files import read_ply

Picture = NDArray[np.uint8]
EXAMPLES = Path(__file__).parents[1] / "examples"
SIZE = (640, 360)
QUALITY = 85
PHASES = (0.12, 0.5, 0.85)  # of the orbit, for three pictures of it


def example(name: str) -> dict[str, Any]:
    """The functions of an example."""
    return runpy.run_path(str(next(EXAMPLES.glob(f"{name}*.py"))))


def cloud_picture(cloud: wideflow.PointCloud, view: wideflow.View, width: float) -> Picture:
    """Points that are as wide as pixels of this width (in shares of the depth) were, as a view sees them."""
    # every second row is empty: no point has neighbours that it could be drawn up to
    points = np.full((2 * len(cloud.xyz), 1, 3), np.nan, np.float32)
    colours = np.zeros((2 * len(cloud.xyz), 1, 3), np.uint8)
    points[::2, 0], colours[::2, 0] = cloud.xyz, cloud.rgb
    depth = np.linalg.norm(points - view.centre.astype(np.float32), axis=2)
    grey = np.full((view.camera.height, view.camera.width, 3), 30, np.uint8)
    shown = np.isfinite(depth)
    picture, seen = draw_points(points, colours, shown, (depth * width).astype(np.float32), view, grey)
    middle, far = np.nanpercentile(depth, (50, 98))
    return cue_depth(picture, seen, grey, 3, float(middle), float(far))


def beside(view: wideflow.View, cloud: wideflow.PointCloud, phase: float) -> wideflow.View:
    """The camera on its orbit around the middle of a cloud, in a picture of the gallery's size."""
    depth = float(np.median((cloud.xyz - view.centre) @ view.R[2]))
    scale = SIZE[0] / view.camera.width
    K = np.diag([scale, scale, 1.0]) @ view.camera.K
    camera = wideflow.Camera("gallery", *SIZE, K)
    return orbit_view(camera, view.centre + depth * view.R[2], np.array(view.R), depth, phase)


def points_of_four_pictures(folder: Path) -> Picture:
    """Example 02: its points from two sides, and where they go."""
    error = example("02")["moving_points"](folder / "points.ply")
    print(f"02: depth off by {error:.2%} at the median")
    cloud = read_ply(folder / "points.ply")
    wideflow.render(folder / "scene", wideflow.SynthConfig(angle=12, size=(480, 270), seed=3, frames=1))
    view = wideflow.read_handheld(folder / "scene").rig.frame(0).views[0]
    width = 1.5 / view.camera.K[0, 0]
    views = [beside(view, cloud, phase) for phase in (0.25, 0.75)]
    pictures = [cloud_picture(cloud, side, width) for side in views]
    assert cloud.velocity is not None
    length = np.linalg.norm(np.nan_to_num(cloud.velocity), axis=1)
    share = np.clip(255 * length / np.percentile(length, 98), 0, 255).astype(np.uint8)
    heat = cv2.applyColorMap(share[:, None], cv2.COLORMAP_INFERNO).reshape(-1, 3)
    speed = wideflow.PointCloud(cloud.xyz, np.ascontiguousarray(heat[:, ::-1]))
    return np.hstack([*pictures, cloud_picture(speed, views[0], width)])


def still_and_moving(result: wideflow.Result, folder: Path) -> Picture:
    """`export --to fused`: the background of all moments, what moves at the first, and both."""
    wideflow.export_result(result, "fused", folder / "fused")
    still, moving = (read_ply(folder / "fused" / name) for name in ("background.ply", "moving.000000.ply"))
    both = wideflow.PointCloud(
        np.concatenate([still.xyz, moving.xyz]), np.concatenate([still.rgb, moving.rgb])
    )
    view = beside(result.frame(0).views[0], still, 0.2)
    return np.hstack(
        [cloud_picture(cloud, view, 1.5 / result.rig.cameras[0].K[0, 0]) for cloud in (still, moving, both)]
    )


def orbit(result: wideflow.Result) -> Picture:
    """Three pictures of `export --to mp4`."""
    turn = Turn(longest=SIZE[0], fps=5.0, confidence=0.2)
    pictures = list(turn_pictures(result, range(len(result)), turn, lambda *_: None))
    return np.hstack([pictures[round(phase * len(pictures))] for phase in PHASES])


def main(source: Path, out: Path) -> None:
    """Write all of them."""
    result = wideflow.Result(source)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = example("00")["ground_truth_picture"](folder / "truth", SIZE)
        write_picture(out / "gallery_truth.jpg", _read(truth))
        first, second = (folder / "truth" / f"cam{camera}_0000.png" for camera in range(2))
        example("01")["match_picture"](first, second, folder / "match.png")
        write_picture(out / "gallery_match.jpg", _read(folder / "match.png"))
        write_picture(out / "gallery_points.jpg", points_of_four_pictures(folder))
        write_picture(out / "gallery_fused.jpg", still_and_moving(result, folder))
        write_picture(out / "turn.jpg", orbit(result))


def _read(path: Path) -> Picture:
    return np.rint(255 * wideflow.read_image(path)).astype(np.uint8)


def write_picture(path: Path, picture: Picture, quality: int = QUALITY) -> None:
    """Write a picture as JPEG, and say how large it became."""
    _, encoded = cv2.imencode(
        ".jpg", np.ascontiguousarray(picture[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, quality]
    )
    path.write_bytes(encoded.tobytes())
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
