"""The parts of the energy against numerical derivatives and dense solves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refine_scenes import disturbed, plane_scene
from wideflow.compiled import njit
from wideflow.config import RefineConfig
from wideflow.geometry.pyramid import resized_flow, scale_between
from wideflow.refine.data_terms import linearise
from wideflow.refine.energy import Energy
from wideflow.refine.lanes import LANES, empty_lanes, fill_margins, from_lanes, to_lanes
from wideflow.refine.sampling import (
    CHANNELS,
    HALVES,
    READ,
    STORED,
    TAPS,
    by_channel,
    cubic,
    feature_picture,
    find,
)
from wideflow.refine.slopes import first_slopes, relax_slopes, slope_energy
from wideflow.refine.smoothness import conductance, smoothness
from wideflow.refine.solver import solve_step
from wideflow.refine.system import SYSTEM

SCENE = plane_scene((24, 18), (30, 20))


def stacked(flows) -> np.ndarray:
    return np.concatenate([flows.optical, flows.stereo, flows.closure], axis=2)


def data_energy(flows: np.ndarray, weights: np.ndarray, visible: np.ndarray) -> tuple[float, np.ndarray]:
    features = tuple(feature_picture(picture, 0.5) for picture in SCENE.pictures)
    rows, width = flows.shape[:2]
    system, penalty = empty_lanes(rows, width, SYSTEM), empty_lanes(rows, width, 1)
    F = np.stack(SCENE.fundamental)
    energy = linearise(features, to_lanes(visible), F, weights, to_lanes(flows), system, penalty)
    return energy, from_lanes(system, width)


@njit()
def read(features, size, where, taps, ones, halves, found, channels):  # type: ignore[no-untyped-def]
    """What is compiled into loops, as a loop would call it."""
    find(size[0], size[1], where, 0, taps)
    cubic(features, size[0], taps, ones, 0, 0, halves, found)
    for k in range(READ):
        by_channel(found[k * STORED * LANES :], channels[k * STORED * LANES :])


def sampled(features: np.ndarray, x: float, y: float) -> np.ndarray:
    """(3, 5): values and derivatives of the channels at a place."""
    width, height = features.shape[1] - 4, features.shape[0] - 4
    where = np.repeat([[float(x), float(y)]], LANES, axis=1)
    found, channels = np.zeros((2, READ * STORED * LANES), np.float32)
    taps, halves = np.empty(TAPS * LANES, np.float32), np.empty(HALVES, np.float32)
    ones = np.ones((1, 1, LANES), np.float32)
    read(features.ravel(), (width, height), where, taps, ones, halves, found, channels)
    return channels.reshape(READ, STORED, LANES)[:, :CHANNELS, LANES // 2]


def smooth(flows, slopes, g, betas, epsilon) -> tuple[float, np.ndarray]:
    """Energy of the smoothness term, and the weights of its edges."""
    edges = empty_lanes(*flows.shape[:2], 6)
    fields = to_lanes(flows), to_lanes(slopes), to_lanes(g)
    energy = smoothness(*fields, np.asarray(betas, np.float32), epsilon, flows.shape[1], edges)
    return energy, from_lanes(edges, flows.shape[1])


def within(shape: tuple[int, int]) -> np.ndarray:
    """1 on every edge between two pixels."""
    g = np.ones((*shape, 2), np.float32)
    g[:, -1, 0] = g[-1, :, 1] = 0
    return g


@pytest.mark.parametrize("late", [(0, 0), (0.5, -0.4)])
@pytest.mark.parametrize("seen", [(1, 1, 1), (1, 1, 0), (0, 1, 1), (1, 0, 1), (0, 0, 0)])
def test_right_hand_side_is_half_the_gradient(seen: tuple[int, ...], late: tuple[float, ...]) -> None:
    flows = stacked(disturbed(SCENE.flows, 0.4))
    weights = np.array([1.0, 0.7, 0.5, 0.3, 20.0, 0.5, *late], np.float32)
    visible = np.broadcast_to(np.array(seen, np.uint8), (*flows.shape[:2], 3)).copy()
    _, system = data_energy(flows, weights, visible)
    y, x, h = 9, 11, 0.01
    for k in range(6):
        up, down = flows.copy(), flows.copy()
        up[y, x, k] += h
        down[y, x, k] -= h
        slope = (data_energy(up, weights, visible)[0] - data_energy(down, weights, visible)[0]) / (2 * h)
        assert slope == pytest.approx(2 * system[y, x, 21 + k], rel=0.03, abs=0.1)


@pytest.mark.parametrize("late", [(0, 0), (0.5, -0.4)])
def test_matrix_majorises_the_linearised_terms(late: tuple[float, ...]) -> None:
    """Quadratics with lagged weights lie above the L1 terms they touch, so the energy is below the model."""
    flows = stacked(disturbed(SCENE.flows, 0.4))
    weights = np.array([1.0, 0.7, 0.5, 0.3, 20.0, 0.5, *late], np.float32)
    visible = np.ones((*flows.shape[:2], 3), np.uint8)
    before, system = data_energy(flows, weights, visible)
    y, x = 9, 11
    upper = np.zeros((6, 6))
    upper[np.triu_indices(6)] = system[y, x, :21]
    matrix = upper + np.triu(upper, 1).T
    assert np.linalg.eigvalsh(matrix).min() > -1e-3
    for step in np.random.default_rng(0).normal(size=(10, 6)) * 0.05:
        moved = flows.copy()
        moved[y, x] += step.astype(np.float32)
        model = step @ matrix @ step + 2 * step @ system[y, x, 21:]
        assert data_energy(moved, weights, visible)[0] - before <= model + 0.05 * abs(model) + 0.02


@pytest.mark.parametrize("late", [(0, 0), (0.5, -0.4)])
def test_matrix_is_that_of_the_papers_terms(late: tuple[float, ...]) -> None:
    """Each term written out as the paper has it, its Jacobian by differences, summed with lagged weights.

    Where the pictures are not of one moment, epipolar terms judge the places at one moment.
    """
    flows = stacked(disturbed(SCENE.flows, 0.4))
    y, x = 9, 11
    weights = np.array([1.0, 0.7, 0.5, 0.3, 20.0, 0.5, *late], np.float32)
    _, system = data_energy(flows, weights, np.ones((*flows.shape[:2], 3), np.uint8))
    a, b, a_next, b_next = (feature_picture(picture, 0.5) for picture in SCENE.pictures)
    F, F_next = SCENE.fundamental

    def read(features: np.ndarray, place: np.ndarray) -> np.ndarray:
        return sampled(features, *place)[0].astype(float)

    def off_line(F: np.ndarray, place: np.ndarray, other: np.ndarray) -> np.ndarray:
        line = F @ [*place, 1]
        return np.array([[*other, 1] @ line / np.linalg.norm(line[:2])])

    def residuals(u: np.ndarray) -> list[tuple[float, np.ndarray]]:
        here = np.array([x, y], float)
        p1, p2, p3 = here + u[:2], here + u[2:4], here + u[:2] + u[2:4] + u[4:]
        terms = [
            (0, read(a_next, p1) - read(a, here)),
            (0, read(b_next, p3) - read(b, p2)),
            (2, read(b, p2) - read(a, here)),
            (2, read(b_next, p3) - read(a_next, p1)),
        ]
        parts = [(weights[k], r[:3]) for k, r in terms] + [(weights[k + 1], r[3:]) for k, r in terms]
        at_a, at_b = p2 + late[0] * (p3 - p2), p1 + late[1] * (p1 - here)
        return parts + [(weights[4], off_line(F, here, at_a)), (weights[4], off_line(F_next, at_b, p3))]

    u, h = flows[y, x].astype(float), 0.004
    steps = [(residuals(u + h * e), residuals(u - h * e)) for e in np.eye(6)]
    expected = np.zeros((6, 6))
    for n, (weight, r) in enumerate(residuals(u)):
        J = np.stack([(up[n][1] - down[n][1]) / (2 * h) for up, down in steps], axis=1)
        expected += 0.5 * weight / np.sqrt(r @ r + weights[5] ** 2) * J.T @ J
    upper = np.triu_indices(6)
    np.testing.assert_allclose(
        system[y, x, :21], expected[upper], rtol=0.03, atol=0.01 * np.abs(expected).max()
    )


def test_cubic_reproduces_a_parabola_and_its_derivatives() -> None:
    y, x = np.mgrid[:12, :14].astype(np.float32)
    picture = np.repeat((0.002 * x * x + 0.01 * y + 0.001 * x * y)[..., None], 3, axis=2)
    features = feature_picture(picture, 0)
    px, py = 5.3, 6.8
    value, along_x, along_y = sampled(features, px, py)
    assert value[0] == pytest.approx(255 * (0.002 * px**2 + 0.01 * py + 0.001 * px * py), abs=1e-3)
    assert along_x[0] == pytest.approx(255 * (0.004 * px + 0.001 * py), abs=1e-3)
    assert along_y[0] == pytest.approx(255 * (0.01 + 0.001 * px), abs=1e-3)
    assert value[3] == pytest.approx(along_x[0], abs=1e-3)  # the gradient channels are the derivatives
    assert sampled(features, -3.0, 40.0)[0, 0] == pytest.approx(features[13, 2, 0])  # held to the corner


@given(st.integers(0, 2**31), st.booleans())
@settings(max_examples=4, deadline=None)
def test_a_step_solves_the_linear_system(seed: int, sloped: bool) -> None:
    """Many sweeps give what a dense solve of the same normal equations gives."""
    rng = np.random.default_rng(seed)
    rows, columns = 4, 5
    flows = rng.normal(size=(rows, columns, 6)).astype(np.float32)
    slopes = (rng.normal(size=(rows, columns, 4)) * sloped).astype(np.float32)
    g = rng.uniform(0.2, 1, (rows, columns, 2)) * within((rows, columns))
    _, edges = smooth(flows, slopes, g, [1.0, 2.0, 3.0], 0.1)
    roots = rng.normal(size=(rows, columns, 6, 6))
    system = np.empty((rows, columns, SYSTEM), np.float32)
    matrices = roots @ np.swapaxes(roots, -1, -2)
    upper = np.triu_indices(6)
    system[..., :21] = matrices[..., upper[0], upper[1]]
    system[..., 21:] = rng.normal(size=(rows, columns, 6))
    dense, right = np.zeros((flows.size, flows.size)), -system[..., 21:].astype(float).ravel()
    index = np.arange(flows.size).reshape(flows.shape)
    for y, x in np.ndindex(rows, columns):
        dense[np.ix_(index[y, x], index[y, x])] += matrices[y, x] + 1e-3 * np.eye(6)
        for dy, dx, axis in ((0, 1, 0), (1, 0, 1)):
            if y + dy >= rows or x + dx >= columns:
                continue
            for k in range(6):
                i, j, w = index[y, x, k], index[y + dy, x + dx, k], edges[y, x, k // 2 + 3 * axis]
                free = slopes[y, x, k - 2 + 2 * axis] if k in (2, 3) else 0
                gap = flows[y + dy, x + dx, k] - flows[y, x, k] - free
                dense[i, i] += w
                dense[j, j] += w
                dense[i, j] -= w
                dense[j, i] -= w
                right[i] += w * gap
                right[j] -= w * gap
    step = solve_step(to_lanes(system), to_lanes(edges), to_lanes(flows), to_lanes(slopes), 400, 1.2)
    step = from_lanes(step, columns)
    np.testing.assert_allclose(step.ravel(), np.linalg.solve(dense, right), atol=2e-2, rtol=2e-2)


def test_smoothness_of_a_ramp() -> None:
    """A flow that rises by 0.5 a pixel pays beta 0.5 at all but the last; with that slope, nothing."""
    flows = np.zeros((6, 8, 6), np.float32)
    flows[..., 2] = 0.5 * np.arange(8)
    slopes, g = np.zeros((6, 8, 4), np.float32), within((6, 8))
    betas = [0.0, 4.0, 0.0]
    assert smooth(flows, slopes, g, betas, 1e-4)[0] == pytest.approx(4 * 0.5 * 6 * 7, rel=1e-2)
    slopes[..., 0] = 0.5
    assert smooth(flows, slopes, g, betas, 1e-4)[0] < 0.05
    assert np.allclose(first_slopes(flows[..., 2:4])[1:-1, 1:-3, 0], 0.5, atol=0.15)


def test_edges_of_the_picture_make_jumps_cheap() -> None:
    flows = np.zeros((4, 6, 6), np.float32)
    flows[:, 3:] = 2  # all six components jump at the edge
    slopes, g = np.zeros((4, 6, 4), np.float32), within((4, 6))
    g[:, 2, 0] = 0.01
    prices = [smooth(flows, slopes, g, np.eye(3)[i], 1e-6)[0] / (4 * np.sqrt(8)) for i in range(3)]
    np.testing.assert_allclose(prices, [0.1, 0.1, 0.1], rtol=1e-3)


def test_slopes_relax_downhill() -> None:
    rng = np.random.default_rng(3)
    flows = rng.normal(size=(20, 24, 6)).astype(np.float32).cumsum(axis=1)
    g = to_lanes(within((20, 24)))
    slopes, betas = to_lanes(first_slopes(flows[..., 2:4])), np.array([0, 1.0, 0], np.float32)
    laned, edges, bonds = to_lanes(flows), empty_lanes(20, 24, 6), empty_lanes(20, 24, 2)
    energies = []
    for _ in range(5):
        bent = slope_energy(slopes, g, 2.0, 1e-3, 24, bonds)
        energies.append(bent + smoothness(laned, slopes, g, betas, 1e-3, 24, edges))
        fill_margins(bonds)
        relax_slopes(laned, edges, bonds, slopes, 3)
        fill_margins(slopes)
    assert np.all(np.diff(energies) < 0)


def test_conductance_falls_at_edges_only() -> None:
    picture = np.zeros((6, 8, 3), np.float32)
    picture[:, 4:] = 0.5
    g = conductance(picture, 0.05)
    assert g[:, 3, 0].max() < 1e-4
    np.testing.assert_array_equal(
        np.delete(g[..., 0], 3, axis=1), np.delete(within((6, 8))[..., 0], 3, axis=1)
    )
    np.testing.assert_array_equal(g[..., 1], within((6, 8))[..., 1])
    np.testing.assert_array_equal(conductance(picture, 0), within((6, 8)))


def test_a_flow_whose_target_alone_is_resized_leads_to_the_same_place() -> None:
    same, half = scale_between((40, 60), (40, 60)), scale_between((40, 60), (20, 30))
    found = resized_flow(np.zeros((40, 60, 2), np.float32), same, half, (40, 60))
    np.testing.assert_allclose(found[10, 21], [(21.5 / 2 - 0.5) - 21, (10.5 / 2 - 0.5) - 10], atol=1e-5)


def test_resized_flow_of_an_affine_map_is_exact() -> None:
    """At half the size, the flow of y = M x between different pictures is that of the scaled map."""
    large_a, large_b, small_a, small_b = (40, 60), (50, 70), (20, 30), (25, 35)
    a, b = scale_between(large_a, small_a), scale_between(large_b, small_b)
    M = np.array([[1.1, 0.05, 3.0], [-0.04, 0.95, -2.0], [0, 0, 1]])

    def flow(matrix: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        grid = np.stack(np.meshgrid(np.arange(shape[1]), np.arange(shape[0])), -1).astype(float)
        return (grid @ matrix[:2, :2].T + matrix[:2, 2] - grid).astype(np.float32)

    expected = flow(b @ M @ np.linalg.inv(a), small_a)
    np.testing.assert_allclose(resized_flow(flow(M, large_a), a, b, small_a), expected, atol=1e-3)


def test_what_leaves_the_picture_is_not_compared() -> None:
    flows = stacked(SCENE.flows)
    flows[..., 0] += 1000  # out of A at t + 1, and so out of B at t + 1
    seen = np.ones((*flows.shape[:2], 3), bool)
    energy = Energy(SCENE.pictures, np.stack(SCENE.fundamental), seen, flows, RefineConfig())
    energy(to_lanes(flows))
    with_stereo = Energy(
        SCENE.pictures, np.stack(SCENE.fundamental), seen & [False, True, False], flows, RefineConfig()
    )
    with_stereo(to_lanes(flows))
    np.testing.assert_array_equal(energy.penalty, with_stereo.penalty)


def test_slopes_of_a_ramp_are_found() -> None:
    """The only slope that neither leaves the flow nor changes is that of the ramp."""
    y, x = np.mgrid[:10, :12].astype(np.float32)
    stereo = np.stack([0.5 * x - 0.2 * y, 0.1 * x], axis=-1)
    flows, edges = np.zeros((10, 12, 6)), np.zeros((10, 12, 6))
    flows[..., 2:4], edges[..., 1::3] = stereo, within((10, 12))
    slopes = empty_lanes(10, 12, 4)
    relax_slopes(to_lanes(flows), to_lanes(edges), to_lanes(within((10, 12))), slopes, 300)
    found = from_lanes(slopes, 12)
    np.testing.assert_allclose(found, np.broadcast_to([0.5, 0.1, -0.2, 0.0], found.shape), atol=1e-3)
