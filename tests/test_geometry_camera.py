"""Projection, its inverse, undistortion and poses, against closed forms, OpenCV and each other."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_rigs import SEEDS, cameras, rigs
from wideflow.errors import InputError
from wideflow.geometry import (
    K_from_corner_origin,
    K_to_corner_origin,
    baseline,
    camera_to_world,
    ideal_camera,
    inside_picture,
    interpolate_pose,
    optical_axis_angle,
    pixel_grid,
    project,
    relative_pose,
    undistort_points,
    undistortion_maps,
    unproject,
    world_to_camera,
)
from wideflow.types import Camera, View

PHONE_K = np.array([[900.0, 0.0, 470.0], [0.0, 905.0, 275.0], [0.0, 0.0, 1.0]])
LENSES = [
    (-0.05, 0.0, 0.0, 0.0),
    (-0.28, 0.09, 0.002, -0.001),
    (0.15, -0.05, -0.003, 0.002),
    (0.0, 0.0, 0.004, 0.004),
]


def phone(distortion=(0.0, 0.0, 0.0, 0.0)):
    return Camera("phone", 960, 540, PHONE_K, np.array(distortion))


def rays_within(radius, count, seed):
    rng = np.random.default_rng(seed)
    angle, r = rng.uniform(0, 2 * np.pi, count), radius * np.sqrt(rng.uniform(0, 1, count))
    return np.stack([r * np.cos(angle), r * np.sin(angle), np.ones(count)], axis=-1)


@settings(max_examples=60, deadline=None)
@given(st.booleans().flatmap(lambda distorted: cameras(distorted=distorted)), SEEDS)
def test_unproject_inverts_project_to_a_billionth_of_a_pixel(camera, seed):
    rays = rays_within(0.8, 200, seed)
    pixels = project(camera, rays * np.linspace(0.1, 50, 200)[:, None])
    back = unproject(camera, pixels)
    assert np.abs(project(camera, back) - pixels).max() < 1e-9
    assert np.abs(back - rays).max() * camera.K[0, 0] < 1e-9


@pytest.mark.parametrize("distortion", LENSES)
def test_undistorted_points_are_where_a_pinhole_sees_them(distortion):
    camera, rays = phone(distortion), rays_within(0.5, 100, 2)
    straight = undistort_points(camera, project(camera, rays))
    np.testing.assert_allclose(straight, project(ideal_camera(camera), rays), atol=1e-9)
    assert np.abs(straight - project(camera, rays)).max() > 1
    np.testing.assert_array_equal(undistort_points(ideal_camera(camera), straight), straight)


@pytest.mark.parametrize("distortion", LENSES)
def test_agrees_with_opencv(distortion):
    camera = phone(distortion)
    rays = rays_within(0.5, 500, 1)
    pixels = project(camera, rays)
    theirs, _ = cv2.projectPoints(rays, np.zeros(3), np.zeros(3), camera.K, camera.distortion)
    np.testing.assert_allclose(pixels, theirs[:, 0], atol=1e-9)
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 200, 1e-14)
    theirs = cv2.undistortPoints(pixels[:, None], camera.K, camera.distortion, criteria=criteria)
    np.testing.assert_allclose(unproject(camera, pixels)[:, :2], theirs[:, 0], atol=1e-10)


def test_what_is_not_in_front_is_nan():
    points = np.array([[0.1, 0.2, 1.0], [0.1, 0.2, -1.0], [0.1, 0.2, 0.0], [np.nan, 0.2, 1.0]])
    for camera in (phone(), phone(LENSES[1])):
        assert np.isfinite(project(camera, points)).all(axis=1).tolist() == [True, False, False, False]
    assert np.isnan(unproject(phone(LENSES[1]), [np.nan, 3.0])).all()
    assert np.isnan(unproject(phone(), [np.nan, 3.0])).all()


@pytest.mark.parametrize("k2", [0.0, 0.01])
def test_beyond_the_fold_there_is_nothing(k2):
    # r (1 + k1 r^2 + k2 r^4) turns round where 1 + 3 k1 r^2 + 5 k2 r^4 = 0.
    k1 = -0.3
    fold = np.sqrt(1 / 0.9 if k2 == 0 else (0.9 - np.sqrt(0.81 - 20 * k2)) / (10 * k2))
    camera = phone((k1, k2, 0.0, 0.0))
    radius = np.array([0.99, 0.9999, 1.0001, 1.5, 3.0]) * fold
    rays = np.stack([radius, 0 * radius, 0 * radius + 1], axis=-1)
    seen = np.isfinite(project(camera, rays)).all(axis=1)
    assert seen.tolist() == [True, True, False, False, False]
    np.testing.assert_allclose(unproject(camera, project(camera, rays[:2])), rays[:2], atol=1e-9)
    rim = 900 * fold * (1 + k1 * fold**2 + k2 * fold**4)
    pixels = np.array([[470 + rim * 0.999, 275], [470 + rim * 1.001, 275], [470 + rim * 5, 275]])
    assert np.isfinite(unproject(camera, pixels)).all(axis=1).tolist() == [True, False, False]


def test_strong_lenses_are_inverted_up_to_their_fold():
    rng = np.random.default_rng(4)
    for _ in range(300):
        k1, k2 = rng.uniform(-0.6, 0.6), rng.uniform(-0.4, 0.4)
        camera = phone((k1, k2, *rng.uniform(-0.003, 0.003, 2)))
        roots = np.roots([5 * k2, 3 * k1, 1])
        fold = np.sqrt(min(roots[np.isreal(roots) & (roots.real > 0)].real, default=np.inf))
        rays = rays_within(0.95 * min(fold, 2.5), 200, rng)
        np.testing.assert_allclose(unproject(camera, project(camera, rays)), rays, atol=1e-12)


def test_a_decentred_lens_folds_too():
    camera = phone((0.0, 0.0, 0.3, 0.2))
    once, twice = [0.3, -0.8, 1.0], [-3.0, -3.0, 1.0]  # turned over in one direction, in both
    assert np.isnan(project(camera, [once, twice])).all()
    assert np.isfinite(project(camera, [-0.2, -0.2, 1.0])).all()


@pytest.mark.parametrize("distortion", [(0, 0, 0.02, 0.01), (-0.2, 0.01, 0.02, -0.03), (0.1, -0.1, 0.01, 0)])
def test_a_ray_is_right_or_nan(distortion):
    camera = phone(distortion)
    pixels = np.random.default_rng(2).uniform(-20000, 20000, (5000, 2))
    rays = unproject(camera, pixels)
    known = np.isfinite(rays).all(axis=1)
    assert 0 < known.sum() < 5000
    np.testing.assert_allclose(project(camera, rays[known]), pixels[known], atol=1e-9)


def test_shapes_are_kept():
    camera = phone(LENSES[1])
    assert project(camera, np.ones((4, 5, 3))).shape == (4, 5, 2)
    assert unproject(camera, np.ones((4, 5, 2))).shape == (4, 5, 3)
    assert unproject(camera, [1.0, 2.0]).shape == (3,)
    assert unproject(camera, np.empty((0, 2))).shape == (0, 3)


def test_pixel_grid_is_x_then_y():
    grid = pixel_grid(4, 3)
    assert grid.shape == (3, 4, 2)
    assert grid[2, 3].tolist() == [3, 2]


@settings(max_examples=30, deadline=None)
@given(cameras(distorted=True), st.integers(1, 3000), st.integers(1, 3000))
def test_scaling_maps_borders_to_borders(camera, width, height):
    ideal = ideal_camera(camera, (width, height))
    assert ideal.is_pinhole
    assert ideal.size == (width, height)
    corners = [[-0.5, -0.5], [camera.width - 0.5, camera.height - 0.5]]
    scaled = project(ideal, unproject(ideal_camera(camera), corners))
    np.testing.assert_allclose(scaled, [[-0.5, -0.5], [width - 0.5, height - 0.5]], atol=1e-8)


def test_pixel_of_half_size_is_centred_on_four():
    ray = unproject(ideal_camera(phone(), (480, 270)), [10.0, 20.0])
    np.testing.assert_allclose(project(phone(), ray), [20.5, 40.5], atol=1e-9)


@pytest.mark.parametrize("distortion", LENSES)
@pytest.mark.parametrize("size", [(960, 540), (601, 400)])
def test_undistortion_gives_the_pinhole_picture(distortion, size):
    camera = phone(distortion)
    ideal = ideal_camera(camera, size)
    # Pictures whose colours are the rays' own coordinates, so the answer is known everywhere.
    taken = unproject(camera, pixel_grid(*camera.size))[..., :2].astype(np.float32)
    wanted = unproject(ideal, pixel_grid(*size))[..., :2]
    map_x, map_y, valid = undistortion_maps(camera, ideal)
    assert map_x.dtype == map_y.dtype == np.float32
    assert map_x.shape == valid.shape == size[::-1]
    found = cv2.remap(taken, map_x, map_y, cv2.INTER_LINEAR, borderValue=(9.0, 9.0))
    inner = valid & (map_x >= 0) & (map_x <= 959) & (map_y >= 0) & (map_y <= 539)
    assert np.abs(found - wanted)[inner].max() * 900 < 0.05
    outside = (map_x < -0.5) | (map_x > 959.5) | (map_y < -0.5) | (map_y > 539.5)
    assert np.array_equal(valid, ~outside)
    assert valid.mean() > 0.8


def test_maps_say_where_the_lens_sees_nothing():
    wide = Camera("wide", 960, 540, np.array([[200.0, 0, 480], [0, 200.0, 270], [0, 0, 1]]))
    map_x, map_y, valid = undistortion_maps(phone((-0.3, 0, 0, 0)), wide)
    assert np.isfinite(map_x).all()
    assert np.isfinite(map_y).all()
    assert not valid[0, 0]
    assert map_x[0, 0] == -1
    assert valid[270, 480]


def test_undistorting_to_a_distorted_camera_is_refused():
    with pytest.raises(InputError, match="pinhole"):
        undistortion_maps(phone(), phone(LENSES[0]))


def test_picture_spans_half_a_pixel_beyond_its_centres():
    pixels = [[-0.5, 0], [-0.51, 0], [959.5, 539.5], [959.6, 0], [0, 539.6], [np.nan, 0]]
    assert inside_picture(phone(), pixels).tolist() == [True, False, True, False, False, False]


def test_corner_origin_moves_every_pixel_by_a_half():
    K = K_to_corner_origin(PHONE_K)
    moved = Camera("corner", 960, 540, K)
    rays = rays_within(0.5, 10, 0)
    np.testing.assert_allclose(project(moved, rays), project(phone(), rays) + 0.5)
    np.testing.assert_array_equal(K_from_corner_origin(K), PHONE_K)
    assert PHONE_K[0, 2] == 470.0


@settings(max_examples=30, deadline=None)
@given(rigs(), SEEDS)
def test_poses_compose(rig, seed):
    view1, view2 = rig
    points = np.random.default_rng(seed).normal(size=(20, 3)) * 5
    np.testing.assert_allclose(camera_to_world(view1, world_to_camera(view1, points)), points, atol=1e-12)
    pose = relative_pose(view1, view2)
    through = world_to_camera(view1, points) @ pose[:, :3].T + pose[:, 3]
    np.testing.assert_allclose(through, world_to_camera(view2, points), atol=1e-11)
    np.testing.assert_allclose(world_to_camera(view2, view2.centre), 0, atol=1e-12)
    assert np.linalg.norm(pose[:, 3]) == pytest.approx(baseline(view1, view2), abs=1e-11)


@pytest.mark.parametrize("degrees", [0.0, 30.0, 179.0])
def test_between_two_poses_a_camera_turns_evenly_and_goes_straight(degrees):
    axis = np.array([1.0, -2.0, 0.5]) / np.sqrt(5.25)
    start = cv2.Rodrigues(np.array([0.3, 0.1, -0.2]))[0]
    one, two = np.array([1.0, 0, 2]), np.array([0.0, 3, 1])

    def pose(share):
        R = cv2.Rodrigues(share * np.radians(degrees) * axis)[0] @ start
        return np.column_stack([R, -R @ (one + share * (two - one))])

    shares = np.array([[-0.4, 0.0, 0.25], [0.5, 1.0, 1.3]])
    found = interpolate_pose(pose(0), pose(1), shares)
    assert found.shape == (2, 3, 3, 4)
    for share, each in zip(shares.ravel(), found.reshape(-1, 3, 4), strict=True):
        np.testing.assert_allclose(each, pose(share), atol=1e-7)


def test_angle_and_baseline_of_a_known_rig():
    angle = np.radians(15)
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    view1 = View(phone(), np.eye(3, 4))
    view2 = View(phone(), np.column_stack([R, -R @ [3.0, 0.0, 4.0]]))
    assert optical_axis_angle(view1, view2) == pytest.approx(angle, abs=1e-12)
    assert optical_axis_angle(view1, view1) == 0
    assert baseline(view1, view2) == pytest.approx(5.0, abs=1e-12)
