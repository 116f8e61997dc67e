"""Depth of what stands still, steadied by the moments around it, against a plane whose depth is known."""

from dataclasses import replace

import numpy as np
import pytest

from wideflow.geometry import pixel_grid, unproject
from wideflow.lift import BOTH_NOW, COMPLETED, FoundDepth, SeenMoment, Way, carried_depth, steady_depth
from wideflow.types import Camera, View

CAMERA = Camera("a", 80, 60, np.array([[70.0, 0, 39.5], [0, 70, 29.5], [0, 0, 1]]))
NORMAL, DISTANCE = np.array([0.3, -0.2, 1.0]), 4.0  # of a slanted plane: NORMAL . X = DISTANCE
NOISE = 0.01


def view(t: float) -> View:
    """The camera shifts and turns a little from moment to moment."""
    angle = 0.01 * t
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    return View(CAMERA, np.column_stack([turn, [0.03 * t, 0.02 * t, -0.05 * t]]))


def true_depth(seen: View) -> np.ndarray:
    rays = unproject(CAMERA, pixel_grid(*CAMERA.size)) @ seen.R
    return (DISTANCE - NORMAL @ seen.centre) / (rays @ NORMAL)


def found(t: float, noise: float = 0.0, seed: int = 0) -> FoundDepth:
    """What a moment knows: its depth is off by noise that neighbours share, as that of matching is."""
    depth = true_depth(view(t))
    coarse = np.random.default_rng(100 * seed + int(t) + 50).normal(size=(6, 8)) * noise
    depth = depth * (1 + np.kron(coarse, np.ones((10, 10))))
    sure, still = np.full(depth.shape, 0.8, np.float32), np.zeros(depth.shape, np.float32)
    return FoundDepth(depth.astype(np.float32), sure, still, np.full(depth.shape, BOTH_NOW, np.uint8))


def seen(t: float, known: FoundDepth, colour: int = 90) -> SeenMoment:
    return SeenMoment(view(t), np.full((*known.depth.shape, 3), colour, np.uint8), known)


def others(noise: float = 0.0, seed: int = 0) -> list[SeenMoment]:
    return [seen(t, found(t, noise, seed)) for t in (-2, -1, 1, 2)]


def test_without_noise_nothing_changes() -> None:
    steady = steady_depth(seen(0, found(0)), others())
    np.testing.assert_allclose(steady, true_depth(view(0)), rtol=2e-5)


@pytest.mark.parametrize("colour", [84, 90, 96])  # exposure drifts
def test_noise_of_single_moments_falls(colour: int) -> None:
    errors = []
    for seed in range(5):
        own = found(0, NOISE, seed)
        steady = steady_depth(seen(0, own, colour), others(NOISE, seed))
        errors.append([np.abs(depth / true_depth(view(0)) - 1).mean() for depth in (own.depth, steady)])
    before, after = np.mean(errors, axis=0)
    assert after < 0.65 * before  # the mean of five independent ones has 0.45 of it


def test_static_depth_changes_less_from_moment_to_moment() -> None:
    moments = {t: found(t, NOISE) for t in range(-2, 4)}

    def relative(t: int, steady: bool) -> np.ndarray:
        around = [seen(s, moments[s]) for s in range(max(t - 2, -2), min(t + 3, 4)) if s != t]
        depth = steady_depth(seen(t, moments[t]), around) if steady else moments[t].depth
        return depth / true_depth(view(t))

    changes = [np.median(np.abs(relative(1, how) / relative(0, how) - 1)) for how in (False, True)]
    assert changes[1] < changes[0] / 3


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_one_wrong_moment_is_outvoted(factor: float) -> None:
    right = found(0)
    wrong = replace(found(1), depth=found(1).depth * np.float32(factor))
    around = [seen(1, wrong), *others()[:3]]
    np.testing.assert_allclose(steady_depth(seen(0, right), around), right.depth, rtol=1e-4)


def test_a_wrong_depth_is_what_the_others_say() -> None:
    own = found(0)
    own.depth[20:40, 20:60] *= np.float32(1.2)  # looked up beside its place, on the same plane
    steady = steady_depth(seen(0, own), others())
    off = np.abs(steady / true_depth(view(0)) - 1)
    assert off[20:40, 20:60].mean() < 0.03
    assert off[:18].max() < 1e-4


def test_another_colour_is_another_thing() -> None:
    own = found(0)
    own.depth[:] *= np.float32(0.7)  # something that was not there before and after
    around = [replace(each, picture=each.picture + np.uint8(60)) for each in others()]
    assert np.array_equal(steady_depth(seen(0, own), around), own.depth)


