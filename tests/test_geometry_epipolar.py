"""Epipolar geometry: the constraint, and above all the signs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_rigs import EPIPOLES, SEEDS, points_seen, rigs, see
from wideflow.errors import InputError
from wideflow.geometry import (
    epipolar_directions,
    fundamental_matrix,
    oriented_epipoles,
    oriented_epipoles_from_fundamental,
    pixel_grid,
    sampson_distance,
    triangulate,
)
from wideflow.types import Camera, View

RECTIFIED = np.array([[0.0, 0, 0], [0, 0, -1], [0, 1, 0]])


def homogeneous(pixels):
    return np.column_stack([pixels, np.ones(len(pixels))])


def side(direction, offset):
    """+1 where the offset points to the right of the direction (y is down), -1 where to the left."""
    return np.sign(direction[:, 0] * offset[:, 1] - direction[:, 1] * offset[:, 0])


@settings(max_examples=100, deadline=None)
@given(rigs(), SEEDS)
def test_fundamental_matrix_annihilates_true_matches(rig, seed):
    points = points_seen(*rig, 100, seed)
    x, y = see(rig[0], points), see(rig[1], points)
    F = fundamental_matrix(*rig)
    assert np.linalg.norm(F) == pytest.approx(1)
    # Relative to the lengths of x and y, which grow without bound for points far outside picture 2.
    scale = np.linalg.norm(homogeneous(y), axis=1) * np.linalg.norm(homogeneous(x), axis=1)
    assert np.abs(np.einsum("ni,ij,nj->n", homogeneous(y), F, homogeneous(x)) / scale).max() < 1e-12
    visible = (np.abs(y) < 4000).all(axis=1)
    if visible.any():
        residual = np.einsum("ni,ij,nj->n", homogeneous(y[visible]), F, homogeneous(x[visible]))
        assert np.abs(residual).max() < 1e-9
    assert np.abs(sampson_distance(F, x, y)[visible]).max(initial=0) < 1e-6


@pytest.mark.parametrize("place", EPIPOLES)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_directions_agree_in_both_pictures(place, data, seed):
    view1, view2 = data.draw(rigs(place))
    points = points_seen(view1, view2, 100, seed)
    e1, e2 = oriented_epipoles(view1, view2)
    assert place == "at infinity" or (e1[2] > 0) == place.endswith("ahead")
    b = view2.centre - view1.centre
    normal = np.cross(b, points - view1.centre)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    sides = []
    for view, epipole in ((view1, e1), (view2, e2)):
        pixels = see(view, points)
        direction = epipolar_directions(epipole, pixels)
        np.testing.assert_allclose(np.linalg.norm(direction, axis=1), 1, atol=1e-12)
        # A small step along the base line moves the pixel along the direction, forwards.
        along = see(view, points + 1e-6 * b) - pixels
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        assert np.sum(along * direction, axis=1).min() > 0.99
        # A small step off the epipolar plane moves it to the same side in both pictures.
        sides.append(side(direction, see(view, points + 1e-6 * normal) - pixels))
    assert np.array_equal(sides[0], sides[1])


@pytest.mark.parametrize("place", EPIPOLES)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_epipoles_without_cameras_are_those_of_the_cameras(place, data, seed):
    view1, view2 = data.draw(rigs(place))
    points = points_seen(view1, view2, 60, seed)
    x, y = see(view1, points), see(view2, points)
    rng = np.random.default_rng(seed)
    x += rng.normal(0, 0.3, x.shape)
    wrong = rng.permutation(len(y))[: len(y) // 4]
    y[wrong] = rng.uniform(0, 1, (len(wrong), 2)) * view2.camera.size
    x[-1] = np.nan
    F = fundamental_matrix(view1, view2)
    truth = oriented_epipoles(view1, view2)
    for scale in (1, 30.0, -1):  # b and -b cannot be told apart: both epipoles follow the sign of F
        found = oriented_epipoles_from_fundamental(scale * F, x, y)
        np.testing.assert_allclose(found[0], np.sign(scale) * truth[0], atol=1e-6)
        np.testing.assert_allclose(found[1], np.sign(scale) * truth[1], atol=1e-6)


@pytest.mark.parametrize(
    ("F", "x", "y", "words"),
    [
        (np.eye(2), [[0, 0]], [[0, 0]], "3 x 3"),
        (np.full((3, 3), np.nan), [[0, 0]], [[0, 0]], "finite"),
        (RECTIFIED, [[0, 0]], [[0, 0], [1, 1]], "as many"),
        (RECTIFIED, np.empty((0, 2)), np.empty((0, 2)), "at least one"),
        (RECTIFIED, [[np.nan, 0]], [[0, 0]], "at least one"),
    ],
)
def test_unusable_matches_are_one_sentence(F, x, y, words):
    with pytest.raises(InputError, match=words):
        oriented_epipoles_from_fundamental(F, x, y)


@settings(max_examples=40, deadline=None)
@given(rigs(), SEEDS)
def test_sampson_distance_is_how_far_the_pixels_must_move(rig, seed):
    points = points_seen(*rig, 50, seed)
    rng = np.random.default_rng(seed)
    noise = 1e-5 * min(*rig[0].camera.size, *rig[1].camera.size)
    x, y = (see(view, points) + rng.normal(0, noise, (len(points), 2)) for view in rig)
    best = triangulate(*rig, x, y).points
    moved = sum(np.sum((see(view, best) - p) ** 2, axis=1) for view, p in zip(rig, (x, y), strict=True))
    distance = sampson_distance(fundamental_matrix(*rig), x, y)
    np.testing.assert_allclose(distance**2, moved, rtol=0.02, atol=1e-4 * noise**2)


def test_rectified_pair_in_closed_form():
    camera = Camera("a", 640, 480, np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]]))
    left = View(camera, np.eye(3, 4))
    right = View(camera, np.column_stack([np.eye(3), [-0.3, 0, 0]]))
    F = fundamental_matrix(left, right)
    np.testing.assert_allclose(F / F[2, 1], RECTIFIED, atol=1e-15)
    for epipole in oriented_epipoles(left, right):
        np.testing.assert_allclose(epipole, [1, 0, 0], atol=1e-15)
        directions = epipolar_directions(epipole, pixel_grid(640, 480))
        assert directions.shape == (480, 640, 2)
        np.testing.assert_allclose(directions - [1.0, 0.0], 0, atol=1e-15)
    # Off by dy, both pixels move by dy / 2: distance dy / sqrt(2), of one sign above and the other below.
    x, y = np.array([[10, 20], [10, 20], [10, 20]]), np.array([[5, 20], [5, 23], [5, 17]])
    distance = sampson_distance(RECTIFIED, x, y)
    np.testing.assert_allclose(distance * np.sign(distance[1]), [0, 4.5**0.5, -(4.5**0.5)], atol=1e-12)
    # the matrices of many pictures at once, as those of one
    many = sampson_distance(np.stack([RECTIFIED, F.T]), x, np.stack([y, y + 1]))
    np.testing.assert_allclose(many[0], distance)
    np.testing.assert_allclose(many[1], sampson_distance(F.T, x, y + 1))


def test_no_direction_at_the_epipole_itself():
    camera = Camera("a", 640, 480, np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]]))
    ahead = View(camera, np.column_stack([np.eye(3), [0, 0, -1.0]]))
    e1, e2 = oriented_epipoles(View(camera, np.eye(3, 4)), ahead)
    directions = epipolar_directions(e1, pixel_grid(640, 480))
    assert directions[240, 320].tolist() == [0, 0]
    # Towards the epipole where the other camera stands ahead.
    np.testing.assert_allclose(directions[240, 319], [1, 0], atol=1e-12)
    np.testing.assert_allclose(directions[241, 320], [0, -1], atol=1e-12)
    F = fundamental_matrix(View(camera, np.eye(3, 4)), ahead)
    assert sampson_distance(F, [320, 240], [320, 240]) == pytest.approx(0, abs=1e-12)
    assert sampson_distance(np.zeros((3, 3)), [320, 240], [320, 240]) == 0
    assert e2[2] > 0


def test_cameras_at_one_place_have_no_epipolar_geometry():
    camera = Camera("a", 640, 480, np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]]))
    c, s = np.cos(0.3), np.sin(0.3)
    R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    centre = np.array([1.0, 2.0, 3.0])
    turned = View(camera, np.column_stack([R, -R @ centre]))
    straight = View(camera, np.column_stack([np.eye(3), -centre]))
    for function in (fundamental_matrix, oriented_epipoles):
        with pytest.raises(InputError, match="same place"):
            function(straight, turned)
