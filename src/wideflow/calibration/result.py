"""From COLMAP's model to the rig and its figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.lens import camera_from_parameters
from wideflow.calibration.problem import Model
from wideflow.calibration.register import Placed
from wideflow.calibration.report import CalibrationReport, motion_of_rig
from wideflow.geometry import project
from wideflow.types import Camera, Rig, RigFrame, View
from wideflow.video.read import Video

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def assemble_rig(
    model: Model, poses: Ints, videos: tuple[Video, Video], frames: tuple[Ints, Ints]
) -> Rig | None:
    """The rig of the pairs of which both poses are known, None if there is none.

    Parameters
    ----------
    model : Model
        Of all frames.
    poses : (2, n) int64
        Picture of the model for both frames of every pair, -1 for none.
    videos : (Video, Video)
        The clips.
    frames : ((n,), (n,)) int64
        Frame numbers of the pairs.
    """
    cameras = _cameras(model, (videos[0].size, videos[1].size))
    rig_frames = []
    for pair in np.flatnonzero((poses >= 0).all(axis=0)).tolist():
        views = [View(cameras[c], _proper(model.poses[poses[c, pair]])) for c in (0, 1)]
        times = [float(videos[c].times[frames[c][pair]]) for c in (0, 1)]
        rig_frames.append(RigFrame(int(frames[0][pair]), (times[0], times[1]), (views[0], views[1])))
    return Rig(cameras, tuple(rig_frames)) if rig_frames else None


def measure(
    placed: Placed,
    poses: Ints,
    rig: Rig,
    frames: tuple[Ints, Ints],
    sources: tuple[str, str],
    static: tuple[bool, bool],
) -> CalibrationReport:
    """Figures of a calibration; its weakness is not judged yet."""
    sizes = rig.cameras[0].size, rig.cameras[1].size
    error = _errors(placed, _cameras(placed.model, sizes))
    across, angle = _across(placed, poses)
    lengths, angles = motion_of_rig(rig)
    focal = [float(0.5 * (camera.K[0, 0] + camera.K[1, 1])) for camera in rig.cameras]
    registered = (poses >= 0).sum(axis=1)
    return CalibrationReport(
        frames=len(frames[0]),
        registered=(int(registered[0]), int(registered[1])),
        reprojection_error_mean=float(error.mean()) if error.size else float("nan"),
        reprojection_error_median=float(np.median(error)) if error.size else float("nan"),
        points=len(placed.model.points),
        inliers_across=across,
        ray_angle=angle,
        baseline=lengths,
        axis_angle=angles,
        focal_lengths=(focal[0], focal[1]),
        intrinsics_source=sources,
        static=static,
    )


def _cameras(model: Model, sizes: tuple[tuple[int, int], tuple[int, int]]) -> tuple[Camera, Camera]:
    a, b = (camera_from_parameters(*item) for item in zip("ab", sizes, model.parameters, strict=True))
    return a, b


def _proper(pose: Floats) -> Floats:
    """The pose with a rotation that is one to the last bit."""
    U, _, Vt = np.linalg.svd(pose[:, :3])
    return np.column_stack([U @ Vt, pose[:, 3]])


def _errors(placed: Placed, cameras: tuple[Camera, Camera]) -> Floats:
    """Distance in px of every sighting from where its point should be."""
    model, seen = placed.model, placed.model.sightings
    out = []
    for which, camera in enumerate(cameras):
        own = (seen.point >= 0) & (placed.camera[seen.image] == which)
        pose = model.poses[seen.image[own]]
        local = np.einsum("nij,nj->ni", pose[:, :, :3], model.points[seen.point[own]]) + pose[:, :, 3]
        out.append(np.linalg.norm(project(camera, local) - seen.xy[own], axis=1))
    error = np.concatenate(out)
    return error[np.isfinite(error)]


def _across(placed: Placed, poses: Ints) -> tuple[float, float]:
    """Medians of the points that both cameras see at a time and of the degrees between their rays."""
    seen = placed.model.sightings
    order = np.argsort(seen.image, kind="stable")
    start = np.searchsorted(seen.image[order], np.arange(len(placed.camera) + 1))
    shown = [seen.point[order[start[i] : start[i + 1]]] for i in range(len(placed.camera))]
    counts, angles = [], []
    for a, b in poses[:, (poses >= 0).all(axis=0)].T:
        common = np.intersect1d(shown[a], shown[b])
        common = common[common >= 0]
        counts.append(len(common))
        centres = [-placed.model.poses[i, :, :3].T @ placed.model.poses[i, :, 3] for i in (a, b)]
        rays = [placed.model.points[common] - centre for centre in centres]
        cosine = (rays[0] * rays[1]).sum(axis=1) / np.maximum(
            np.linalg.norm(rays[0], axis=1) * np.linalg.norm(rays[1], axis=1), 1e-12
        )
        angles.append(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    every = np.concatenate(angles) if angles else np.zeros(0)
    return float(np.median(counts)) if counts else 0.0, float(np.median(every)) if every.size else 0.0
