"""Poses from points, and bundle adjustment that little by little leaves out what does not fit.

Only COLMAP's own process imports this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np  # before pycolmap, or the first picture that it writes aborts the process
import pycolmap

from wideflow.calibration.colmap_pairs import SHIFT, colmap_camera
from wideflow.calibration.lens import camera_from_parameters
from wideflow.calibration.problem import Ints, Lenses, Model, Sightings
from wideflow.geometry import project

_FEWEST = 15  # points that must agree on a pose
_SPREADS = 5.0  # times the median that a sighting may be off in the end
_FINEST = 0.5  # px: nothing that is seen can be expected nearer to its place


@dataclass(frozen=True)
class Limits:
    """Pixels that a sighting may be off, and where chance starts."""

    error: float
    seed: int


def adjusted(
    start: Model,
    lenses: Lenses,
    camera_of: Ints,
    limits: Limits,
    rounds: int,
    principal: bool = False,
    step: Callable[[int], None] = lambda number: None,
) -> Model:
    """The model that fits its sightings best, without those that do not fit.

    Parameters
    ----------
    start : Model
        Pictures without a pose get one from the points that they see.
    lenses : Lenses
        Which of them are known; their parameters are those to begin with.
    camera_of : (n,) int64
        Camera of each picture.
    limits : Limits
        Of the first round.
    rounds : int
        Bundle adjustments.
    principal : bool
        Measure principal points too, from the second round on.
    step : callable
        Called with the number of each round.
    """
    model = _reconstruction(start, lenses, camera_of, limits)
    error = limits.error
    scale = 0.5 * error
    _drop_outliers(model, 2 * error)
    for number in range(rounds):
        step(number)
        _bundle_adjustment(model, lenses, scale, principal and number > 0)
        # many wrong matches agree with each other: as the model gets better, less and less is forgiven
        scale = min(scale, _drop_outliers(model, error))
        error = min(error, max(_SPREADS * scale, _FINEST))
    return model_of(model, len(start.poses))


def parameters_of(camera: Any) -> list[float]:
    values = list(camera.params)
    if len(values) == 4:
        f, cx, cy, k1 = values
        values = [f, f, cx, cy, k1, 0.0, 0.0, 0.0]
    values[2] -= SHIFT
    values[3] -= SHIFT
    return values


def model_of(model: Any, images: int) -> Model:
    """In our conventions, with points numbered from 0."""
    poses = np.full((images, 3, 4), np.nan)
    number_of = {which: number for number, which in enumerate(sorted(model.points3D))}
    rows: list[tuple[int, float, float, int]] = []
    for image_id in sorted(model.reg_image_ids()):
        image = model.image(image_id)
        poses[image_id - 1] = image.cam_from_world().matrix()
        for point in image.points2D:
            which = number_of[point.point3D_id] if point.has_point3D() else -1
            rows.append((image_id - 1, *(point.xy - SHIFT), which))
    table = np.array(rows).reshape(-1, 4)
    seen = Sightings(table[:, 0].astype(np.int64), table[:, 1:3], table[:, 3].astype(np.int64))
    points = np.array([model.point3D(which).xyz for which in sorted(model.points3D)]).reshape(-1, 3)
    parameters = np.array([parameters_of(model.camera(number + 1)) for number in range(2)])
    return Model(parameters, poses, points, seen)


def _reconstruction(start: Model, lenses: Lenses, camera_of: Ints, limits: Limits) -> Any:
    """COLMAP's model of all pictures, those without a pose given the one that their points suggest."""
    model = pycolmap.Reconstruction()
    for number in range(2):
        model.add_camera_with_trivial_rig(colmap_camera(lenses, number))
    image, xy, point = start.sightings.image, start.sightings.xy + SHIFT, start.sightings.point
    estimate = pycolmap.AbsolutePoseEstimationOptions()
    estimate.ransac.max_error = 2 * limits.error
    estimate.ransac.random_seed = limits.seed
    tracks: dict[int, Any] = {}
    for number, (camera, pose) in enumerate(zip(camera_of.tolist(), start.poses, strict=True)):
        seen = np.flatnonzero((image == number) & (point >= 0))
        if not np.isfinite(pose).all():
            found = (
                pycolmap.estimate_and_refine_absolute_pose(
                    xy[seen], start.points[point[seen]], model.camera(camera + 1), estimate
                )
                if len(seen) >= 6
                else None
            )
            if found is None or found["num_inliers"] < _FEWEST:
                continue
            seen = seen[found["inlier_mask"]]
            pose = found["cam_from_world"].matrix()
        entry = pycolmap.Image(f"{number:06d}", xy[seen], camera + 1, number + 1)
        model.add_image_with_trivial_frame(entry, pycolmap.Rigid3d(pose))
        for place, which in enumerate(point[seen].tolist()):
            tracks.setdefault(which, pycolmap.Track()).add_element(number + 1, place)
    for which, track in tracks.items():
        if track.length() > 1:
            model.add_point3D(start.points[which], track)
    return model


def _bundle_adjustment(model: Any, lenses: Lenses, scale: float, principal: bool) -> None:
    options = pycolmap.BundleAdjustmentOptions()
    options.print_summary = False
    options.refine_principal_point = principal
    options.ceres.loss_function_type = pycolmap.LossFunctionType.CAUCHY
    options.ceres.loss_function_scale = scale
    options.ceres.solver_options.num_threads = 1
    options.ceres.solver_options.max_num_iterations = 25
    options.ceres.solver_options.function_tolerance = 1e-5
    config = pycolmap.BundleAdjustmentConfig()
    for image in model.reg_image_ids():
        config.add_image(image)
    for number in range(2):
        if lenses.known[number]:
            config.set_constant_cam_intrinsics(number + 1)
    config.fix_gauge(pycolmap.BundleAdjustmentGauge.TWO_CAMS_FROM_WORLD)
    pycolmap.create_default_bundle_adjuster(options, config, model).solve()


def _drop_outliers(model: Any, error: float) -> float:
    """Forget sightings off by more than ``error``, and points mostly so; median px off of the others."""
    wrong: dict[int, list[tuple[int, int]]] = {}
    good = []
    for image_id in model.reg_image_ids():
        image = model.image(image_id)
        pose = image.cam_from_world().matrix()
        places = image.get_observation_point2D_idxs()
        points = [image.point2D(place) for place in places]
        if not points:
            continue
        ids = [point.point3D_id for point in points]
        local = np.array([model.point3D(which).xyz for which in ids]) @ pose[:, :3].T + pose[:, 3]
        camera = model.camera(image.camera_id)
        lens = camera_from_parameters("", (camera.width, camera.height), np.array(parameters_of(camera)))
        off = np.linalg.norm(project(lens, local) + SHIFT - [point.xy for point in points], axis=1)
        fits = off <= error  # not where it is NaN, behind the camera
        good.append(off[fits])
        for number in np.flatnonzero(~fits).tolist():
            wrong.setdefault(ids[number], []).append((image_id, places[number]))
    for which, elements in wrong.items():
        if 2 * len(elements) > model.point3D(which).track.length():
            model.delete_point3D(which)
            continue
        for image_id, place in elements:
            if model.exists_point3D(which):
                model.delete_observation(image_id, place)
    kept = np.concatenate([np.zeros(0), *good])
    return float(np.median(kept)) if kept.size else error
