"""Completion of flow against its definition: dense solves, closed forms, and what must not change."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wideflow
from matching_scenes import texture
from wideflow.config import FillConfig
from wideflow.errors import InputError
from wideflow.filling import cholesky, dissection, fill
from wideflow.filling.cholesky import solve
from wideflow.filling.dissection import dissect
from wideflow.filling.laplacian import matting_stencils, number_pixels, window_models
from wideflow.threads import use_threads

SEEDS = st.integers(0, 2**32 - 1)


def dense(stencils: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The matrix that the stencils stand for."""
    ys, xs = np.nonzero(numbers >= 0)
    matrix = np.zeros((ys.size, ys.size))
    for i, (y, x) in enumerate(zip(ys, xs, strict=True)):
        for k in range(25):
            j = numbers[y + k // 5 - 2, x + k % 5 - 2]
            if j >= 0:
                matrix[i, j] = stencils[i, k]
    return matrix


def full_laplacian(picture: np.ndarray, epsilon: float) -> np.ndarray:
    """Equation 9 from equation 8: what is left of each window after the best B and b, with plain NumPy."""
    height, width = picture.shape[:2]
    matrix = np.zeros((height * width, height * width))
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            rows, columns = np.mgrid[y - 1 : y + 2, x - 1 : x + 2].reshape(2, 9)
            design = np.vstack(
                [
                    np.column_stack([picture[rows, columns].astype(float), np.ones(9)]),
                    np.column_stack([np.sqrt(epsilon) * np.eye(3), np.zeros(3)]),
                ]
            )
            left = np.eye(12)[:, :9]
            residual = left - design @ np.linalg.lstsq(design, left, rcond=None)[0]
            members = rows * width + columns
            matrix[np.ix_(members, members)] += residual.T @ residual
    return matrix


def full_solution(
    picture: np.ndarray, flow: np.ndarray, unknown: np.ndarray, config: FillConfig
) -> np.ndarray:
    known = config.weight_known * ~unknown.ravel()
    system_matrix = full_laplacian(picture, config.epsilon) + np.diag(known)
    return np.linalg.solve(system_matrix, known[:, None] * flow.reshape(-1, 2)).reshape(flow.shape)


def pictures(height: int, width: int) -> dict[str, np.ndarray]:
    grey = texture(height, width, 3).mean(axis=2, keepdims=True)
    return {
        "texture": texture(height, width, 1),
        "grey": np.repeat(grey, 3, axis=2),
        "constant": np.full((height, width, 3), 0.4, np.float32),
        "noise": np.random.default_rng(2).random((height, width, 3), dtype=np.float32),
    }


def smooth_flow(height: int, width: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    flow = np.stack([20 + 0.3 * x - 0.1 * y, -5 + 0.2 * y], axis=2)
    flow[:, width // 2 :] += (12, 3)
    return flow.astype(np.float32)


def holes(height: int, width: int) -> np.ndarray:
    """One inside, one at a corner, one pixel."""
    unknown = np.zeros((height, width), bool)
    unknown[8:15, 12:22] = unknown[:5, :6] = unknown[20, 3] = True
    return unknown


@pytest.mark.parametrize("epsilon", [1e-4, 1e-5])
@pytest.mark.parametrize("kind", ["texture", "grey", "constant", "noise"])
def test_unknown_pixels_and_a_ring_agree_with_the_full_system(kind: str, epsilon: float) -> None:
    picture, flow, unknown = pictures(30, 36)[kind], smooth_flow(30, 36), holes(30, 36)
    config = FillConfig(epsilon=epsilon, reweighted=0)
    filled = fill(picture, flow, unknown, config).uv
    expected = full_solution(picture, flow, unknown, config)
    assert np.abs(filled - expected)[unknown].max() < 0.01
    assert np.array_equal(filled[~unknown], flow[~unknown])


@given(SEEDS, st.floats(1e-7, 1e-2))
@settings(deadline=None, max_examples=10)
def test_stencils_are_the_matting_laplacian(seed: int, epsilon: float) -> None:
    picture = np.random.default_rng(seed).random((6, 7, 3), dtype=np.float32)
    numbers = number_pixels(np.ones((6, 7), bool))
    found = dense(matting_stencils(picture, numbers, epsilon), numbers)
    assert found == pytest.approx(full_laplacian(picture, epsilon), abs=1e-8)
    assert np.abs(found.sum(axis=1)).max() < 1e-9  # constant flow costs nothing


@given(SEEDS, st.floats(0.2, 1.0), st.sampled_from([0, 10_000]))
@settings(deadline=None, max_examples=12)
def test_any_region_is_solved_with_its_factor_kept_or_not(seed: int, share: float, limit: int) -> None:
    chance = np.random.default_rng(seed)
    region = chance.random((24, 31)) < share
    region[3, 4] = True
    numbers = number_pixels(region)
    stencils = matting_stencils(chance.random((24, 31, 3), dtype=np.float32), numbers, 1e-4)
    stencils[:, 12] += chance.uniform(0.1, 5, len(stencils))
    right = chance.normal(size=(len(stencils), 2))
    expected = np.linalg.solve(dense(stencils, numbers), right)
    # the factor is kept in single precision
    assert solve(stencils, numbers, right, limit) == pytest.approx(expected, abs=1e-5, rel=1e-5)


def test_blocks_meet_only_in_the_lines_after_them() -> None:
    chance = np.random.default_rng(4)
    ys, xs = np.nonzero(chance.random((60, 70)) < 0.8)
    order = dissect(ys, xs)
    assert sorted(order.pixels) == list(range(ys.size))
    block = np.repeat(np.arange(len(order.parents)), np.diff(order.starts))
    y, x = ys[order.pixels], xs[order.pixels]
    near = (np.abs(y[:, None] - y) <= 2) & (np.abs(x[:, None] - x) <= 2)
    for first, second in {(block[i], block[j]) for i, j in zip(*np.nonzero(near), strict=True) if i < j}:
        ancestors = [first]
        while ancestors[-1] >= 0:
            ancestors.append(order.parents[ancestors[-1]])
        assert second in ancestors
    runs, top = order.groups(4)
    assert sorted([*top, *(number for run in runs for number in run)]) == list(range(len(order.parents)))
    assert len(runs) >= 4


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissection, "_LEAF", 20)
    picture, flow, unknown = texture(60, 70, 1), smooth_flow(60, 70), np.zeros((60, 70), bool)
    unknown[10:50, 10:60] = True
    found = []
    for threads in (1, 4):
        with use_threads(threads):
            found.append(fill(picture, flow, unknown))
    assert np.array_equal(found[0].uv, found[1].uv)


@pytest.mark.parametrize("method", ["laplacian", "diffusion"])
def test_a_factor_in_two_goes_gives_the_same_bits(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissection, "_LEAF", 20)
    picture, flow, unknown = texture(70, 80, 1), smooth_flow(70, 80), np.zeros((70, 80), bool)
    unknown[10:60, 15:70] = unknown[:, :4] = True
    config = FillConfig(method=method)
    kept = fill(picture, flow, unknown, config)
    twice = fill(picture, flow, unknown, replace(config, direct_limit=0))
    assert np.array_equal(kept.uv, twice.uv)
    factored = []
    known = cholesky._Elimination._factor

    def counted(self: cholesky._Elimination, numbers: range, sides: int, kept: bool) -> None:
        factored.append((len(numbers), kept))
        known(self, numbers, sides, kept)

    monkeypatch.setattr(cholesky._Elimination, "_factor", counted)
    fill(picture, flow, unknown, replace(config, direct_limit=0))
    let_go = sum(count for count, kept in factored if not kept)
    assert let_go > 0.5 * sum(count for count, kept in factored if kept)


def test_misfits_are_the_windows_shares_of_the_energy() -> None:
    picture, flow = texture(12, 15, 4), smooth_flow(12, 15).reshape(-1, 2).astype(float)
    numbers = number_pixels(np.ones((12, 15), bool))
    _, misfits = window_models(picture, numbers, 1e-4, flow)
    energy = np.trace(flow.T @ full_laplacian(picture, 1e-4) @ flow)
    assert misfits.sum() == pytest.approx(energy, rel=1e-4)
    assert (misfits[1:-1, 1:-1] > 0).all()
    alone = np.zeros((12, 15), np.float32)
    alone[5, 6] = 2
    stencils = dense(matting_stencils(picture, numbers, 1e-4, alone), numbers)
    assert np.trace(flow.T @ stencils @ flow) == pytest.approx(2 * misfits[5, 6], rel=1e-4)


def test_less_weight_on_windows_across_an_edge_lets_less_flow_through() -> None:
    left = np.arange(120)[None, :, None] < 54
    colours = np.where(left, np.float32([0.8, 0.3, 0.2]), np.float32([0.1, 0.4, 0.6])).repeat(80, axis=0)
    colours = cv2.GaussianBlur(colours, (0, 0), 1)  # as a lens does
    flow = np.where(left, np.float32([10, 0]), np.float32([-8, 3])).repeat(80, axis=0)
    unknown = np.zeros((80, 120), bool)
    unknown[20:60, 34:86] = True
    errors = np.zeros(2)
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(0, 0.02, (80, 120, 3))
        picture = (colours + noise).clip(0, 1).astype(np.float32)
        for k, reweighted in enumerate((0, 2)):
            filled = fill(picture, flow, unknown, FillConfig(reweighted=reweighted)).uv
            errors[k] += np.linalg.norm(filled - flow, axis=2)[unknown].mean()
    assert errors[1] < 0.95 * errors[0]


def test_flow_that_is_linear_in_colour_comes_back() -> None:
    picture, unknown = texture(40, 50, 7), np.zeros((40, 50), bool)
    unknown[8:32, 10:40] = True
    flow = (picture @ np.float32([[30, -4], [7, 20], [-9, 2]]) + np.float32([3, -60])).astype(np.float32)
    error = np.abs(fill(picture, flow, unknown, FillConfig(epsilon=1e-9)).uv - flow)
    assert error.max() < 0.02
    diffused = np.abs(fill(picture, flow, unknown, FillConfig(method="diffusion")).uv - flow)
    assert diffused[unknown].mean() > 100 * error[unknown].mean()


def test_an_edge_of_the_picture_stays_one_of_the_flow() -> None:
    """Two surfaces of slightly noisy colour; the hole lies across their border."""
    chance = np.random.default_rng(0)
    left = np.arange(60) < 27
    picture = np.where(left[None, :, None], np.float32([0.8, 0.3, 0.2]), np.float32([0.1, 0.4, 0.6]))
    picture = np.repeat(picture, 40, axis=0) + chance.normal(0, 0.002, (40, 60, 3)).astype(np.float32)
    truth = np.where(left[None, :, None], np.float32([10, 0]), np.float32([-8, 3])).repeat(40, axis=0)
    unknown = np.zeros((40, 60), bool)
    unknown[10:30, 17:43] = True
    errors = {}
    for method in ("laplacian", "diffusion"):
        filled = fill(picture, truth, unknown, FillConfig(method=method)).uv
        errors[method] = np.linalg.norm(filled - truth, axis=2)[unknown].mean()
    assert errors["laplacian"] < 0.2
    assert errors["diffusion"] > 1.5


@pytest.mark.parametrize("method", ["laplacian", "diffusion"])
@pytest.mark.parametrize("kind", ["texture", "grey", "constant", "noise"])
def test_constant_flow_is_completed_exactly(kind: str, method: str) -> None:
    flow = np.full((30, 36, 2), (7.25, -3.5), np.float32)
    flow[12:20, 5:30] = np.nan  # not finite counts as unknown
    filled = fill(pictures(30, 36)[kind], flow, holes(30, 36), FillConfig(method=method))
    assert filled.uv == pytest.approx(np.full((30, 36, 2), (7.25, -3.5)), abs=1e-4)


def test_one_known_pixel_is_enough() -> None:
    flow = np.full((20, 24, 2), np.nan, np.float32)
    flow[7, 9] = 4, -2
    for picture in pictures(20, 24).values():
        filled = fill(picture, flow, np.zeros((20, 24), bool))
        assert filled.uv == pytest.approx(np.full((20, 24, 2), (4, -2)), abs=1e-3)


def test_pictures_too_small_for_a_window() -> None:
    flow = np.full((2, 5, 2), 3, np.float32)
    unknown = np.zeros((2, 5), bool)
    unknown[0, 2] = True
    assert np.isfinite(fill(np.zeros((2, 5), np.uint8), flow, unknown).uv).all()


def test_confidence_falls_with_the_distance_to_evidence() -> None:
    picture, unknown = texture(60, 60, 1), np.zeros((60, 60), bool)
    unknown[10:50, 10:50] = True
    known = np.full((60, 60), 0.8, np.float32)
    flow = np.full((60, 60, 2), (20, -5), np.float32)
    filled = fill(picture, wideflow.Flow(flow, known), unknown)
    assert np.array_equal(filled.confidence[~unknown], known[~unknown])
    assert filled.confidence.min() >= 0
    assert filled.confidence[unknown].max() <= 0.8 + 1e-4
    line = filled.confidence[30, 10:30]
    assert (np.diff(line) < 0).all()
    assert line[0] > 0.75
    assert line[-1] == pytest.approx(0.8 / (1 + 2 / 3), abs=0.02)  # 20 px from the evidence


@pytest.mark.parametrize("method", ["laplacian", "diffusion"])
def test_confidence_is_low_where_the_evidence_disagrees(method: str) -> None:
    """One hole amid one flow, another between two flows that differ by 20 px."""
    picture, unknown = np.full((40, 90, 3), 0.5, np.float32), np.zeros((40, 90), bool)
    unknown[12:28, 10:26] = unknown[12:28, 62:78] = True
    flow = np.where(np.arange(90)[None, :, None] < 70, np.float32([3, 4]), np.float32([23, 4]))
    trust = fill(picture, flow.repeat(40, axis=0), unknown, FillConfig(method=method)).confidence
    middle = trust[20, 18], trust[20, 70]
    assert middle[0] == pytest.approx(1 / (1 + 0.8 / 3), abs=0.03)  # 8 px from the evidence
    assert middle[1] == pytest.approx(1 / (1 + 10.8 / 3), abs=0.05)  # an even mix of both: +-10 px


def test_nothing_unknown_changes_nothing() -> None:
    flow = smooth_flow(10, 12)
    same = wideflow.fill(texture(10, 12, 1), flow, np.zeros((10, 12), bool))
    assert np.array_equal(same.uv, flow)
    assert (same.confidence == 1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"occluded": np.ones((10, 12), bool)}, "no known pixel"),
        ({"flow": np.full((10, 12, 2), np.nan)}, "no known pixel"),
        ({"occluded": np.zeros((10, 11), bool)}, "occlusion mask"),
        ({"occluded": np.zeros((10, 12), np.uint8)}, "must be boolean"),
        ({"flow": np.zeros((10, 12, 3))}, "the flow has shape"),
        ({"picture": np.zeros((10, 12, 4))}, "must be \\(H, W\\)"),
        ({"picture": np.full((10, 12, 3), 255.0)}, "outside 0..1"),
        ({"picture": np.full((10, 12, 3), np.nan)}, "not finite"),
        ({"picture": np.full((10, 12, 3), "a")}, "instead of numbers"),
    ],
)
def test_a_mistake_is_one_sentence(change: dict[str, np.ndarray], message: str) -> None:
    good = {
        "picture": texture(10, 12, 1),
        "flow": np.zeros((10, 12, 2), np.float32),
        "occluded": np.zeros((10, 12), bool),
    }
    with pytest.raises(InputError, match=message):
        fill(**{**good, **change})
