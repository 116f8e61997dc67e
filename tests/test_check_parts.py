"""The measures of a check, each against a truth that is known."""

import cv2
import numpy as np
import pytest

from check_scenes import SIZE, box, ray_angle, still, turn
from wideflow.check.agreement import compare, compare_along
from wideflow.check.border import borders
from wideflow.check.camera_motion import camera_motion
from wideflow.check.light import light
from wideflow.check.moments import Still
from wideflow.check.shared import shared_view
from wideflow.check.sharpness import edge_blur


def textured(seed: int = 1, size: tuple[int, int] = SIZE) -> np.ndarray:
    """A grey picture of sharp polygons in all directions."""
    rng = np.random.default_rng(seed)
    picture = np.full(size[::-1], 120, np.uint8)
    for _ in range(120):
        corners = (rng.uniform((0, 0), size) + rng.uniform(-50, 50, (4, 2))).astype(np.int32)
        cv2.fillConvexPoly(picture, cv2.convexHull(corners), int(rng.integers(30, 220)), cv2.LINE_AA)
    return picture


@pytest.mark.parametrize("sigma", [1.0, 2.0, 3.0])
def test_blur_is_measured_in_pixels(sigma: float) -> None:
    sharp = textured()
    assert edge_blur(sharp) < 0.7
    assert edge_blur(cv2.GaussianBlur(sharp, (0, 0), sigma)) == pytest.approx(sigma, rel=0.25)


@pytest.mark.parametrize("direction", [0, 1])
def test_motion_blur_shows_though_edges_along_it_stay_sharp(direction: int) -> None:
    for length, least in ((5, 1.2), (11, 3.0), (21, 5.0)):
        kernel = np.full((1, length), 1 / length, np.float32)
        moved = cv2.filter2D(textured(), -1, kernel if direction else kernel.T)
        assert edge_blur(moved) > least


def test_a_picture_without_edges_has_no_blur_to_measure() -> None:
    assert np.isnan(edge_blur(np.full((90, 160), 77, np.uint8)))


def test_wrong_matches_agree_by_chance_and_true_ones_do_not() -> None:
    scene, rng = box(60), np.random.default_rng(3)
    first = still(scene)
    true = compare(first, still(scene, turn(1, 10), (1.0, 0, 0), index=1))
    assert true is not None
    assert not true.by_chance
    for seed in range(5):
        shuffled = rng.permutation(scene) + rng.uniform(-0.5, 0.5, scene.shape)
        wrong = compare(first, still(shuffled, index=seed))
        assert wrong is None or wrong.by_chance


@pytest.mark.parametrize("degrees", [5.0, 12.0, 25.0])
@pytest.mark.parametrize("focal", [0.78, 0.96])
def test_the_angle_is_found_without_knowing_the_lens(degrees: float, focal: float) -> None:
    scene, reach = box(), 6 * np.tan(np.radians(degrees))
    both, places = [], []
    for k in range(6):  # hands drift, so every moment is another pair
        a, b = (0.03 * k, -0.02 * k, 0.0), (reach + 0.04 * k, 0.05 * k, 0.1)
        turned = turn(1, degrees - 0.5 * k) @ turn(0, 0.7 * k - 1)
        both.append(
            (still(scene, turn(0, 0.4 * k), a, focal, 2 * k), still(scene, turned, b, focal, 2 * k + 1))
        )
        places.append((a, b))
    found = shared_view(both)
    true = np.median([ray_angle(scene, a, b) for a, b in places])
    assert found.found == found.moments == 6
    assert found.angle == pytest.approx(true, rel=0.2)
    assert abs(found.roll) < 5
    assert found.flat < 0.7
    assert not found.one_clip


def test_clips_of_different_scenes_share_nothing() -> None:
    rng = np.random.default_rng(0)
    both = [(still(box(300, k)), still(rng.permutation(box(300, k + 50)), index=k)) for k in range(4)]
    found = shared_view(both)
    assert found.found == 0
    assert np.isnan(found.angle)


def test_one_clip_given_twice_is_noticed_and_so_is_a_phone_held_sideways() -> None:
    scene = box()
    view = still(scene)
    assert shared_view([(view, view)] * 3).one_clip
    sideways = [
        (still(scene), still(scene, turn(2, 80) @ turn(1, 8), (0.9, 0, 0), index=k)) for k in range(3)
    ]
    found = shared_view(sideways)
    assert not found.one_clip
    assert abs(found.roll) == pytest.approx(80, abs=8)


