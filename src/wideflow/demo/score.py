"""How far a run on the clips is from their truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.files.rig import read_rig, rig_from_bytes
from wideflow.geometry import ideal_camera, pixel_grid, project, relative_pose, unproject
from wideflow.storage.result import Result
from wideflow.types import Camera, Rig

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DemoScore:
    """Errors of a run on the clips.

    Attributes
    ----------
    sync_milliseconds : float
        Found offset less the true one.
    rotation_degrees : float
        Median error of the rotation between the cameras.
    focal_percent : (float, float)
        Of the focal lengths of A and B.
    depth_percent : float
        Median error of the depth of pixels that both cameras see; the scale of the world is fitted, as
        pictures alone cannot tell it.
    depth_off_by_1_percent : float
        Percent of these pixels whose depth is off by more than 1 %.
    motion_median : float
        Median error of their 3D motion, in metres of the scene.
    trusted_percent : float
        Percent of all pixels with a confidence above 0.5.
    trusted_off_by_1_percent : float
        Percent of the trusted pixels whose depth is off by more than 1 %.
    """

    sync_milliseconds: float
    rotation_degrees: float
    focal_percent: tuple[float, float]
    depth_percent: float
    depth_off_by_1_percent: float
    motion_median: float
    trusted_percent: float
    trusted_off_by_1_percent: float


def score_demo(result: Result, clips: Path) -> DemoScore:
    """Compare a result with the truth beside the clips that it was made from."""
    truth = dict(np.load(clips / "truth.npz"))
    true_rig = read_rig(clips / "rig.json")
    filmed = rig_from_bytes(result.place.read("filmed.json"), f"{result.place}/filmed.json")
    moments = [(k, t) for k, t in enumerate(_moments(result, truth["frames"])) if t is not None]
    depth, motion, scale = [], [], []
    for k, t in moments:
        where = _same_pixels(true_rig.cameras[0], filmed.cameras[0], result, truth["depth"].shape[1:])
        found, moved, sure = _read(result, t, where)
        view, true_view = result.rig.frames[t].views[0], true_rig.frame(int(truth["frames"][k])).views[0]
        seen = truth["visible"][k] & np.isfinite(found) & np.isfinite(truth["depth"][k])
        ratio = found / truth["depth"][k].astype(np.float64)
        scale.append(float(np.median(ratio[seen])))
        error = np.abs(ratio / scale[-1] - 1)
        depth.append((error[seen], error[sure & np.isfinite(error)], sure))
        there = moved @ view.R.T / scale[-1]
        true = truth["motion"][k].astype(np.float64) @ true_view.R.T
        motion.append(np.linalg.norm(there - true, axis=-1)[seen])
    errors, sure_errors = (np.concatenate([each[i] for each in depth]) for i in range(2))
    moved_errors = np.concatenate(motion)
    focal = [
        100 * (found.K[0, 0] / true.K[0, 0] - 1)
        for found, true in zip(filmed.cameras, true_rig.cameras, strict=True)
    ]
    return DemoScore(
        sync_milliseconds=1000 * (result.summary["sync"]["offset_seconds"] - float(truth["offset"])),
        rotation_degrees=_rotation_error(filmed, true_rig),
        focal_percent=(focal[0], focal[1]),
        depth_percent=100 * float(np.median(errors)),
        depth_off_by_1_percent=100 * float(np.mean(errors > 0.01)),
        motion_median=float(np.median(moved_errors[np.isfinite(moved_errors)])),
        trusted_percent=100 * float(np.mean([each[2].mean() for each in depth])),
        trusted_off_by_1_percent=100 * float(np.mean(sure_errors > 0.01)),
    )


def _moments(result: Result, frames: NDArray[np.int64]) -> list[int | None]:
    """The moments of a result that begin with the given frames of A."""
    numbers = {frame.index: t for t, frame in enumerate(result.rig.frames[:-1])}
    return [numbers.get(int(frame)) for frame in frames]


def _same_pixels(true: Camera, filmed: Camera, result: Result, shape: tuple[int, ...]) -> Floats:
    """Where the pixels of the truth, those of the true ideal camera, lie in the result's pictures."""
    step = round(true.width / shape[1])
    grid = pixel_grid(true.width, true.height)[::step, ::step]
    on_film = project(true, unproject(ideal_camera(true), grid))
    return project(result.rig.cameras[0], unproject(filmed, on_film))


def _read(result: Result, t: int, where: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Depth, motion and trust at the nearest pixels; NaN outside the picture."""
    width, height = result.size_a
    with np.errstate(invalid="ignore"):
        x, y = (np.rint(where[..., i]) for i in range(2))
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    row, column = np.where(inside, y, 0).astype(int), np.where(inside, x, 0).astype(int)
    depth = np.where(inside, result.depth(t)[row, column], np.nan).astype(np.float64)
    motion = result.motion(t)[row, column].astype(np.float64)
    return depth, motion, inside & (result.confidence(t)[row, column] > 0.5)


def _rotation_error(found: Rig, true: Rig) -> float:
    """Median over the frames, degrees."""
    errors = []
    for frame in found.frames:
        R = relative_pose(*frame.views)[:, :3] @ relative_pose(*true.frame(frame.index).views)[:, :3].T
        errors.append(np.degrees(np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))))
    return float(np.median(errors))
