"""Refinement of four frames against a scene whose flows are known exactly."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refine_scenes import PlaneScene, disturbed, plane_scene
from wideflow.config import RefineConfig, load_config
from wideflow.errors import ConfigError, InputError
from wideflow.geometry import pixel_grid
from wideflow.geometry.flow_loop import FlowLoop, close_loop
from wideflow.pipeline.step.lifting import refine_step
from wideflow.pipeline.step.values import FilledFlow, Pictures, RefinedFlows
from wideflow.refine import refine_flows
from wideflow.refine.driver import minimise
from wideflow.threads import use_threads

PAPER = load_config(preset="paper").refine
MIDDLE = np.s_[8:-8, 8:-8]


def errors(flows: FlowLoop, truth: FlowLoop) -> list[float]:
    """Mean distance of u1, u2 and the whole loop from the truth, away from the border."""
    return [
        float(np.linalg.norm(getattr(flows, name) - getattr(truth, name), axis=2)[MIDDLE].mean())
        for name in ("optical", "stereo", "loop")
    ]


@pytest.mark.parametrize("size_b", [(96, 72), (120, 80)])
def test_errors_of_matching_melt(size_b: tuple[int, int]) -> None:
    scene = plane_scene(size_b=size_b)
    start = disturbed(scene.flows, 0.5)
    found = refine_flows(scene.pictures, scene.fundamental, start)
    for before, after in zip(errors(start, scene.flows), errors(found.flows, scene.flows), strict=True):
        assert after < 0.2 * before
    assert found.penalty[MIDDLE].mean() < 5  # grey levels


def test_the_papers_settings_work_coarse_to_fine() -> None:
    scene = plane_scene((97, 73))  # sizes that do not halve evenly
    start = disturbed(scene.flows, 0.5)
    found = refine_flows(scene.pictures, scene.fundamental, start, PAPER)
    assert len(found.energies) == 3
    for before, after in zip(errors(start, scene.flows), errors(found.flows, scene.flows), strict=True):
        assert after < 0.7 * before


def test_free_slopes_follow_a_slanted_plane_better() -> None:
    scene = plane_scene()
    start = disturbed(scene.flows, 0.5)
    smooth = RefineConfig(smoothness=(31.0, 3000.0, 200.0), iterations=12)
    sloped = refine_flows(scene.pictures, scene.fundamental, start, smooth)
    flat = refine_flows(scene.pictures, scene.fundamental, start, replace(smooth, slope=0.0))
    assert errors(sloped.flows, scene.flows)[1] < 0.5 * errors(flat.flows, scene.flows)[1]


@pytest.mark.parametrize("size", [(1, 1), (2, 9), (9, 2)])
def test_pictures_of_a_few_pixels_work(size: tuple[int, int]) -> None:
    scene = plane_scene(size, (7, 5))
    found = refine_flows(scene.pictures, scene.fundamental, scene.flows, PAPER)
    assert np.isfinite(found.flows.stereo).all()


@given(st.integers(0, 2**31), st.floats(0, 6), st.sampled_from([RefineConfig(), PAPER]))
@settings(max_examples=10, deadline=None)
def test_the_energy_never_rises(seed: int, noise: float, config: RefineConfig) -> None:
    scene = plane_scene((40, 32), (36, 34), seed=seed % 5)
    start = disturbed(scene.flows, noise, seed)
    rng = np.random.default_rng(seed)
    start = replace(start, stereo_visible=rng.random((32, 40)) < 0.8, loop_visible=rng.random((32, 40)) < 0.8)
    for values in refine_flows(scene.pictures, scene.fundamental, start, config).energies:
        assert len(values) > 1
        assert np.all(np.diff(values) <= 0)
        assert np.isfinite(values).all()


class Parabola:
    """Sum of squares, whose steps go ``reach`` times as far as the minimum."""

    def __init__(self, reach: float) -> None:
        self.reach = reach

    def __call__(self, flows: np.ndarray, goes_on: bool = True) -> float:
        return float(np.sum(flows**2))

    def step(self, flows: np.ndarray) -> np.ndarray:
        return -self.reach * flows

    def bend(self, flows: np.ndarray) -> float:
        return 0.0


def test_a_step_too_far_is_halved_and_one_uphill_refused() -> None:
    start = np.ones((2, 3, 6), np.float32)
    flows, values = minimise(Parabola(3.0), start, 2)
    np.testing.assert_allclose(flows, 0.25 * start)  # twice to 1 - 3 / 2
    assert np.all(np.diff(values) <= 0)
    flows, values = minimise(Parabola(-1.0), start, 2)
    np.testing.assert_array_equal(flows, start)
    assert min(values) == values[0]


def test_the_same_bits_for_any_number_of_threads() -> None:
    scene = plane_scene()
    start = disturbed(scene.flows, 0.5)
    with use_threads(1):
        alone = refine_flows(scene.pictures, scene.fundamental, start)
    with use_threads(3):
        together = refine_flows(scene.pictures, scene.fundamental, start)
    np.testing.assert_array_equal(alone.flows.stereo, together.flows.stereo)
    assert alone.energies == together.energies


def test_occluded_pixels_are_not_compared() -> None:
    """What B shows where nothing of A is seen has no influence."""
    scene = plane_scene()
    hidden = np.zeros(scene.depth.shape, bool)
    hidden[20:50, 30:60] = True
    flows = replace(disturbed(scene.flows, 0.5), stereo_visible=~hidden, loop_visible=~hidden)
    other = plane_scene(seed=5).pictures
    target = np.round(np.argwhere(hidden)[:, ::-1] + flows.stereo[hidden]).astype(int)
    (left, top), (right, bottom) = target.min(0) + 8, target.max(0) - 8  # the filters reach some pixels
    painted = [picture.copy() for picture in scene.pictures]
    for i in (1, 3):
        painted[i][top:bottom, left:right] = other[i][top:bottom, left:right]
    plain = refine_flows(scene.pictures, scene.fundamental, flows)
    np.testing.assert_allclose(
        refine_flows(painted, scene.fundamental, flows).flows.stereo, plain.flows.stereo, atol=1e-3
    )
    assert np.isnan(
        refine_flows(scene.pictures, scene.fundamental, replace(flows, optical_visible=~hidden)).penalty[
            30:40, 40:50
        ]
    ).all()
    middle = np.s_[30:40, 40:50]
    truth = scene.flows.stereo[middle]
    assert (
        np.abs(plain.flows.stereo[middle] - truth).mean() < 0.5 * np.abs(flows.stereo[middle] - truth).mean()
    )


def test_the_loop_closes_over_either_way() -> None:
    scene = plane_scene()
    truth, shape = scene.flows, scene.depth.shape
    none = np.zeros(shape, bool)
    # the plane's other two fields, from its flows: both lead to the same places in B at t + 1
    optical_b = _moved(truth.stereo, truth.loop - truth.stereo)
    stereo_next = _moved(truth.optical, truth.loop - truth.optical)
    loop, error = close_loop(truth.optical, truth.stereo, optical_b, stereo_next, none, none, none, none)
    assert np.abs(loop.closure - truth.closure)[MIDDLE].max() < 0.05
    assert error[MIDDLE].max() < 0.05
    assert loop.loop_visible[MIDDLE].all()
    # now B moves by 5 px more, so that the closure in the hole is not near zero
    optical_b, stereo_next = optical_b + 5, stereo_next + 5
    truth = replace(truth, closure=truth.closure + 5)
    wrong = stereo_next.copy()
    wrong[30:40, 40:50] += 8
    loop, error = close_loop(truth.optical, truth.stereo, optical_b, wrong, none, none, none, none)
    assert not loop.loop_visible[33:37, 43:47].any()
    assert error[33:37, 43:47].min() > 7
    assert np.abs(loop.closure - truth.closure)[33:37, 43:47].max() < 0.3  # taken from around
    seen_only_over_a, _ = close_loop(truth.optical, truth.stereo, wrong, stereo_next, none, none, ~none, none)
    assert np.abs(seen_only_over_a.closure - truth.closure)[MIDDLE].max() < 0.05


def _moved(flow: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A smooth field given at x + flow, at the pixels themselves."""
    from scipy.interpolate import griddata

    height, width = flow.shape[:2]
    y, x = np.mgrid[:height, :width]
    places = np.stack([x, y], axis=-1) + flow
    moved = griddata(places.reshape(-1, 2), values.reshape(-1, 2), (x, y), method="linear")
    nearest = griddata(places.reshape(-1, 2), values.reshape(-1, 2), (x, y), method="nearest")
    return np.where(np.isfinite(moved), moved, nearest).astype(np.float32)


