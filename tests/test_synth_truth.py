"""Ground truth and light of two planes against closed forms."""

import numpy as np

from wideflow.geometry import pixel_grid
from wideflow.synth.points import follow_points
from wideflow.synth.rendering.scene import Light, Scene
from wideflow.synth.rendering.shade import radiance
from wideflow.synth.textures.walls import terrazzo
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.mesh import rectangle
from wideflow.synth.truth import render_truth
from wideflow.types import Camera, View

PIN = Camera("a", 64, 48, np.array([[60.0, 0, 31], [0, 60, 24], [0, 0, 1]]))
WEST = View(PIN, np.array([[1.0, 0, 0, 0], [0, 0, -1, 1], [0, 1, 0, 5]]))  # at (0, -5, 1), looking along +y
EAST = View(PIN, WEST.cam_from_world - [[0, 0, 0, 0.5], [0] * 4, [0] * 4])  # half a metre to its right
LIGHT = Light((0, -0.6, 0.8), (2, 2, 2), (1, 1, 1), (1, 1, 1), (0.3, 0.3, 0.3), 0.01)
STEP = np.array([0.3, -0.2, 0.1])


def small_scene() -> Scene:
    """A wall at y = 4 and, at y = 0, a square of one metre that moves by STEP in a second."""
    stone = Material(terrazzo, "stone", 64, gloss=0.8)
    wall = rectangle((-9, 4, -9), (18, 0, 0), (0, 0, 18), 1.0)
    square = rectangle((-0.5, 0, 0.5), (1, 0, 0), (0, 0, 1), 0.25)
    bodies = [Body("wall", wall, stone), Body("square", square, stone, lambda t: square.vertices + t * STEP)]
    return Scene(bodies, LIGHT, 0, 1.0, 1)


def test_truth_of_planes_is_the_closed_form() -> None:
    scene = small_scene()
    now, later = scene.state(0.0), scene.state(1.0)
    truth = render_truth(scene, (now, WEST, EAST), (later, WEST, EAST), 1)
    x, y = (pixel_grid(64, 48)[..., i] for i in (0, 1))
    # Rays of the pixels at the square's depth of 5 and at the wall's of 9.
    at5, at9 = (x - 31) / 60 * 5, (x - 31) / 60 * 9
    high5, high9 = 1 - (y - 24) / 60 * 5, 1 - (y - 24) / 60 * 9
    square = (np.abs(at5) < 0.5) & (np.abs(high5 - 1) < 0.5)
    near_edge = (np.abs(np.abs(at5) - 0.5) < 1e-6) | (np.abs(np.abs(high5 - 1) - 0.5) < 1e-6)
    clear = ~near_edge
    np.testing.assert_allclose(truth.depth[clear], np.where(square, 5, 9)[clear], atol=1e-5)
    wanted = np.where(square[..., None], STEP, 0)
    np.testing.assert_allclose(truth.motion[clear], wanted[clear], atol=1e-6)
    np.testing.assert_array_equal(truth.object[clear], square[clear].astype(int))
    # Seen from the east, a point of the wall is hidden if its ray meets the square 4 m before the wall.
    meets = 0.5 + (at9 - 0.5) * 5 / 9
    meets_high = 1 + (high9 - 1) * 5 / 9
    hidden = ~square & (np.abs(meets) < 0.5) & (np.abs(meets_high - 1) < 0.5)
    column = 31 + 60 * (np.where(square, at5, at9) - 0.5) / np.where(square, 5, 9)
    visible = ~hidden & (column >= -0.5) & (column <= 63.5)
    margin = np.abs(np.abs(meets) - 0.5) > 0.02
    agree = (truth.stereo_visible == visible) | ~margin | near_edge | (np.abs(column + 0.5) < 1e-6)
    assert agree.all()
    assert hidden.any()


def test_a_sheet_seen_from_behind_is_another_surface() -> None:
    scene = small_scene()
    state = scene.state(0.0)
    flip = np.diag([-1.0, 1, -1])
    behind = View(
        PIN, np.column_stack([flip @ WEST.R, flip @ WEST.t + [0, 0, 8]])
    )  # at (0, 3, 1), looking back
    truth = render_truth(scene, (state, WEST, behind), (state, WEST, behind), 1)
    square = truth.object == 1
    assert square.any()
    assert not truth.stereo_visible[square].any()
    assert truth.optical_visible[square].all()


