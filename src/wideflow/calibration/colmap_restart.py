"""A second opinion on structure from motion: begin again with two pictures of the same moment.

Patterns that repeat, such as windows, give wrong matches that lie on their epipolar lines and stay wrong over
time. COLMAP's least squares bends the cameras to please them. Two pictures of one moment are not bent: their
epipolar geometry is right, and the wrong points give themselves away when the other pictures are placed.
Only COLMAP's own process imports this.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np  # before pycolmap, or the first picture that it writes aborts the process
import pycolmap
from numpy.typing import NDArray

from wideflow.calibration.colmap_adjust import Limits, adjusted
from wideflow.calibration.colmap_pairs import SHIFT, colmap_camera
from wideflow.calibration.lens import camera_from_parameters
from wideflow.calibration.problem import Ints, Lenses, Model, Sightings
from wideflow.geometry import project, triangulate, unproject
from wideflow.types import Camera, View

_ROUNDS = 2
_MOST = 2000  # points of the model that are kept: more take time and tell nothing new
_FEWEST = 30  # points that two pictures must share to begin with them
_SMALLEST_ANGLE = np.radians(1.0)


def restarted(
    mapped: Model, lenses: Lenses, camera_of: Ints, pairs: list[tuple[int, int]], limits: Limits
) -> Model:
    """The best of the model as it is and of models that begin with one of the ``pairs`` of pictures."""
    mapped, found = _best_points(mapped, camera_of), replace(lenses, parameters=mapped.parameters)
    best = adjusted(mapped, found, camera_of, limits, _ROUNDS)
    score = _agreement(best, camera_of, lenses.size, limits)
    for pair in pairs:
        first = _two_pictures(mapped, found, camera_of, pair, limits)
        if first is None:
            continue
        placed = adjusted(first, replace(found, known=np.array([True, True])), camera_of, limits, _ROUNDS)
        points = _meeting_points(mapped, placed, camera_of, lenses.size)
        whole = replace(placed, points=points, sightings=mapped.sightings)
        model = adjusted(whole, found, camera_of, limits, _ROUNDS)
        fits = _agreement(model, camera_of, lenses.size, limits)
        if fits > score:
            best, score = model, fits
    return best


def _best_points(model: Model, camera_of: Ints) -> Model:
    """The model with only the points seen most often, those of both cameras first."""
    seen = model.sightings
    use = seen.point >= 0
    times = np.zeros((2, len(model.points)))
    np.add.at(times, (camera_of[seen.image[use]], seen.point[use]), 1)
    order = np.lexsort((-times.sum(axis=0), times.min(axis=0) == 0))[:_MOST]
    number = np.full(len(model.points) + 1, -1)  # the last for points that are none
    number[order] = np.arange(len(order))
    return replace(model, points=model.points[order], sightings=replace(seen, point=number[seen.point]))


def _cameras(parameters: NDArray[np.float64], size: Ints) -> list[Camera]:
    return [camera_from_parameters("", tuple(size[c].tolist()), parameters[c]) for c in (0, 1)]


def _two_pictures(
    mapped: Model, lenses: Lenses, camera_of: Ints, pair: tuple[int, int], limits: Limits
) -> Model | None:
    """The points of the model that two pictures see, placed by these two alone."""
    seen = mapped.sightings
    own = [np.flatnonzero((seen.image == image) & (seen.point >= 0)) for image in pair]
    common, one, two = np.intersect1d(seen.point[own[0]], seen.point[own[1]], return_indices=True)
    if len(common) < _FEWEST:
        return None
    x, y = seen.xy[own[0][one]], seen.xy[own[1][two]]
    options = pycolmap.TwoViewGeometryOptions()
    options.ransac.max_error, options.ransac.random_seed = limits.error, limits.seed
    options.ransac.min_num_trials, options.compute_relative_pose = 3000, True
    known = replace(lenses, known=np.array([True, True]))
    geometry = pycolmap.estimate_calibrated_two_view_geometry(
        colmap_camera(known, int(camera_of[pair[0]])),
        x + SHIFT,
        colmap_camera(known, int(camera_of[pair[1]])),
        y + SHIFT,
        np.repeat(np.arange(len(x), dtype=np.uint32)[:, None], 2, axis=1),
        options,
    )
    inlier = np.asarray(geometry.inlier_matches).reshape(-1, 2)[:, 0]
    if geometry.cam2_from_cam1 is None or len(inlier) < _FEWEST:
        return None
    poses = np.full_like(mapped.poses, np.nan)
    poses[pair[0]], poses[pair[1]] = np.eye(3, 4), geometry.cam2_from_cam1.matrix()
    cameras = _cameras(lenses.parameters, lenses.size)
    views = [View(cameras[camera_of[image]], poses[image]) for image in pair]
    made = triangulate(views[0], views[1], x[inlier], y[inlier])
    good = made.in_front & (made.angle > _SMALLEST_ANGLE)
    points = np.full_like(mapped.points, np.nan)
    points[common[inlier[good]]] = made.points[good]
    point = np.where(np.isfinite(points[seen.point, 0]) & (seen.point >= 0), seen.point, -1)
    return Model(lenses.parameters, poses, points, Sightings(seen.image, seen.xy, point))


def _meeting_points(mapped: Model, placed: Model, camera_of: Ints, size: Ints) -> NDArray[np.float64]:
    """Every point of ``mapped`` where the rays of the pictures in ``placed`` that see it nearly meet."""
    seen = mapped.sightings
    use = (seen.point >= 0) & np.isfinite(placed.poses[seen.image, 0, 0])
    poses, point = placed.poses[seen.image[use]], seen.point[use]
    rays = np.zeros((len(point), 3))
    for number, camera in enumerate(_cameras(placed.parameters, size)):
        own = camera_of[seen.image[use]] == number
        rays[own] = unproject(camera, seen.xy[use][own])
    rays = np.einsum("nji,nj->ni", poses[:, :, :3], rays)
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    across = np.eye(3) - rays[:, :, None] * rays[:, None, :]  # away from the ray
    centres = -np.einsum("nji,nj->ni", poses[:, :, :3], poses[:, :, 3])
    matrix, right = np.zeros((len(mapped.points), 3, 3)), np.zeros((len(mapped.points), 3))
    np.add.at(matrix, point, across)
    np.add.at(right, point, np.einsum("nij,nj->ni", across, centres))
    return np.einsum("nij,nj->ni", np.linalg.pinv(matrix, rcond=1e-10), right)


def _agreement(model: Model, camera_of: Ints, size: Ints, limits: Limits) -> float:
    """How many sightings fit, those that fit better counting more."""
    seen = model.sightings
    total = 0.0
    for number, camera in enumerate(_cameras(model.parameters, size)):
        own = (seen.point >= 0) & (camera_of[seen.image] == number)
        pose = model.poses[seen.image[own]]
        local = np.einsum("nij,nj->ni", pose[:, :, :3], model.points[seen.point[own]]) + pose[:, :, 3]
        off = np.linalg.norm(project(camera, local) - seen.xy[own], axis=1) / limits.error
        total += float(np.sum(np.maximum(1 - np.nan_to_num(off, nan=1.0) ** 2, 0)))
    return total
