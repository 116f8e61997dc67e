"""Flows from depth, motion and cameras, against closed forms and against rendered pictures."""

import json

import cv2
import numpy as np
import pytest

from shared_data import shared
from wideflow.errors import InputError
from wideflow.geometry import (
    flow_between,
    ideal_camera,
    pixel_grid,
    points_from_depth,
    project,
    triangulate,
    truth_flows,
    undistortion_maps,
    unproject,
    world_to_camera,
)
from wideflow.types import Camera, RigFrame, Truth, View

K = np.array([[100.0, 0, 31], [0, 100, 23], [0, 0, 1]])
LEFT = Camera("left", 64, 48, K)
RIGHT = Camera("right", 80, 60, np.array([[150.0, 0, 40], [0, 150, 30], [0, 0, 1]]))


def shifted(camera, x, z=0.0):
    """A view from (x, 0, z) straight ahead."""
    return View(camera, np.column_stack([np.eye(3), [-x, 0, -z]]))


def some_truth(depth, motion):
    seen = np.ones(depth.shape, bool)
    body = np.zeros(depth.shape, np.int16)
    return Truth(depth.astype(np.float32), motion.astype(np.float32), seen, seen, seen, body)


def test_flows_of_a_moving_wall_in_closed_form():
    depth = np.full((48, 64), 5.0)
    motion = np.broadcast_to([0.2, 0.0, 1.0], (48, 64, 3))
    now = RigFrame(0, (0.0, 0.0), (shifted(LEFT, 0.0), shifted(LEFT, 0.5)))
    later = RigFrame(1, (1.0, 1.0), (shifted(LEFT, 0.1), shifted(LEFT, 0.7)))
    flows = truth_flows(some_truth(depth, motion), now, later, 0)
    x = pixel_grid(64, 48) - [31, 23]  # relative to the principal point
    wall = x / 100 * 5
    np.testing.assert_allclose(flows.stereo, np.broadcast_to([-100 * 0.5 / 5, 0], (48, 64, 2)), atol=1e-5)
    np.testing.assert_allclose(flows.optical, (wall + np.array([0.2 - 0.1, 0])) * 100 / 6 - x, atol=1e-5)
    np.testing.assert_allclose(flows.loop, (wall + np.array([0.2 - 0.7, 0])) * 100 / 6 - x, atol=1e-5)
    assert flows.stereo.dtype == np.float32


def test_the_other_camera_may_have_another_size():
    now = RigFrame(0, (0.0, 0.0), (shifted(LEFT, 0.0), shifted(RIGHT, 0.5)))
    depth = np.full((60, 80), 5.0)
    flows = truth_flows(some_truth(depth, np.zeros((60, 80, 3))), now, now, 1)
    assert flows.stereo.shape == (60, 80, 2)
    pixel = np.array([33.0, 44.0])
    x, y = (pixel - [40, 30]) / 150 * 5
    point = np.array([x + 0.5, y, 5])
    np.testing.assert_allclose(pixel + flows.stereo[44, 33], project(LEFT, point), atol=1e-5)
    np.testing.assert_allclose(flows.optical, 0, atol=1e-5)
    np.testing.assert_allclose(flows.loop, flows.stereo)


def test_unknown_depth_and_points_behind_are_nan():
    depth = np.full((48, 64), 5.0)
    depth[3, 4] = np.nan
    source = shifted(LEFT, 0.0)
    points = points_from_depth(source, depth)
    assert np.isnan(points[3, 4]).all()
    assert np.isnan(points).sum() == 3
    assert np.isnan(flow_between(points, source, shifted(LEFT, 0.5))[3, 4]).all()
    assert np.isnan(flow_between(points, source, shifted(LEFT, 0.0, z=6.0))).all()


def test_flows_between_distorted_pictures():
    lens = Camera("lens", 64, 48, K, np.array([-0.2, 0.05, 0.001, 0.002]))
    source, target = shifted(lens, 0.0), shifted(lens, 0.3)
    points = points_from_depth(source, np.full((48, 64), 4.0))
    np.testing.assert_allclose(points[..., 2], 4.0)
    np.testing.assert_allclose(project(lens, world_to_camera(source, points)), pixel_grid(64, 48), atol=1e-9)
    flow = flow_between(points, source, target)
    ray = unproject(lens, pixel_grid(64, 48) + flow)
    np.testing.assert_allclose(ray * 4.0 + [0.3, 0, 0], points, atol=1e-9)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="64 x 48"):
        points_from_depth(shifted(LEFT, 0.0), np.ones((64, 48)))
    with pytest.raises(InputError, match="64 x 48"):
        flow_between(np.ones((60, 80, 3)), shifted(LEFT, 0.0), shifted(RIGHT, 0.0))


