"""The parts of dense matching, each against its definition."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matching_scenes import texture
from random_rigs import SEEDS, points_seen, rigs, see
from wideflow.config import MatchConfig
from wideflow.descriptors.daisy import Pattern, describe, gradient_maps
from wideflow.descriptors.distance import BINS, SAME, daisy_distance, weighted_distance
from wideflow.descriptors.footprint import weigh
from wideflow.geometry import PairGeometry, forward_backward_error, fundamental_matrix, sampson_distance
from wideflow.matching import pmbp
from wideflow.matching.colour import ColourTransform, fit_colour_transform, in_one_light
from wideflow.matching.cost import IMPOSSIBLE, byte_weights, sampson, unary
from wideflow.matching.level import build_level, colour_bytes
from wideflow.matching.particles import enlarged
from wideflow.matching.slant import Slant, fit_slant, level_frames

PATTERN = Pattern(radius=5.0, rings=2, angles=8)


@given(SEEDS, st.floats(0, 2))
@settings(deadline=None, max_examples=30)
def test_descriptor_distance_is_a_sum_of_capped_squares(seed: int, cap: float) -> None:
    chance = np.random.default_rng(seed)
    a, b = chance.integers(0, 256, (2, 3, 4, 16 * BINS), dtype=np.uint8)
    bins = (a[1, 2].astype(float) - b[2, 3].astype(float)).reshape(BINS, 16) / 255
    weight, byte_cap, _, _ = byte_weights(1, cap, 0, 0)
    assert cap - 255**-2 < byte_cap / 255**2 <= cap
    capped = np.minimum((bins**2).sum(0), byte_cap / 255**2)
    found = weight * SAME * daisy_distance(a, 1, 2, b, 2, 3, byte_cap)
    assert found == pytest.approx(capped.sum(), rel=1e-5, abs=1e-6)
    each = chance.integers(0, 256, (3, 4, 16), dtype=np.uint8)
    found = weight * weighted_distance(np.concatenate([a, each], axis=2), 1, 2, b, 2, 3, byte_cap)
    assert found == pytest.approx((capped * each[1, 2] / SAME).sum(), rel=1e-5, abs=1e-6)


def test_descriptors_stop_at_the_edges_of_the_picture() -> None:
    """Beside a step of colour, histograms on the pixel's own side count several times as much as others."""
    colours = np.full((40, 60, 4), 60, np.uint8)
    colours[:, 30:] = 200
    described = np.zeros((40, 60, 16 * (BINS + 1)), np.uint8)
    frames = np.ascontiguousarray(np.broadcast_to(np.eye(2, dtype=np.float32), (40, 60, 2, 2)))
    offsets, _ = PATTERN.samples()
    weigh(described, colours, frames, PATTERN, 0.07)
    weights = described[..., 16 * BINS :].astype(float)
    for column, away in ((29, offsets[:, 0]), (30, -offsets[:, 0])):  # px to the other side
        here = weights[20, column]
        assert here[away > PATTERN.blurs[1]].mean() < 0.4 * here[away < -PATTERN.blurs[1]].mean()
        assert here.mean() == pytest.approx(SAME, abs=1)
    assert (weights[:, 5] == SAME).all()  # far from the step all count alike
    weigh(described, colours, frames, PATTERN, 0)
    assert (described[..., 16 * BINS :] == SAME).all()
    assert not described[..., : 16 * BINS].any()


@given(rigs(), SEEDS)
@settings(deadline=None, max_examples=30)
def test_epipolar_term_is_the_sampson_distance(rig, seed: int) -> None:
    F = fundamental_matrix(*rig)
    x, y = np.random.default_rng(seed).uniform(0, 64, (2, 10, 2))
    expected = sampson_distance(F, x, y) ** 2
    assert [sampson(F, *p, *q) for p, q in zip(x, y, strict=True)] == pytest.approx(
        expected, rel=1e-4, abs=1e-9
    )


