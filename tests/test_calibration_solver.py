"""The solver of calibration on points whose cameras are known: adjustment, bodies that move, one world."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_scenes import KEYS, LENS, filmed, hands, pixels, unknown_lenses
from wideflow.calibration.sightings.keys import number_poses, stands_still
from wideflow.calibration.solution import other_lenses
from wideflow.calibration.solving.bundle import Bundle, adjust, deviations, joined, parted, resect, residuals
from wideflow.calibration.solving.moments import solve_moments
from wideflow.calibration.solving.spread import left_out
from wideflow.calibration.solving.world import build_world
from wideflow.config import CalibrateConfig


@pytest.fixture(scope="module")
def bundle() -> tuple[Bundle, Bundle]:
    """A bundle that is right but for noise of 0.2 px, and one to start from."""
    rng = np.random.default_rng(0)
    points = rng.uniform((-2, -1.2, 4), (2, 1.2, 8), (800, 3))
    poses = hands(rng, KEYS).reshape(-1, 3, 4)
    pose, point = (each.ravel() for each in np.meshgrid(np.arange(2 * KEYS), np.arange(len(points))))
    camera = np.arange(2 * KEYS) % 2
    xy = np.empty((len(pose), 2))
    for n in range(2 * KEYS):
        xy[pose == n] = pixels(LENS[n % 2], poses[n], points)
    prior = np.array([[np.log(512.0), 319.5, 179.5, 0.0]] * 2)
    spread = np.array([[0.25, 6.4, 6.4, 0.06]] * 2)
    true = Bundle(
        LENS,
        prior,
        spread,
        poses,
        camera,
        np.arange(2 * KEYS) == 0,
        points,
        pose,
        point,
        xy + rng.normal(0, 0.2, xy.shape),
        np.ones(len(pose)),
    )
    turn = Rotation.from_rotvec(np.where(true.fixed[:, None], 0, rng.normal(0, 0.01, (2 * KEYS, 3))))
    moved = turn.as_matrix() @ poses
    start = replace(true, lenses=prior, poses=moved, points=points + rng.normal(0, 0.1, points.shape))
    return true, start


def test_adjustment_finds_lenses_poses_and_points(bundle: tuple[Bundle, Bundle]) -> None:
    _, start = bundle
    assert np.median(residuals(start)) > 5
    found = adjust(adjust(start, 2.0, 30, 0.2), 0.5, 30, 0.2)
    assert np.median(residuals(found)) < 0.25
    assert np.exp(found.lenses[:, 0]) == pytest.approx(np.exp(LENS[:, 0]), rel=0.004)
    assert found.lenses[:, 1:3] == pytest.approx(LENS[:, 1:3], abs=1.0)
    assert found.lenses[:, 3] == pytest.approx(LENS[:, 3], abs=0.005)


def test_wrong_sightings_do_little_and_known_lenses_stay(bundle: tuple[Bundle, Bundle]) -> None:
    true, start = bundle
    rng = np.random.default_rng(1)
    wrong = rng.random(len(true.xy)) < 0.1
    xy = np.where(wrong[:, None], true.xy + rng.uniform(-40, 40, true.xy.shape), true.xy)
    known = replace(start, lenses=LENS, spread=np.zeros((2, 4)), xy=xy)
    found = adjust(adjust(known, 2.0, 20), 0.5, 20)
    assert (found.lenses == LENS).all()
    assert np.median(residuals(found)[~wrong]) < 0.3
    assert np.median(residuals(found)[wrong]) > 10


def test_bundles_that_share_lenses_are_joined_and_parted(bundle: tuple[Bundle, Bundle]) -> None:
    _, start = bundle
    both = adjust(joined(start, start), 2.0, 20, 0.2)
    one, two = parted(both, start, start)
    assert (one.lenses == two.lenses).all()
    assert np.median(residuals(one)) < 1
    assert np.median(residuals(two)) < 1


def test_a_camera_is_placed_by_points(bundle: tuple[Bundle, Bundle]) -> None:
    true, _ = bundle
    own = true.pose == 5
    pose, off = resect(LENS[1], true.poses[7], true.points, true.xy[own], np.ones(np.count_nonzero(own)), 1.0)
    assert pose == pytest.approx(true.poses[5], abs=0.01)
    assert np.median(off) < 0.3


def few(bundle: Bundle, count: int) -> Bundle:
    """The same with its first points only."""
    kept = bundle.point < count
    rest = {name: getattr(bundle, name)[kept] for name in ("pose", "point", "xy", "weight")}
    return replace(bundle, points=bundle.points[:count], **rest)


def test_deviations_are_those_of_lenses_found_again_and_again(bundle: tuple[Bundle, Bundle]) -> None:
    true = few(bundle[0], 150)
    clean = np.concatenate([pixels(LENS[n % 2], true.poses[n], true.points) for n in range(2 * KEYS)])
    order = np.lexsort((true.point, true.pose))
    rng, off = np.random.default_rng(5), []
    for _ in range(12):
        xy = true.xy.copy()
        xy[order] = clean + rng.normal(0, 0.3, clean.shape)
        off.append((adjust(replace(true, xy=xy), 5.0, 15, 0.3).lenses - LENS).ravel())
    lenses, _ = deviations(true, 5.0, 0.3)
    assert lenses.shape == (8, 2, 4)
    whitened = np.linalg.solve(lenses.reshape(8, 8).T, np.transpose(off))
    assert 0.75 < np.sqrt(np.mean(whitened**2)) < 1.3
    assert (deviations(true, 5.0, 0.9)[0][0, 0, 0] / lenses[0, 0, 0]) == pytest.approx(3, rel=0.1)


def test_poses_follow_the_deviations_of_the_lenses(bundle: tuple[Bundle, Bundle]) -> None:
    best = adjust(few(bundle[0], 150), 5.0, 30, 0.3)
    lenses, poses = deviations(best, 5.0, 0.3)
    step = int(np.argmax(np.abs(lenses[:, 0, 0])))
    held = replace(best, lenses=best.lenses + lenses[step], spread=np.zeros((2, 4)))
    moved = adjust(held, 5.0, 30, 0.3, 1e-9).poses
    turned = Rotation.from_matrix(moved[:, :, :3] @ best.poses[:, :, :3].swapaxes(1, 2)).as_rotvec()
    assert np.abs(turned).max() > 1e-4
    assert turned == pytest.approx(poses[step, :, :3], abs=0.1 * np.abs(turned).max())


def test_known_lenses_leave_nothing_open(bundle: tuple[Bundle, Bundle]) -> None:
    known = replace(few(bundle[0], 50), spread=np.zeros((2, 4)))
    lenses, poses = deviations(known, 1.0, 0.3)
    assert lenses.shape == (0, 2, 4)
    assert poses.shape == (0, 2 * KEYS, 6)


@pytest.mark.parametrize("moving", [0.1, 0.45])
def test_one_world_is_what_stands_still(moving: float) -> None:
    matches, tracks, keys, poses, mover = filmed(moving, 0.12)
    prior = unknown_lenses()
    moments = solve_moments(matches, prior)
    assert moments is not None
    assert set(moments.poses) == set(matches)
    world = build_world(tracks, moments, keys, prior, 0)
    assert world is not None
    assert world.placed.all()
    assert world.static[mover].mean() < 0.05
    assert world.static[~mover].mean() > 0.6
    assert np.exp(world.bundle.lenses[:, 0]) == pytest.approx(np.exp(LENS[:, 0]), rel=0.02)
    turns = []
    for key in range(KEYS):
        found = [world.bundle.poses[keys.pose[c, key]][:, :3] for c in (0, 1)]
        R = found[1] @ found[0].T @ (poses[key, 1, :, :3] @ poses[key, 0, :, :3].T).T
        turns.append(np.degrees(Rotation.from_matrix(R).magnitude()))
    assert np.median(turns) < 0.3
    others = left_out(world, tracks, prior)
    assert len(others) == 8
    spread = np.std([other.lenses[:, 0] for other in others], axis=0) * np.sqrt(7)
    assert (spread < 0.05).all()
    assert (np.abs(world.bundle.lenses[:, 0] - LENS[:, 0]) < 6 * spread).all()


def test_a_world_of_wrong_lenses_gives_way_to_one_in_which_more_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wideflow.calibration.solution._OTHER_LENSES", (0.8,))  # others take as long
    matches, tracks, keys, _, _ = filmed(0.3, 0.12)
    prior, settings = unknown_lenses(), CalibrateConfig()
    mean, spread = LENS.copy(), prior.spread.copy()
    mean[:, 0] += np.log(1.25)
    spread[:, 0] = 1e-4
    held = replace(prior, mean=mean, spread=spread)
    wrong = solve_moments(matches, held)
    assert wrong is not None
    world = build_world(tracks, wrong, keys, held, 0)
    assert world is not None
    assert np.exp(world.bundle.lenses[:, 0] - LENS[:, 0]) == pytest.approx([1.25, 1.25], rel=0.01)
    other = other_lenses(world, matches, tracks, wrong, keys, prior, settings)
    assert np.count_nonzero(other.bundle.weight) > 1.02 * np.count_nonzero(world.bundle.weight)
    assert np.exp(other.bundle.lenses[:, 0]) == pytest.approx(np.exp(LENS[:, 0]), rel=0.02)
    # from there nothing better is found, and known lenses are not asked
    assert other_lenses(other, matches, tracks, wrong, keys, prior, settings) is other
    known = replace(prior, spread=np.zeros_like(prior.spread))
    assert other_lenses(world, matches, tracks, wrong, keys, known, settings) is world


def test_moments_without_geometry_give_nothing() -> None:
    rng = np.random.default_rng(0)
    noise = {0: (rng.uniform(0, 300, (10, 2)), rng.uniform(0, 300, (10, 2)))}
    assert solve_moments(noise, unknown_lenses()) is None


def test_a_camera_stands_still_if_most_points_do() -> None:
    still, moved = np.full(100, 0.1), np.full(100, 5.0)
    assert stands_still([still, np.concatenate([still, moved[:40]])], 640)
    assert not stands_still([still, moved], 640)
    assert not stands_still([], 640)


def test_a_frame_that_is_shown_twice_has_one_pose() -> None:
    frames = np.arange(4), np.array([0, 0, 1, 2])
    keys = number_poses(np.arange(4), frames, ([], []), (False, False))
    assert keys.pose.tolist() == [[0, 1, 2, 3], [4, 4, 5, 6]]
    assert keys.camera.tolist() == [0, 0, 0, 0, 1, 1, 1]
    tripod = number_poses(np.arange(4), frames, ([], []), (True, False))
    assert tripod.pose[0].tolist() == [0, 0, 0, 0]