def test_what_moves_or_is_unknown_keeps_its_own_and_tells_nothing() -> None:
    own = found(0, NOISE)
    moving, depth = own.moving.copy(), own.depth.copy()
    moving[:, :30] = 0.9
    depth[5, 50] = np.nan
    own = replace(own, moving=moving, depth=depth)
    steady = steady_depth(seen(0, own), others(NOISE))
    assert np.array_equal(steady[:, :30], depth[:, :30])
    assert np.isnan(steady[5, 50])
    assert np.count_nonzero(steady[:, 30:] != depth[:, 30:]) > 0.9 * steady[:, 30:].size
    gone = [replace(each, found=replace(each.found, moving=np.ones_like(moving))) for each in others(NOISE)]
    assert np.array_equal(steady_depth(seen(0, own), gone), depth, equal_nan=True)


def test_one_other_moment_is_not_enough() -> None:
    own = found(0, NOISE)
    assert np.array_equal(steady_depth(seen(0, own), others(NOISE)[:1]), own.depth)


SHIFT = 4  # px that a box moves from moment to moment, before a camera that stands still


def box(t: int, hidden: bool = False) -> SeenMoment:
    """A box of 12 px at depth 2 that slides before a wall at depth 5; B sees none of it if ``hidden``."""
    depth, colour = np.full((60, 80), 5.0, np.float32), np.full((60, 80, 3), 60, np.uint8)
    rows, columns = slice(20, 32), slice(30 + SHIFT * t, 42 + SHIFT * t)
    depth[rows, columns], colour[rows, columns] = 2.0, 200
    source = np.full(depth.shape, BOTH_NOW, np.uint8)
    if hidden:
        depth[rows, columns], source[rows, columns] = 4.0, COMPLETED
    moving = (colour[..., 0] > 100).astype(np.float32)
    known = FoundDepth(depth, np.full(depth.shape, 0.8, np.float32), moving, source)
    return SeenMoment(View(CAMERA, np.eye(3, 4)), colour, known)


def way(t: int) -> Way:
    """The true flow of the box and the wall; what the box covers next is hidden."""
    uv, occluded = np.zeros((60, 80, 2), np.float32), np.zeros((60, 80), bool)
    uv[20:32, 30 + SHIFT * t : 42 + SHIFT * t, 0] = SHIFT
    occluded[20:32, 42 + SHIFT * t : 42 + SHIFT * (t + 1)] = True
    return Way(uv, occluded)


WAYS = [way(t) for t in (-2, -1, 0, 1)]
INNER = (slice(22, 30), slice(32, 40))  # of the box at moment 0


@pytest.mark.parametrize("seen_at", [(-2,), (-1,), (1,), (2,), (-2, -1, 1, 2)])
def test_depth_is_carried_from_moments_that_both_cameras_saw(seen_at: tuple[int, ...]) -> None:
    moments = [box(t, t not in seen_at) for t in (-2, -1, 0, 1, 2)]
    depth, carried = carried_depth(moments, WAYS)
    assert carried[INNER].all()
    assert depth[INNER] == pytest.approx(2, rel=1e-6)
    wall = moments[2].found.source != COMPLETED
    assert not carried[wall].any()
    assert np.array_equal(depth[wall], moments[2].found.depth[wall])


def test_a_camera_that_moves_sees_what_is_carried_at_another_depth() -> None:
    def moved(t: int) -> View:
        return View(CAMERA, np.column_stack([np.eye(3), [0, 0, 0.1 * t]]))

    moments = [replace(box(t, t != 1), view=moved(t)) for t in (-2, -1, 0, 1, 2)]
    depth, _ = carried_depth(moments, WAYS)
    assert depth[INNER] == pytest.approx(2 - 0.1, rel=1e-5)


def test_nothing_is_carried_from_another_colour_a_doubtful_depth_or_four_pictures() -> None:
    hidden = [box(t, True) for t in (-2, -1, 0, 1, 2)]
    known = box(1)
    others = {
        "colour": replace(known, picture=np.full_like(known.picture, 100)),
        "doubtful": replace(known, found=replace(known.found, confidence=0.4 * known.found.confidence)),
    }
    for name, other in others.items():
        assert not carried_depth([*hidden[:3], other, hidden[4]], WAYS)[1][INNER].any(), name
    assert carried_depth([*hidden[:3], known, hidden[4]], WAYS)[1].any()
    assert not carried_depth([None, None, hidden[2], known, None], [None, None, WAYS[2], None])[1].any()
    assert not carried_depth([*hidden[:3], known, hidden[4]], [*WAYS[:2], None, WAYS[3]])[1].any()