def read_scene(folder):
    """Two frames of a rendered scene, and a reader of its pictures and truth."""
    poses = json.loads((folder / "cameras.json").read_text())
    frames = tuple(
        RigFrame(t, (float(t), float(t)), tuple(view_of(poses[c][t], 960, 540, str(c)) for c in (0, 1)))
        for t in (0, 1)
    )
    return frames, lambda c, t: truth_of(folder / f"gt{c}_{t:04d}.npz")


def view_of(pose, width, height, name):
    return View(Camera(name, width, height, pose["K"]), np.column_stack([pose["R"], pose["t"]]))


def truth_of(path):
    data = np.load(path)
    names = ("depth", "motion", "stereo_visible", "optical_visible", "loop_visible", "object")
    return Truth(*(data[name] for name in names))


def grey(path):
    return cv2.imread(str(path), cv2.IMREAD_GRAYSCALE).astype(np.float32)


def correlation_after_warp(source, target, flow, visible):
    """Correlation of the source picture with the target picture pulled back along the flow."""
    position = (pixel_grid(*source.shape[::-1]) + flow).astype(np.float32)
    warped = cv2.remap(target, position[..., 0], position[..., 1], cv2.INTER_LINEAR, borderValue=np.nan)
    usable = visible & np.isfinite(warped)
    assert usable.mean() > 0.5
    return np.corrcoef(source[usable], warped[usable])[0, 1]


@pytest.mark.parametrize("camera", [0, 1])
def test_true_flows_warp_rendered_pictures_onto_each_other(camera):
    folder = shared("handheld/scene15")
    frames, truth_at = read_scene(folder)
    truth = truth_at(camera, 0)
    flows = truth_flows(truth, *frames, camera)
    pictures = {(c, t): grey(folder / f"cam{c}_{t:04d}.png") for c in (0, 1) for t in (0, 1)}
    for target, flow, visible in (
        ((1 - camera, 0), flows.stereo, truth.stereo_visible),
        ((camera, 1), flows.optical, truth.optical_visible),
        ((1 - camera, 1), flows.loop, truth.loop_visible),
    ):
        right = correlation_after_warp(pictures[camera, 0], pictures[target], flow, visible)
        assert right > 0.97, target
        # Half a pixel off, the pixel-centre mistake, must be visibly worse.
        assert correlation_after_warp(pictures[camera, 0], pictures[target], flow + 0.5, visible) < right


def test_true_stereo_flow_triangulates_to_the_true_depth():
    frames, truth_at = read_scene(shared("handheld/scene15"))
    truth = truth_at(0, 0)
    flow = truth_flows(truth, *frames, 0).stereo
    grid = pixel_grid(960, 540)
    result = triangulate(*frames[0].views, grid, grid + flow)
    depth = world_to_camera(frames[0].views[0], result.points)[..., 2]
    known = np.isfinite(flow[..., 0])
    assert known.mean() > 0.9
    assert np.array_equal(result.in_front, known)
    np.testing.assert_allclose(depth[known], truth.depth[known], rtol=1e-5)


def test_undistorted_video_frames_agree_with_the_true_flow():
    av = pytest.importorskip("av")
    folder = shared("handheld/clip12")
    info = json.loads((folder / "truth.json").read_text())
    width, height = info["size"]
    delay = round(info["offset_seconds"] * info["fps"])
    pictures, views = [], []
    for c, index in ((0, 13), (1, 13 - delay)):
        with av.open(str(folder / f"{'ab'[c]}.mp4")) as video:
            frame = next(f for i, f in enumerate(video.decode(video=0)) if i == index)
        view = view_of(info["cameras"][c][index], width, height, "ab"[c])
        lens = Camera(view.camera.name, width, height, view.camera.K, np.array([info["k1"], 0, 0, 0]))
        map_x, map_y, _ = undistortion_maps(lens, ideal_camera(lens))
        pictures.append(cv2.remap(frame.to_ndarray(format="gray8").astype(np.float32), map_x, map_y, 1))
        views.append(view)
    truth = truth_of(folder / "gt0_0013.npz")
    now = RigFrame(13, (0.0, 0.0), tuple(views))
    flow = truth_flows(truth, now, now, 0).stereo
    assert correlation_after_warp(*pictures, flow, truth.stereo_visible) > 0.97  # 0.95 without undistortion