def with_mover(scene: np.ndarray, k: int) -> np.ndarray:
    """A fifth of the points dances by itself."""
    out = scene.copy()
    count = len(scene) // 5
    out[:count] += np.random.default_rng(k).normal(0, 0.15, (count, 3))
    return out


@pytest.mark.parametrize(
    ("kind", "turning", "moving", "zoom"),
    [
        ("stands", 0.0, 0.0, 1.0),
        ("turns", 2.0, 0.0, 1.0),
        ("moves", 0.0, 0.08, 1.0),
        ("moves", 1.0, 0.08, 1.0),
        ("turns", 0.5, 0.0, 1.06),
    ],
)
@pytest.mark.parametrize("mover", [False, True])
def test_standing_turning_moving_and_zooming_are_told_apart(
    kind: str, turning: float, moving: float, zoom: float, mover: bool
) -> None:
    scene = box()
    stills = [
        still(
            with_mover(scene, k) if mover else scene,
            turn(1, turning * k),
            (moving * k, 0, 0),
            0.85 * zoom**k,
            k,
        )
        for k in range(6)
    ]
    found = camera_motion(compare_along(stills))
    assert found.kind == kind
    if zoom == 1:
        assert found.zoom < 1.04
    else:  # from the first to the last, or from one to the next if what moves hides more
        assert found.zoom == pytest.approx(zoom**5, rel=0.04) or found.zoom == pytest.approx(zoom, rel=0.02)


def test_pictures_of_a_camera_with_nothing_in_common_are_unclear() -> None:
    assert camera_motion([]).kind == "unclear"


def lit(index: int, stops: float) -> Still:
    """A picture of grey points on grey, brighter by some stops of light."""
    view = still(box(), index=index, noise=0.05)
    grey = np.full(SIZE[::-1], min(255, round(90 * 2 ** (stops / 2.2))), np.uint8)
    return Still(index, view.rgb, grey, view.points)


def test_exposure_that_drifts_is_counted_in_stops() -> None:
    steady = [lit(k, 0.0) for k in range(5)]
    assert light(steady, compare_along(steady)).drift == pytest.approx(0, abs=0.02)
    drifting = [lit(k, stops) for k, stops in enumerate((0, 0.3, 0.6, 1.0, 0.5))]
    assert light(drifting, compare_along(drifting)).drift == pytest.approx(1.0, abs=0.1)


def test_white_balance_that_drifts_is_counted_too() -> None:
    def tinted(index: int, stops: float) -> Still:
        view = still(box(), index=index, noise=0.05)
        colour = 90 * 2 ** (np.array([stops / 2, 0, -stops / 2]) / 2.2)
        rgb = np.broadcast_to(colour.round().astype(np.uint8), (*SIZE[::-1], 3)).copy()
        return Still(index, rgb, view.grey, view.points)

    drifting = [tinted(k, stops) for k, stops in enumerate((0, 0.2, 0.5, 0.4))]
    found = light(drifting, compare_along(drifting))
    assert found.tint == pytest.approx(0.5, abs=0.05)
    assert found.drift == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(("zoom", "nearer", "focal"), [(1.0, 0.9, 0.8), (1.06, 0.0, 0.9), (0.9, 0.3, 0.9)])
def test_a_zoom_is_told_from_coming_nearer(zoom: float, nearer: float, focal: float) -> None:
    scene, both = box(400), []
    for k in range(3):
        share = k / 2
        a = still(
            with_mover(scene, k), turn(1, share), (0.1 * share, 0, nearer * share), focal * zoom**share, 2 * k
        )
        b = still(with_mover(scene, k), turn(1, 9), (1.0, 0.05 * share, 0), 0.84, 2 * k + 1)
        both.append((a, b))
    a, b = shared_view(both).lenses
    assert a.moments == b.moments == 2
    assert b.zoom < 1.01
    factor = max(zoom, 1 / zoom)
    assert factor - 0.05 < a.zoom < factor + 0.01


def test_white_and_black_are_shares_of_the_picture() -> None:
    grey = textured()
    grey[:90], grey[-36:] = 255, 0
    view = still(box())
    found = light([Still(0, view.rgb, grey, view.points)], [])
    assert found.white == pytest.approx(0.25, abs=0.01)
    assert found.black == pytest.approx(0.1, abs=0.01)


def test_black_borders_are_measured_and_a_dark_picture_has_none() -> None:
    grey = textured()
    assert borders(grey).tolist() == [0, 0, 0, 0]
    grey[:, :32], grey[-36:] = 5, 0
    np.testing.assert_allclose(borders(grey), [0.05, 0, 0, 0.1])
    assert borders(np.zeros((90, 160), np.uint8)).tolist() == [0, 0, 0, 0]
