"""Triangulation: exact where it can be, optimal where it cannot, and honest about its accuracy."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import least_squares

from random_rigs import SEEDS, looking_at, points_seen, rigs, see
from wideflow.errors import InputError
from wideflow.geometry import pixel_grid, triangulate
from wideflow.types import Camera, View


def two_phones(angle, distortion=(0.0, 0.0, 0.0, 0.0)):
    """Two different cameras, 4 units from the origin, so many radians apart."""
    rng = np.random.default_rng(7)
    small = Camera("small", 960, 540, np.array([[900.0, 0, 470], [0, 905, 275], [0, 0, 1]]), distortion)
    large = Camera("large", 1920, 1440, np.array([[1500.0, 0, 980], [0, 1500, 700], [0, 0, 1]]), distortion)
    centres = [4 * np.array([np.sin(a), 0.05, -np.cos(a)]) for a in (0, angle)]
    return tuple(looking_at(c, p, np.zeros(3), rng) for c, p in zip((small, large), centres, strict=True))


def triangulate_linear(view1, view2, x1, x2):
    """The homogeneous linear method (Hartley and Zisserman, 12.2): the baseline."""
    P1, P2 = (view.camera.K @ view.cam_from_world for view in (view1, view2))
    rows = [x[:, i, None] * P[2] - P[i] for x, P in ((x1, P1), (x2, P2)) for i in (0, 1)]
    X = np.linalg.svd(np.stack(rows, axis=1))[2][:, 3]
    return X[:, :3] / X[:, 3:]


def squared_reprojection(view1, view2, x1, x2, points):
    return sum(np.sum((see(v, points) - x) ** 2, axis=1) for v, x in ((view1, x1), (view2, x2)))


@settings(max_examples=60, deadline=None)
@given(rigs(), SEEDS)
def test_exact_projections_give_the_points_back(rig, seed):
    points = points_seen(*rig, 100, seed)
    result = triangulate(*rig, see(rig[0], points), see(rig[1], points))
    distance = np.linalg.norm(points - rig[0].centre, axis=1)
    assert (np.linalg.norm(result.points - points, axis=1) / distance).max() < 1e-9
    assert result.in_front.all()
    rays = [(points - view.centre) for view in rig]
    cosine = np.sum(rays[0] * rays[1], axis=1) / np.prod([np.linalg.norm(r, axis=1) for r in rays], axis=0)
    np.testing.assert_allclose(np.cos(result.angle), cosine, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(rigs(), SEEDS)
def test_never_reprojects_worse_than_linear(rig, seed):
    points = points_seen(*rig, 100, seed)
    rng = np.random.default_rng(seed)
    # Noise small against the picture, so that a small phone's points stay in front.
    sigma = 5e-4 * min(*rig[0].camera.size, *rig[1].camera.size)
    x1, x2 = (x + rng.normal(0, sigma, x.shape) for x in (see(rig[0], points), see(rig[1], points)))
    result = triangulate(*rig, x1, x2)
    ours = squared_reprojection(*rig, x1, x2, result.points)
    linear = squared_reprojection(*rig, x1, x2, triangulate_linear(*rig, x1, x2))
    both = np.isfinite(ours) & np.isfinite(linear)
    assert both.mean() > 0.8
    assert (ours[both] <= linear[both] * (1 + 1e-6) + 1e-12).all()


@pytest.mark.parametrize("angle", [0.05, 0.3, 1.0])
def test_noisy_points_beat_linear_on_average(angle):
    rig = two_phones(angle)
    rng = np.random.default_rng(3)
    points = rng.uniform(-1, 1, (20000, 3))
    x1, x2 = (see(view, points) + rng.normal(0, 3, (len(points), 2)) for view in rig)
    ours, linear = triangulate(*rig, x1, x2).points, triangulate_linear(*rig, x1, x2)
    for measure in (
        lambda p: np.mean(squared_reprojection(*rig, x1, x2, p)),
        lambda p: np.mean(np.linalg.norm(p - points, axis=1)),
    ):
        assert measure(ours) < measure(linear)


def one_behind_the_other():
    """The epipoles lie inside both pictures."""
    rng = np.random.default_rng(8)
    near, far = (view.camera for view in two_phones(0.4))
    centres = np.array([[0.3, 0, -3.0], [0, 0.2, -5.0]])
    return tuple(looking_at(c, p, np.zeros(3), rng) for c, p in zip((near, far), centres, strict=True))


@pytest.mark.parametrize(("rig", "sigma"), [(two_phones(0.4), 10), (one_behind_the_other(), 2)])
def test_is_the_minimum_that_a_general_solver_finds(rig, sigma):
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 1, (30, 3))
    x1, x2 = (see(view, points) + rng.normal(0, sigma, (30, 2)) for view in rig)
    found = triangulate(*rig, x1, x2).points
    for i, start in enumerate(points):
        best = least_squares(
            lambda p, i=i: np.concatenate([see(rig[0], p) - x1[i], see(rig[1], p) - x2[i]]),
            start,
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        )
        np.testing.assert_allclose(found[i], best.x, atol=1e-6)


@pytest.mark.parametrize("angle", [0.1, 0.7])
def test_covariance_is_that_of_many_trials(angle):
    rig, sigma = two_phones(angle), 0.5
    point = np.array([0.3, -0.2, 0.4])
    rng = np.random.default_rng(11)
    x1, x2 = (see(view, point) + rng.normal(0, sigma, (40000, 2)) for view in rig)
    observed = np.cov(triangulate(*rig, x1, x2).points.T)
    exact = triangulate(*rig, see(rig[0], point), see(rig[1], point))
    predicted = sigma**2 * exact.covariance
    # Whitened by the prediction, the observed covariance is the identity.
    L = np.linalg.inv(np.linalg.cholesky(predicted))
    np.testing.assert_allclose(L @ observed @ L.T, np.eye(3), atol=0.05)


def test_distorted_pictures():
    rig = two_phones(0.3, (-0.25, 0.08, 0.001, -0.002))
    points = np.random.default_rng(1).uniform(-0.8, 0.8, (200, 3))
    result = triangulate(*rig, see(rig[0], points), see(rig[1], points))
    np.testing.assert_allclose(result.points, points, atol=1e-9)


def test_a_whole_picture_keeps_its_shape():
    rig = two_phones(0.3)
    grid = pixel_grid(12, 7)
    result = triangulate(*rig, grid + np.array([464, 271]), grid + np.array([970, 690]))
    assert result.points.shape == (7, 12, 3)
    assert result.covariance.shape == (7, 12, 3, 3)
    assert result.angle.shape == result.in_front.shape == (7, 12)
    assert np.isfinite(result.points).all()


def test_what_cannot_be_triangulated_says_so():
    camera = Camera("a", 640, 480, np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]]))
    left = View(camera, np.eye(3, 4))
    right = View(camera, np.column_stack([np.eye(3), [-0.5, 0, 0]]))
    x1 = np.array([[320.0, 240], [320, 240], [320, 240], [np.nan, 240]])
    x2 = np.array([[270.0, 240], [320, 240], [370, 240], [270, 240]])  # depth 5, infinity, -5, unknown
    result = triangulate(left, right, x1, x2)
    np.testing.assert_allclose(result.points[0], [0, 0, 5], atol=1e-12)
    np.testing.assert_allclose(result.points[2], [0, 0, -5], atol=1e-12)
    assert np.isnan(result.points[[1, 3]]).all()
    assert result.in_front.tolist() == [True, False, False, False]
    assert result.angle[1] == 0


def test_in_front_means_of_both():
    camera = Camera("a", 640, 480, np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]]))
    first = View(camera, np.eye(3, 4))
    ahead = View(camera, np.column_stack([np.eye(3), [-0.5, 0, -4.0]]))
    point = np.array([0.2, 0.1, 2.0])  # between the two: behind the second, which looks away from it
    pixels = [(p[:2] / p[2]) * 500 + [320, 240] for p in (point, point - [0.5, 0, 4.0])]
    for views, x in (((first, ahead), pixels), ((ahead, first), pixels[::-1])):
        result = triangulate(*views, *x)
        np.testing.assert_allclose(result.points, point, atol=1e-12)
        assert not result.in_front


def test_depth_variance_in_closed_form():
    # Rectified: Z = f B / d, and d has variance 2, so var(Z) = 2 (Z^2 / f B)^2.
    camera = Camera("a", 640, 480, np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]]))
    left = View(camera, np.eye(3, 4))
    right = View(camera, np.column_stack([np.eye(3), [-0.5, 0, 0]]))
    covariance = triangulate(left, right, [320.0, 240], [270.0, 240]).covariance
    assert covariance[2, 2] == pytest.approx(2 * (5**2 / (500 * 0.5)) ** 2, rel=1e-9)
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-12, atol=1e-15)


def test_unequal_lists_are_refused():
    with pytest.raises(InputError, match="pairs"):
        triangulate(*two_phones(0.3), np.zeros((3, 2)), np.zeros((4, 2)))