@given(rigs(), SEEDS)
@settings(deadline=None, max_examples=30)
def test_points_lie_on_the_half_line_from_infinity(rig, seed: int) -> None:
    """y ~ infinity x - rho e with rho > 0, in both directions and after rescaling the pictures."""
    points = points_seen(*rig, 20, seed)
    pixels = [see(view, points) for view in rig]
    scales = [np.array([[s, 0, (s - 1) / 2], [0, s, (s - 1) / 2], [0, 0, 1]]) for s in (0.5, 0.25)]
    geometry = PairGeometry.from_views(*rig)
    small = [x @ scale[:2, :2].T + scale[:2, 2] for x, scale in zip(pixels, scales, strict=True)]
    for pair, x, y in (
        (geometry, *pixels),
        (geometry.reversed(), *pixels[::-1]),
        (geometry.rescaled(*scales), *small),
        (geometry.rescaled(*scales).reversed(), *small[::-1]),
    ):
        q = np.column_stack([x, np.ones(len(x))]) @ pair.infinity.T
        e = pair.epipoles[1]
        along, step = q[:, :2] - y * q[:, 2:], e[:2] - y * e[2]
        rho = (along * step).sum(1) / (step**2).sum(1)
        assert (rho > 0).all()
        assert (q[:, 2] - rho * e[2] > 0).all()
        assert np.abs(along - rho[:, None] * step).max() < 1e-6 * np.abs(q).max()
        assert np.abs(sampson_distance(pair.F, x, y)).max() < 1e-3


