"""First matches from a sweep of planes, against scenes whose planes are known."""

import cv2
import numpy as np
import pytest

from matching_scenes import look_up, texture
from wideflow import match
from wideflow.config import MatchConfig
from wideflow.geometry import PairGeometry, pixel_grid
from wideflow.geometry.orientations import downward, usual_orientations
from wideflow.matching.plane_labels import plane_labels
from wideflow.matching.plane_volume import plane_volumes
from wideflow.matching.semiglobal import likeliest
from wideflow.types import Camera, View

SIZE = 320, 200
DOWN = np.array([0.0, 1.0, 0.0])


def cameras(degrees: float, pitch: float = 15.0) -> tuple[View, View]:
    """Two cameras 1.2 units above the floor and 4 from one point of it, looking down by ``pitch``."""
    width, height = SIZE
    views = []
    for side in (-0.5, 0.5):
        turn, tilt = np.deg2rad(degrees * side), np.deg2rad(pitch)
        ahead = np.array([-np.sin(turn) * np.cos(tilt), np.sin(tilt), np.cos(turn) * np.cos(tilt)])
        right = np.cross(DOWN, ahead) / np.cos(tilt)
        R = np.stack([right, np.cross(ahead, right), ahead])
        centre = np.array([4 * np.sin(turn), -1.2, -4 * np.cos(turn)])
        K = np.array([[300.0, 0, width / 2], [0, 300.0, height / 2], [0, 0, 1]])
        views.append(View(Camera(f"camera {side}", width, height, K), np.column_stack([R, -R @ centre])))
    return views[0], views[1]


def floor_homography(view: View) -> np.ndarray:
    """From places (x, z) of the floor y = 0 to pixels."""
    t = -view.R @ view.centre
    return view.camera.K @ np.column_stack([view.R[:, 0], view.R[:, 2], t])


def floor_pair(degrees: float) -> tuple[tuple[View, View], list[np.ndarray], np.ndarray, np.ndarray]:
    """Cameras, pictures of a textured floor, the homography between them, and pixels (H, W) seen in both."""
    views = cameras(degrees)
    sheet = texture(1600, 1600, 3)
    grid = pixel_grid(*SIZE)
    pictures, known = [], []
    for view in views:
        places = cv2.perspectiveTransform(grid, np.linalg.inv(floor_homography(view)))
        w = (np.dstack([grid, np.ones(grid.shape[:2])]) @ np.linalg.inv(floor_homography(view)).T)[..., 2]
        sign = np.sign((np.array([SIZE[0] / 2, SIZE[1] - 1, 1]) @ np.linalg.inv(floor_homography(view)).T)[2])
        spot = places * 160 + 800
        known.append((w * sign > 0) & (spot > 5).all(-1) & (spot < 1595).all(-1))
        picture = look_up(sheet, np.where(known[-1][..., None], spot, 0))
        picture[~known[-1]] = 0.5
        pictures.append(picture.astype(np.float32))
    H = floor_homography(views[1]) @ np.linalg.inv(floor_homography(views[0]))
    there = cv2.perspectiveTransform(grid, H)
    inside = ((there >= 4) & (there <= np.array(SIZE) - 5)).all(-1)
    sight = cv2.remap(known[1].astype(np.float32), there.astype(np.float32), None, cv2.INTER_LINEAR) > 0.99
    return views, pictures, H, known[0] & inside & sight


@pytest.mark.parametrize("degrees", [10.0, 25.0, 45.0])
def test_axes_of_cameras_tell_where_down_is(degrees: float) -> None:
    off = np.rad2deg(np.arccos(downward(*cameras(degrees)) @ DOWN))
    assert off < (4 if degrees > 20 else 16)  # beside each other they tell little of how far they look down


def test_planes_of_an_orientation_vanish_at_its_line() -> None:
    """The inverse depth of the true floor is a multiple of its line's value at each pixel."""
    view, other = cameras(40)
    line = usual_orientations(view, other)[1]
    pixels = np.dstack([pixel_grid(*SIZE), np.ones(SIZE[::-1])])[120:]
    normal = view.R @ downward(view, other)
    true = pixels @ np.linalg.inv(view.camera.K).T @ normal
    assert (true > 0).all()
    assert np.ptp((pixels @ line) / true) < 1e-9


def test_true_plane_costs_least_in_both_pictures() -> None:
    _, pictures, H, seen = floor_pair(40)
    shifts = [np.array([[1, 0, dx], [0, 1, 0], [0, 0, 1.0]]) for dx in (0, -12, -6, 6, 12)]
    H = H * np.sign(H[2] @ [SIZE[0] / 2, SIZE[1] - 20, 1])
    there, back = plane_volumes((pictures[0], pictures[1]), np.stack([shift @ H for shift in shifts]))
    assert (there[seen].argmin(-1) == 0).mean() > 0.85  # far away it is seen too small
    assert there[seen][:, 0].mean() < 0.6 * there[seen][:, 1:].mean()
    landed = cv2.perspectiveTransform(pixel_grid(*SIZE), H)[seen].round().astype(int)
    assert (back[landed[:, 1], landed[:, 0]].argmin(-1) == 0).mean() > 0.85


def test_lines_agree_on_the_plane_that_noise_hides() -> None:
    chance = np.random.default_rng(0)
    truth = np.zeros((40, 60), int)
    truth[:, 30:] = 7
    volume = chance.integers(60, 120, (40, 60, 12)).astype(np.uint8)
    volume[np.arange(40)[:, None], np.arange(60), truth] -= 25
    assert (volume.argmin(-1) == truth).mean() < 0.9
    joined = np.ones(12, bool)
    joined[0] = False
    grey = np.where(truth == 0, 50, 200).astype(np.uint8)
    assert (likeliest(volume, joined, grey) == truth).mean() > 0.98


def test_planes_are_tried_where_matches_lie() -> None:
    views, _, H, seen = floor_pair(40)
    pixels = pixel_grid(*SIZE)[seen][::7].astype(np.float64)
    flow = (cv2.perspectiveTransform(pixels[None], H)[0] - pixels).astype(np.float32)
    geometry = PairGeometry.from_views(*views)
    labels = plane_labels(geometry, SIZE[::-1], pixels, flow)
    assert labels is not None
    assert not labels.joined[0]
    off = [
        np.median(np.linalg.norm(cv2.perspectiveTransform(pixels[None], each)[0] - pixels - flow, axis=1))
        for each in labels.homographies
    ]
    assert min(off) < 5  # the estimate of down is a little off, and so is every floor
    assert plane_labels(geometry, SIZE[::-1], pixels[:5], flow[:5]) is None


@pytest.mark.slow
def test_floor_is_found_however_slanted() -> None:
    """At 45 degrees an upright descriptor finds little of a floor, and planes nearly all."""
    views, pictures, H, seen = floor_pair(45)
    truth = cv2.perspectiveTransform(pixel_grid(*SIZE), H) - pixel_grid(*SIZE)
    wrong = {}
    for search in ("planes", "line"):
        found = match(*pictures, views=views, config=MatchConfig(search=search))
        wrong[search] = (np.linalg.norm(found.forward.uv - truth, axis=-1)[seen] > 3).mean()
    assert wrong["planes"] < 0.08
    assert wrong["planes"] < wrong["line"]
