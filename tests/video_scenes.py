"""A clip whose truth is known in closed form: a wall before a moving camera, a box that moves."""

import json
from pathlib import Path

import numpy as np

from wideflow.geometry import ideal_camera, pixel_grid, unproject
from wideflow.handheld import write_truth
from wideflow.types import Camera, Truth, View

WIDTH, HEIGHT = 48, 32
K = np.array([[40.0, 0, 23.5], [0, 40.0, 15.5], [0, 0, 1]])
WALL, BOX = 4.0, 2.0  # depth at frame 0
STEP = np.array([0.3, 0.0, 0.1])  # of camera A from frame to frame
MOTION = np.array([0.05, 0.0, 0.0])  # of the box
SKY, BOX_PART, HIDDEN = np.s_[:4], np.s_[20:28, 10:20], np.s_[:, 36:]


def view(frame: int, camera: int = 0, k1: float = 0.0) -> View:
    centre = STEP * frame + np.array([camera * 0.8, 0, 0])
    lens = Camera("ab"[camera], WIDTH, HEIGHT, K, np.array([k1, 0, 0, 0]))
    return View(lens, np.column_stack([np.eye(3), -centre]))


def truth(frame: int) -> Truth:
    """A slanted wall; the sky above, a box in fixed pixels that moves, and a strip that B does not see."""
    rays = unproject(ideal_camera(view(frame).camera), pixel_grid(WIDTH, HEIGHT))
    # the plane z = WALL + 0.1 x of the world, in the camera at STEP * frame
    x, _, z = STEP * frame
    depth = (WALL + 0.1 * x - z) / (1 - 0.1 * rays[..., 0])
    motion = np.zeros((HEIGHT, WIDTH, 3))
    depth[BOX_PART], motion[BOX_PART] = BOX, MOTION
    depth[SKY], motion[SKY] = np.nan, np.nan
    seen = np.isfinite(depth)
    seen[HIDDEN] = False
    return Truth(
        depth=depth.astype(np.float32),
        motion=motion.astype(np.float32),
        stereo_visible=seen,
        optical_visible=np.isfinite(depth),
        loop_visible=seen,
        object=np.zeros((HEIGHT, WIDTH), np.int16),
    )


def write_clip(folder: Path, frames: tuple[int, ...] = (0, 1, 4), count: int = 6, k1: float = 0.0) -> Path:
    """The clip with truth of some frames; its videos are empty files."""
    folder.mkdir(parents=True)
    for name in ("a.mp4", "b.mp4"):
        (folder / name).touch()
    poses = [
        [{"K": K.tolist(), "R": v.R.tolist(), "t": v.t.tolist()} for v in (view(t, c) for t in range(count))]
        for c in (0, 1)
    ]
    fields = {"offset_seconds": 0.05, "fps": 30, "k1": k1, "size": [WIDTH, HEIGHT], "cameras": poses}
    (folder / "truth.json").write_text(json.dumps(fields))
    for frame in frames:
        write_truth(folder / f"gt0_{frame:04d}.npz", truth(frame))
    return folder


def write_found(folder: Path, frame: int, **changed: np.ndarray) -> None:
    """What a perfect method would write of a frame, but for what is ``changed``."""
    folder.mkdir(parents=True, exist_ok=True)
    exact = truth(frame)
    arrays = {"depth": exact.depth, "motion": exact.motion @ view(frame).R.T}
    np.savez_compressed(folder / f"found0_{frame:04d}.npz", **(arrays | changed))
