"""The formats whose heart are cameras, read by other programs and drawn for benchmarks.export_pictures."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import cv2
import numpy as np
import pycolmap  # after numpy and cv2, or its first PNG aborts the process

import wideflow
from benchmarks.export_drawing import (
    FLIP,
    ORANGE,
    camera,
    cameras,
    cloud,
    ply_cloud,
    read_picture,
    video_picture,
)
from benchmarks.gallery import Picture


def draw_colmap(path: Path, _: wideflow.View) -> Picture:
    """Points and cameras, by COLMAP itself."""
    model = pycolmap.Reconstruction(str(path / "sparse" / "0"))
    images = {image.name: image for image in model.images.values()}
    seen = [
        camera(
            model.cameras[images[name].camera_id].calibration_matrix(),
            images[name].cam_from_world().matrix(),
            read_picture(path / "images" / name),
            0.5,
        )
        for name in ("a_000000.png", "b_000000.png")
    ]
    points = model.points3D.values()
    return cameras(seen, cloud([point.xyz for point in points], [point.color for point in points]))


def draw_nerfstudio(path: Path, _: wideflow.View) -> Picture:
    """The background and the cameras."""
    scene = json.loads((path / "transforms.json").read_text())
    seen = []
    for shot in scene["frames"][:2]:
        K = [[shot["fl_x"], 0, shot["cx"]], [0, shot["fl_y"], shot["cy"]], [0, 0, 1]]
        pose = FLIP @ np.linalg.inv(np.array(shot["transform_matrix"]))[:3]
        seen.append(camera(K, pose, read_picture(path / shot["file_path"]), 0.5))
    return cameras(seen, ply_cloud(path / scene["ply_file_path"]))


def draw_llff(path: Path, _: wideflow.View) -> Picture:
    """The cameras, of one lens, and their pictures."""
    rows = np.load(path / "poses_bounds.npy")
    names = sorted((path / "images").glob("*.png")) or sorted(path.glob("cam*/images/0000.png"))
    seen = []
    for at in (0, len(rows) // 2):
        down, right, backward, centre, (height, width, focal) = rows[at, :15].reshape(3, 5).T
        R = np.stack([right, down, -backward])
        K = [[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]]
        seen.append(camera(K, np.column_stack([R, -R @ centre]), read_picture(names[at]), 0.5))
    return cameras(seen)


def draw_dynamic3dgaussians(path: Path, _: wideflow.View) -> Picture:
    """The points to start from, what moves in orange, and the cameras."""
    meta, data = json.loads((path / "train_meta.json").read_text()), np.load(path / "init_pt_cld.npz")["data"]
    seen = [
        camera(meta["k"][0][i], meta["w2c"][0][i], read_picture(path / "ims" / meta["fn"][0][i]), 0.5)
        for i in range(2)
    ]
    rgb = 255 * data[:, 3:6]
    rgb[data[:, 6] == 1] = rgb[data[:, 6] == 1] * 0.5 + np.array(ORANGE) * 0.5
    return cameras(seen, cloud(data[:, :3], rgb))


def draw_easymocap(path: Path, _: wideflow.View) -> Picture:
    """Cameras by OpenCV's FileStorage, and the first pictures of the videos."""
    inside, outside = (cv2.FileStorage(str(path / name), 0) for name in ("intri.yml", "extri.yml"))
    seen = []
    for name in "ab":
        K, R, t = inside.getNode(f"K_{name}"), outside.getNode(f"Rot_{name}"), outside.getNode(f"T_{name}")
        pose = np.column_stack([R.mat(), t.mat()])
        seen.append(camera(K.mat(), pose, video_picture(path / "videos" / f"{name}.mp4")))
    return cameras(seen)


def draw_pose2sim(path: Path, _: wideflow.View) -> Picture:
    """Cameras by tomllib, and the first pictures of the videos."""
    calibration = tomllib.loads((path / "calibration" / "Calib.toml").read_text())
    seen = []
    for name in "ab":
        held = calibration[name]
        R = cv2.Rodrigues(np.array(held["rotation"]))[0]
        pose = np.column_stack([R, held["translation"]])
        seen.append(camera(held["matrix"], pose, video_picture(path / "videos" / f"{name}.mp4")))
    return cameras(seen)
