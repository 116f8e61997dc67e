"""``python -m wideflow.calibration.worker map|adjust FOLDER``: the process in which COLMAP runs.

It reads ``problem.npz`` from the folder and writes ``solution.npz`` there; lines "done total text" on its
standard output tell how far it is. It is a process of its own because COLMAP may end the process.
COLMAP's pixel centres are at half integers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np  # before pycolmap, or the first picture that it writes aborts the process
import pycolmap

from wideflow.calibration.colmap_adjust import Limits, adjusted, model_of
from wideflow.calibration.colmap_pairs import SHIFT, colmap_camera, tight_error, write_verified
from wideflow.calibration.colmap_restart import restarted
from wideflow.calibration.problem import Lenses, Model, Sightings, to_arrays

_FIRST_TRIES = 3
_RESTARTS = 2  # pairs of pictures that structure from motion is begun again with
_TINY_ANGLE = 1.0  # degrees between rays below which a point tells no depth


def map_keyframes(problem: dict[str, Any], folder: Path) -> Model:
    """Structure from motion: poses of key frames and points from matches of their features."""
    lenses, images = _lenses(problem), len(problem["image_camera"])
    seed, error = int(problem["seed"]), float(problem["error"])
    pycolmap.set_random_seed(seed)
    tight = tight_error(lenses, problem, error, seed)
    database = folder / "database.db"
    database.unlink(missing_ok=True)
    with pycolmap.Database.open(database) as file:
        _write_pictures(file, lenses, problem)
        inliers = write_verified(file, lenses, problem, tight, seed)
    _say(1, 2, "structure from motion")
    # a lens that is still a guess throws true points off as well
    options = _mapper_options(lenses, seed, min(error, 2 * tight) if lenses.known.all() else error, images)
    (folder / "models").mkdir(exist_ok=True)
    for first in (*_first_pairs(inliers, problem["same_moment"]), (-1, -1)):
        options.init_image_id1, options.init_image_id2 = first
        models = pycolmap.incremental_mapping(database, folder, folder / "models", options)
        if models and models[0].num_cameras() == 2:
            mapped = model_of(models[0], images)
            found = [(one, two) for one, two in problem["same_moment"].tolist() if inliers.get((one, two))]
            found.sort(key=lambda pair: -inliers[pair])
            return restarted(mapped, lenses, problem["image_camera"], found[:_RESTARTS], Limits(tight, seed))
    return _no_model(lenses, images)


def _first_pairs(inliers: dict[tuple[int, int], int], same_moment: Any) -> list[tuple[int, int]]:
    """Pictures to begin with: those of both cameras at the same time that share most."""
    pairs = [(one, two) for one, two in same_moment.tolist() if inliers.get((one, two), 0)]
    best = sorted(pairs, key=lambda pair: -inliers[pair])[:_FIRST_TRIES]
    return [(one + 1, two + 1) for one, two in best]


def _lenses(problem: dict[str, Any]) -> Lenses:
    return Lenses(*(problem[f"lenses.{name}"] for name in ("size", "parameters", "known", "trusted")))


def _write_pictures(database: Any, lenses: Lenses, problem: dict[str, Any]) -> None:
    for number in range(2):
        camera = colmap_camera(lenses, number)
        database.write_camera(camera, use_camera_id=True)
        rig = pycolmap.Rig(rig_id=number + 1)
        rig.add_ref_sensor(camera.sensor_id)
        database.write_rig(rig, use_rig_id=True)
    start = problem["image_start"]
    for image, number in enumerate(problem["image_camera"].tolist()):
        entry = pycolmap.Image(name=f"{image:06d}", camera_id=number + 1, image_id=image + 1)
        database.write_image(entry, use_image_id=True)
        frame = pycolmap.Frame(frame_id=image + 1, rig_id=number + 1)
        frame.add_data_id(entry.data_id)
        database.write_frame(frame, use_frame_id=True)
        points = problem["image_xy"][start[image] : start[image + 1]] + SHIFT
        database.write_keypoints(image + 1, points.astype(np.float32))


def _mapper_options(lenses: Lenses, seed: int, error: float, images: int) -> Any:
    options = pycolmap.IncrementalPipelineOptions()
    options.random_seed = options.mapper.random_seed = options.triangulation.random_seed = seed
    options.num_threads = 1  # sums in another order give other bits
    options.extract_colors = False
    options.multiple_models = False
    options.min_model_size = 2
    options.constant_cameras = {number + 1 for number in range(2) if lenses.known[number]}
    options.mapper.constant_cameras = options.constant_cameras
    options.triangulation.ignore_two_view_tracks = images > 2
    options.triangulation.min_angle = options.mapper.filter_min_tri_angle = _TINY_ANGLE
    options.mapper.init_min_tri_angle = 2.0  # tripods and hands stand closer than photographers walk
    options.mapper.init_min_num_inliers = 50
    # a point that moves must not become one: COLMAP's own limits are made for still scenes
    options.mapper.abs_pose_max_error = 2 * error
    options.mapper.filter_max_reproj_error = error
    options.triangulation.merge_max_reproj_error = options.triangulation.complete_max_reproj_error = error
    angle = float(np.degrees(2 * error / lenses.parameters[:, 0].min()))
    options.triangulation.create_max_angle_error = options.triangulation.continue_max_angle_error = angle
    if lenses.known.all():
        options.ba_refine_focal_length = options.ba_refine_extra_params = False
        options.mapper.abs_pose_refine_focal_length = options.mapper.abs_pose_refine_extra_params = False
    return options


def adjust(problem: dict[str, Any], _: Path) -> Model:
    """Poses of all frames: each from the points it sees, then everything in one bundle adjustment."""
    seen = Sightings(*(problem[f"sightings.{name}"] for name in ("image", "xy", "point")))
    lenses, settings = _lenses(problem), Limits(float(problem["error"]), int(problem["seed"]))
    start = Model(lenses.parameters, problem["poses"], problem["points"], seen)
    pycolmap.set_random_seed(settings.seed)
    rounds = int(problem["rounds"])
    _say(0, 1 + rounds, "placing the frames between")
    return adjusted(
        start,
        lenses,
        problem["image_camera"],
        settings,
        rounds,
        bool(problem["principal"]),
        lambda step: _say(1 + step, 1 + rounds, "adjusting all cameras and points at once"),
    )


def _no_model(lenses: Lenses, images: int) -> Model:
    nothing = Sightings(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros(0, np.int64))
    return Model(lenses.parameters, np.full((images, 3, 4), np.nan), np.zeros((0, 3)), nothing)


def _say(done: int, total: int, text: str) -> None:
    print(done, total, text, flush=True)


def main(verb: str, folder: Path) -> None:
    """Solve the problem in the folder."""
    pycolmap.logging.minloglevel = int(pycolmap.logging.Level.ERROR)
    with np.load(folder / "problem.npz") as file:
        problem = dict(file)
    solution = {"map": map_keyframes, "adjust": adjust}[verb](problem, folder)
    np.savez(folder / "unfinished.npz", **to_arrays(solution))  # type: ignore[arg-type]
    os.replace(folder / "unfinished.npz", folder / "solution.npz")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