def test_what_does_not_fit_is_refused() -> None:
    scene = plane_scene((24, 18))
    with pytest.raises(InputError, match="four RGB pictures"):
        refine_flows(scene.pictures[:3], scene.fundamental, scene.flows)
    with pytest.raises(InputError, match="must have one size"):
        refine_flows((*scene.pictures[:3], scene.pictures[3][:-1]), scene.fundamental, scene.flows)
    for wrong in (np.nan, 200.0):
        with pytest.raises(InputError, match=r"finite values in 0\.\.1"):
            refine_flows((*scene.pictures[:3], scene.pictures[3] * wrong), scene.fundamental, scene.flows)
    with pytest.raises(InputError, match="do not fit pictures"):
        refine_flows(plane_scene((26, 18)).pictures, scene.fundamental, scene.flows)
    with pytest.raises(InputError, match="fundamental matrices"):
        refine_flows(scene.pictures, scene.fundamental[:1], scene.flows)
    with pytest.raises(InputError, match="fill its holes"):
        replace(scene.flows, stereo=np.full_like(scene.flows.stereo, np.nan))
    with pytest.raises(InputError, match="must be boolean"):
        replace(scene.flows, stereo_visible=np.ones((18, 24), np.uint8))
    with pytest.raises(ConfigError, match="give three"):
        RefineConfig(smoothness=(1.0, 2.0))