def test_light_depends_on_the_view_only_with_gloss() -> None:
    scene = small_scene()
    points = np.array([[-1.5, 4, 0.8], [1.1, 4, 1.6], [0.1, 0, 1.0]])
    seen = []
    for gloss in (False, True):
        for centre in (WEST.centre, WEST.centre + np.array([4.0, 0, 0])):
            rays = points - centre
            seen.append(radiance(scene, scene.state(0.0), centre, rays, np.zeros((2, 3)), 0, gloss))
    np.testing.assert_allclose(seen[0], seen[1], rtol=1e-4)
    assert np.abs(seen[2] - seen[3]).min() > 1e-3
    assert (seen[2] > seen[0] + 0.01).all()


def test_texture_sticks_to_its_place() -> None:
    """On the evenly lit wall, radiance is proportional to the texture at (x + 9, 9 - z)."""
    scene = small_scene()
    texture = terrazzo(np.random.default_rng([0, 2, *b"stone"]), 64)
    x, z = np.random.default_rng(0).uniform((1, 2), (8, 8), (500, 2)).T
    towards = np.stack([x, np.full(500, 4.0), z], 1) - WEST.centre
    found = radiance(scene, scene.state(0.0), WEST.centre, towards, np.zeros((2, 3)), 0, False)
    column, row = (np.stack([x + 9, 9 - z]) % 1 * 64).astype(int)
    wanted = texture.albedo[row, column]
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.9
    assert np.corrcoef(found.ravel(), texture.albedo[column, row].ravel())[0, 1] < 0.6


def test_shadow_falls_where_the_sun_says() -> None:
    """The sun stands 0.8 above 0.6 before: the square shades the wall 4 * 0.8 / 0.6 = 5.33 m lower."""
    scene = small_scene()
    scene.make_plain({0}, 0.0)
    heights = np.linspace(-5.5, -3.0, 26)
    points = np.stack([np.zeros(26), np.full(26, 4.0), heights], 1)
    towards = points - WEST.centre
    lit = radiance(scene, scene.state(0.0), WEST.centre, towards, np.zeros((2, 3)), 0, False).mean(1)
    shaded = (heights > -4.83 + 0.05) & (heights < -3.83 - 0.05)
    free = (heights < -4.83 - 0.1) | (heights > -3.83 + 0.1)
    assert lit[shaded].max() < 0.7 * lit[free].min()


def test_points_are_followed_to_where_the_scene_takes_them() -> None:
    scene = small_scene()
    states = [scene.state(t) for t in (0.0, 1.0, 4.0)]
    pixels = np.array([[31.0, 24.0], [10.0, 24.0], [36.0, 20.0]])  # square, wall, square
    found = follow_points(scene, [(states[0], WEST), (states[1], EAST), (states[2], WEST)], 0, pixels)
    start = np.array([[0, 0, 1], [-21 / 60 * 9, 4, 1], [5 / 60 * 5, 0, 1 + 4 / 60 * 5]])
    moves = np.array([1.0, 0.0, 1.0])[:, None]
    for row, time in zip(found.xyz, (0.0, 1.0, 4.0), strict=True):
        np.testing.assert_allclose(row, start + time * moves * STEP, atol=1e-5)
    np.testing.assert_array_equal(found.visible[:2], True)
    behind = follow_points(scene, [(states[0], EAST), (states[0], WEST)], 0, [[50.0, 24.0], [32.0, 24.0]])
    # the square hides the second from the west
    assert behind.visible.tolist() == [[True, True], [True, False]]


def test_a_ray_into_the_sky_has_no_point() -> None:
    scene = small_scene()
    away = View(PIN, np.diag([-1.0, 1, -1]) @ WEST.cam_from_world)
    found = follow_points(scene, [(scene.state(0.0), away)], 0, [[31.0, 24.0]])
    assert np.isnan(found.xyz).all()
    assert not found.visible.any()