@pytest.mark.parametrize(("width", "height"), [(80, 60), (81, 63), (9, 8)])
def test_a_level_keeps_the_borders_of_its_picture(width: int, height: int) -> None:
    first, second = texture(height, width, 0), texture(60, 80, 1)
    F = np.random.default_rng(0).normal(size=(3, 3))
    geometry = PairGeometry(F, (np.array([1.0, 0, 0]), np.array([1.0, 0, 0])))
    level = build_level((first, second), geometry, 2, MatchConfig())
    assert level.pictures[0].shape[:2] == (-(-height // 4), -(-width // 4))
    x, y = np.array([3.0, 2.0]), np.array([5.0, 7.0])
    small = [
        (at + 0.5) * np.array(new.shape[1::-1]) / np.array(old.shape[1::-1]) - 0.5
        for at, new, old in zip((x, y), level.pictures, (first, second), strict=True)
    ]
    before = np.append(y, 1) @ F @ np.append(x, 1)
    after = np.append(small[1], 1) @ level.geometry.F @ np.append(small[0], 1)
    corners = np.append(y - 2, 1) @ F @ np.append(x, 1)
    moved = (y - 2 + 0.5) * np.array(level.pictures[1].shape[1::-1]) / np.array([80, 60]) - 0.5
    assert after / (np.append(moved, 1) @ level.geometry.F @ np.append(small[0], 1)) == pytest.approx(
        before / corners
    )


def test_cost_adds_the_terms_and_forbids_leaving_the_picture() -> None:
    chance = np.random.default_rng(0)
    a, b = chance.integers(0, 256, (2, 6, 7, 16 * BINS), dtype=np.uint8)
    red, blue = chance.integers(0, 256, (2, 6, 7, 4), dtype=np.uint8)
    F = chance.normal(size=(3, 3))
    weights = byte_weights(2, 0.3, 5, 7)
    bins = (a[1, 2].astype(float) - b[3, 4].astype(float)).reshape(BINS, 16) / 255
    colour = np.linalg.norm((red[1, 2, :3].astype(float) - blue[3, 4, :3].astype(float)) / 255)
    line = sampson_distance(F, np.array([2.0, 1.0]), np.array([4.4, 2.6])) ** 2
    expected = 2 * np.minimum((bins**2).sum(0), 0.3).sum() + 5 * colour + 7 * line
    F = F.astype(np.float32)
    a = np.concatenate([a, np.full((6, 7, 16), SAME, np.uint8)], axis=2)
    found = unary(a, b, red, blue, F, 2, 1, np.float32(2.4), np.float32(1.6), weights, IMPOSSIBLE)
    assert found == pytest.approx(expected, rel=1e-4)
    # without the descriptors it is above the limit already
    early = unary(a, b, red, blue, F, 2, 1, np.float32(2.4), np.float32(1.6), weights, np.float32(1))
    assert early == pytest.approx(5 * colour + 7 * line, rel=1e-4)
    for u, v in ((-2.6, 0), (4.6, 0), (0, -1.6), (0, 4.6), (1e9, 0), (0, -1e9)):
        assert (
            unary(a, b, red, blue, F, 2, 1, np.float32(u), np.float32(v), weights, IMPOSSIBLE) == IMPOSSIBLE
        )


def described(
    grey: np.ndarray, noise: float = 0.01, axes: tuple[tuple[float, float], ...] = ((1, 0), (0, 1))
) -> np.ndarray:
    """Descriptors of a picture, all laid along the same axes (the columns of a matrix)."""
    frames = np.broadcast_to(np.array(axes, np.float32), (*grey.shape, 2, 2))
    maps = gradient_maps(np.ascontiguousarray(grey), PATTERN)
    return describe(maps, np.ascontiguousarray(frames), PATTERN, noise)


def test_descriptors_turn_with_the_picture() -> None:
    grey = texture(60, 80, 3)[..., 0]
    here = described(grey)
    turned = np.rot90(grey)  # what pointed right points up
    there = np.rot90(described(turned, axes=((0, 1), (-1, 0))), -1)
    middle = np.s_[12:-12, 12:-12]
    difference = np.abs(here[middle].astype(int) - there[middle].astype(int))
    assert np.median(difference) <= 1
    assert difference.mean() < 4
    unturned = np.rot90(described(turned), -1)
    assert np.abs(here[middle].astype(int) - unturned[middle].astype(int)).mean() > 20


def test_descriptors_ignore_gain_and_offset_but_fade_where_nothing_is() -> None:
    grey = texture(60, 80, 3)[..., 0]
    usual = described(grey, 1e-4).astype(int)
    brighter = described(np.float32(0.6) * grey + np.float32(0.3), 1e-4).astype(int)
    assert np.abs(usual - brighter).max() <= 1
    norm = np.sqrt((usual.reshape(60, 80, BINS, -1) ** 2).sum(2))
    assert np.abs(norm - 255).max() < 3
    assert described(np.float32(1e-3) * grey + np.float32(0.5)).max() < 20
    assert described(np.full((60, 80), 0.5, np.float32)).max() == 0


@pytest.mark.parametrize("epipole", [None, (900.0, 40.0, 1.0), (-1.0, 0.2, 0.0)])
def test_descriptors_laid_along_a_slanted_surface_see_what_the_target_sees(
    epipole: tuple[float, ...] | None,
) -> None:
    shear = 0.8  # the floor's flow grows by this from row to row
    here = texture(120, 160, 4)[..., 0]
    y, x = np.mgrid[:120, :160].astype(np.float32)
    there = cv2.remap(here, x - shear * (y - 60), y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
    slope = np.broadcast_to(np.array([[0, shear], [0, 0]], np.float32), (120, 160, 2, 2))
    flow = np.stack([shear * (y - 60), 0 * y], axis=-1)
    e = None if epipole is None else np.array(epipole)
    target = describe(gradient_maps(there, PATTERN), level_frames(120, 160, e), PATTERN, 0.01)
    maps = gradient_maps(here, PATTERN)
    errors = []
    for frames in (Slant(flow, np.ascontiguousarray(slope)).frames(e), level_frames(120, 160, e)):
        source = describe(maps, frames, PATTERN, 0.01)
        rows, columns = np.arange(30, 90)[:, None], np.arange(60, 100)
        seen = target[rows, columns + np.rint(shear * (rows - 60)).astype(int)]
        errors.append(np.abs(source[rows, columns].astype(int) - seen).mean())
    assert errors[0] < 0.7 * errors[1]


def test_a_slanted_floor_and_a_wall_before_it_are_told_apart() -> None:
    chance = np.random.default_rng(5)
    y, x = np.mgrid[:90, :120].astype(np.float32)
    wall = (x > 40) & (x < 80) & (y < 60)
    truth = np.where(wall[..., None], np.float32([12, 1]), np.stack([0.7 * (y - 40), 0.1 * x], axis=-1))
    picture = np.where(wall[..., None], np.float32([0.8, 0.3, 0.2]), np.float32([0.3, 0.5, 0.3]))
    flow = truth + chance.normal(0, 0.2, truth.shape).astype(np.float32)
    wrong = chance.random(wall.shape) < 0.2
    flow[wrong] = chance.uniform(-30, 30, (np.count_nonzero(wrong), 2))
    weight = (chance.random(wall.shape) < 0.7).astype(np.float32)
    slant = fit_slant(picture.astype(np.float32), flow.astype(np.float32), weight)
    assert np.median(np.linalg.norm(slant.flow - truth, axis=-1)) < 0.3
    assert np.median(slant.slope[~wall], axis=0) == pytest.approx(np.array([[0, 0.7], [0.1, 0]]), abs=0.08)
    assert np.median(slant.slope[wall], axis=0) == pytest.approx(np.zeros((2, 2)), abs=0.08)
    large = slant.enlarged(180, 239)
    assert large.flow[100, 20] == pytest.approx(
        2 * (slant.flow[50, 10] + slant.slope[50, 10] @ [-0.25, -0.25]), abs=1e-4
    )


@given(SEEDS)
@settings(deadline=None, max_examples=10)
def test_colour_transform_survives_mismatches(seed: int) -> None:
    chance = np.random.default_rng(seed)
    source = chance.uniform(0.1, 0.7, (4000, 3)).astype(np.float32)
    matrix = np.diag(chance.uniform(0.7, 1.1, 3)) + chance.uniform(-0.05, 0.05, (3, 3))
    offset = chance.uniform(0.02, 0.05, 3)
    target = (source @ matrix.T + offset + chance.normal(0, 0.005, source.shape)).astype(np.float32)
    wrong = chance.random(4000) < 0.4
    target[wrong] = chance.uniform(0.05, 0.95, (np.count_nonzero(wrong), 3))
    for degree in (1, 3):
        transform = fit_colour_transform(source, target, degree)
        error = np.linalg.norm(transform(source) - np.clip(source @ matrix.T + offset, 0, 1), axis=1)
        assert error.mean() < 0.02
        assert transform.spread < 0.03


def test_the_darker_of_two_pictures_is_brightened_and_constant_light_leaves_no_trace() -> None:
    chance = np.random.default_rng(5)
    first = chance.uniform(0.05, 0.9, (60, 80, 3)).astype(np.float32)
    still, seen = np.zeros((60, 80, 2), np.float32), np.ones((60, 80), bool)
    brighter = np.clip(1.3 * first, 0, 1)
    one, two = in_one_light(first, brighter, still, seen, 3)
    assert two is brighter
    np.testing.assert_allclose(one, brighter, atol=0.03)  # blown out where the other is
    two, one = in_one_light(brighter, first, still, seen, 3)
    assert two is brighter
    np.testing.assert_allclose(one, brighter, atol=0.03)
    noisy = first + chance.normal(0, 0.02, first.shape).astype(np.float32)
    assert in_one_light(first, noisy, still, seen, 3)[1] is noisy
    assert in_one_light(first, brighter, still, ~seen, 3)[0] is first  # nothing tells


def test_colour_transform_follows_a_tone_curve() -> None:
    source = np.random.default_rng(0).uniform(0.05, 0.95, (4000, 3)).astype(np.float32)
    curve = (source**1.6 * np.array([0.95, 0.85, 0.9]) + 0.02).astype(np.float32)
    errors = [np.abs(fit_colour_transform(source, curve, n)(source) - curve).mean() for n in (1, 3)]
    assert errors[1] < 0.01 < errors[0]


def test_too_few_matches_transform_nothing_and_earn_no_trust() -> None:
    few = np.random.default_rng(0).uniform(0.1, 0.9, (50, 3)).astype(np.float32)
    clipped = np.ones((5000, 3), np.float32)  # over-exposed: says nothing
    for source in (few, clipped, few[:0]):
        transform = fit_colour_transform(source, source * np.float32(0.5), 3)
        assert np.array_equal(transform.matrix, ColourTransform.identity(3).matrix)
        assert transform.spread == np.inf
    assert np.array_equal(ColourTransform.identity(3)(few), few)


def test_forward_backward_error_in_closed_form() -> None:
    forward = np.zeros((4, 6, 2), np.float32) + np.float32([2, -1])
    backward = np.zeros((5, 7, 2), np.float32) + np.float32([-1.4, 1.8])
    error = forward_backward_error(forward, backward)
    assert error[1:, :5] == pytest.approx(1.0, rel=1e-6)  # (0.6, 0.8)
    assert np.isinf(error[0]).all()  # leaves through the top
    assert np.isfinite(error[1:, 5]).all() == (5 + 2 < 7)
    forward[2, 2] = np.nan
    backward[0, 3] = np.nan  # the target of (1, 1)
    error = forward_backward_error(forward, backward)
    assert np.isinf(error[2, 2])
    assert np.isinf(error[1, 1])


class Problem:
    """A small PMBP problem: one picture matched to itself, shifted, from random particles."""

    def __init__(self, seed: int, particles: int = 3) -> None:
        grey = texture(44, 50, 5)
        self.rows, self.columns = 40, 44
        parts = (grey[2 : 2 + 40, 3 : 3 + 44], grey[:40, :44])
        source, self.target = (described(part[..., 0]) for part in parts)
        self.colours = tuple(colour_bytes(part) for part in parts)
        upright = np.ascontiguousarray(np.broadcast_to(np.eye(2, dtype=np.float32), (40, 44, 2, 2)))
        self.source = np.concatenate([source, source[..., :16]], axis=2)
        weigh(self.source, self.colours[0], upright, PATTERN, 0.07)
        self.weights = byte_weights(1, 0.3, 0, 0)
        self.F = np.zeros((3, 3))
        shape = (self.rows, self.columns, particles)
        self.flow = np.random.default_rng(seed).uniform(-6, 6, (*shape, 2)).astype(np.float32)
        self.costs, self.messages = np.empty(shape, np.float32), np.zeros((*shape, 4), np.float32)
        self.settled = np.zeros(shape[:2], np.bool_)
        self.evaluate()
        self.belief = self.costs.copy()

    def sweep(self, number: int, w_p: float, tau: float = 0.5) -> None:
        pair = (self.source, self.target, self.colours, self.F)
        state = (self.flow, self.costs, self.belief, self.messages, self.settled)
        smooth = (np.float32(w_p), np.float32(tau))
        for parity in range(2):
            chance = (np.uint64(2 * number + parity), np.float32(4), 2)
            pmbp.sweep(*pair, *state, parity, chance, 0, self.weights, smooth)

    def evaluate(self) -> None:
        """The cost of each particle."""
        pair = (self.source, self.target, self.colours, self.F)
        pmbp.evaluate(*pair, self.flow, self.costs, self.weights)

    def energy(self, w_p: float, tau: float = 0.5) -> float:
        """Equation 5 of the best particles."""
        flow = self.flow[:, :, 0].astype(float)
        pairs = [np.diff(flow, axis=axis) for axis in (0, 1)]
        smooth = sum(2 * np.minimum(tau, w_p * (pair**2).sum(-1)).sum() for pair in pairs)
        return float(self.costs[:, :, 0].astype(float).sum() + smooth)


def test_plain_sweeps_never_lose_the_best_particle() -> None:
    problem = Problem(seed=0)
    best = problem.costs.min(axis=2)
    start = best.copy()
    for number in range(6):
        problem.sweep(number, w_p=0)
        assert (problem.costs[:, :, 0] <= best).all()
        assert (np.diff(problem.costs, axis=2) >= 0).all()  # best first
        best = problem.costs[:, :, 0].copy()
    assert best.mean() < 0.5 * start.mean()
    stored = problem.costs.copy()
    problem.evaluate()
    assert problem.costs == pytest.approx(stored, rel=1e-4, abs=1e-5)  # each cost is that of its flow
    inside = np.s_[8:-8, 8:-8]
    assert np.median(problem.flow[inside][:, :, 0], axis=(0, 1)) == pytest.approx((3, 2), abs=0.5)


def test_messages_lower_the_energy_more_than_plain_sweeps() -> None:
    w_p = 0.3
    plain, smooth = Problem(seed=1), Problem(seed=1)
    start = plain.energy(w_p)
    for number in range(6):
        plain.sweep(number, w_p=0)
        smooth.sweep(number, w_p=w_p)
    assert smooth.energy(w_p) < plain.energy(w_p) < start


def test_settled_pixels_keep_what_they_have_and_tell_the_others() -> None:
    problem, free = Problem(seed=2), Problem(seed=2)
    problem.settled[:, ::4] = True
    problem.flow[:, ::4] = (3, 2)  # the truth
    problem.evaluate()
    before = problem.flow.copy()
    for each in (problem, free):
        each.sweep(0, w_p=0)
    assert np.array_equal(problem.flow[problem.settled], before[problem.settled])
    inside = np.s_[8:-8, 9:-9:4]  # beside settled ones
    right, alone = (
        np.abs(each.flow[inside][:, :, 0] - (3, 2)).max(axis=-1) < 0.5 for each in (problem, free)
    )
    assert right.mean() > 0.9 > alone.mean()


def striped(height: int, width: int) -> np.ndarray:
    grey = 0.5 + 0.4 * np.sin(np.arange(width, dtype=np.float32))
    return np.broadcast_to(grey[None, :, None], (height, width, 3)).copy()


def test_a_level_that_is_enlarged_keeps_the_pixels_of_a_row_side_by_side() -> None:
    coarser = np.arange(4 * 5 * 3 * 2, dtype=np.float32).reshape(4, 5, 3, 2)
    larger = enlarged(coarser, 7, 9)
    assert larger.flags.c_contiguous  # kernels walk along rows
    y, x = np.mgrid[:7, :9]
    np.testing.assert_array_equal(larger, coarser[y // 2, x // 2])