def refined_step(
    scene: PlaneScene, start: FlowLoop, config: RefineConfig, gain: float = 1.0, confidence: float = 1.0
) -> RefinedFlows:
    """The stage from flows that agree; the light changes by a factor until t + 1."""
    a, b, a_next, b_next = (np.rint(255 * p).astype(np.uint8) for p in scene.pictures)
    a_next, b_next = (np.clip(gain * p.astype(float), 0, 255).astype(np.uint8) for p in (a_next, b_next))
    seen, plain = start.stereo_visible, np.eye(3, 10)
    loop = start.optical + start.stereo + start.closure
    back = cv2.remap(loop - start.stereo, pixel_grid(96, 72).astype(np.float32) - start.stereo, None, 1)
    stereo, optical_a, optical_b, after = (
        FilledFlow(uv.astype(np.float32), np.full(seen.shape, confidence, np.float32), ~seen, plain)
        for uv in (start.stereo, start.optical, back, loop - start.optical)
    )
    pictures = Pictures(a, b), Pictures(a_next, b_next)
    return refine_step(config, *pictures, *scene.frames, stereo, optical_a, optical_b, after)


def refined_optical_error(gain: float, one_light: bool = True) -> float:
    """Median error of the optical flow after refinement if the light changes."""
    scene = plane_scene()
    found = refined_step(scene, disturbed(scene.flows, 0.3), RefineConfig(one_light=one_light), gain)
    return float(np.median(np.linalg.norm(found.flows.optical - scene.flows.optical, axis=2)))


def test_light_that_changes_does_not_disturb_motion() -> None:
    constant = refined_optical_error(1.0)
    for gain in (1.25, 0.75):  # darker pictures have fewer grey levels
        assert refined_optical_error(gain) < 2 * constant
    assert refined_optical_error(1.25, one_light=False) > 5 * constant


def test_sure_matches_are_not_moved_far() -> None:
    """A patch 4 px off is drawn to what surrounds it, unless its match is to be believed."""
    scene = plane_scene()
    stereo = scene.flows.stereo.copy()
    patch = np.s_[30:36, 40:46]
    stereo[patch] += np.float32([4, 0])
    start = replace(scene.flows, stereo=stereo)
    far, sure = RefineConfig(furthest=0), RefineConfig()
    free = refined_step(scene, start, far)
    moved = np.linalg.norm(free.flows.stereo - stereo, axis=2)[patch]
    assert np.median(moved) > 2.5
    held, unsure = refined_step(scene, start, sure), refined_step(scene, start, sure, confidence=0.1)
    kept = np.linalg.norm(held.flows.stereo - stereo, axis=2)
    assert kept.max() <= 2
    assert (kept[patch] == 0).mean() > 0.5
    np.testing.assert_array_equal(unsure.flows.stereo, free.flows.stereo)
    # how far it would have moved is told all the same, since that says whether to believe it
    np.testing.assert_allclose(held.moved[patch], moved, atol=1e-4)
