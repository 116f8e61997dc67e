"""From flows to depth, motion, their accuracy and how far to trust them."""

from dataclasses import replace

import numpy as np
import pytest

from refine_scenes import MOTION, plane_scene
from wideflow.errors import InputError
from wideflow.evaluate.datasets.sample import rectified_frame
from wideflow.geometry import points_from_depth
from wideflow.geometry.flow_loop import FlowLoop
from wideflow.lift import MatchEvidence, lift_flows, match_noise
from wideflow.types import Camera, RigFrame, View

SCENE = plane_scene((64, 48), (72, 50))


def test_true_flows_give_true_depth_and_motion() -> None:
    lifted = lift_flows(*SCENE.frames, SCENE.flows)
    np.testing.assert_allclose(lifted.depth, SCENE.depth, rtol=1e-4)
    np.testing.assert_allclose(lifted.motion, np.broadcast_to(MOTION, lifted.motion.shape), atol=3e-4)
    assert lifted.confidence.min() > 0.5
    assert lifted.depth.dtype == lifted.motion.dtype == lifted.confidence.dtype == np.float32


@pytest.mark.parametrize("late", [0.5, -0.4])
def test_what_b_shows_at_another_time_is_brought_to_that_of_a(late: float) -> None:
    """The plane moves, and B's pictures are of half a time step later: 2 % of its depth if nobody minds.

    What is left is the way that is not even: the plane comes nearer by 1.3 % within a step.
    """
    scene = plane_scene((64, 48), (72, 50), late=late)
    lifted = lift_flows(*scene.frames, scene.flows)
    np.testing.assert_allclose(lifted.depth, scene.depth, rtol=1.5e-3)
    np.testing.assert_allclose(lifted.motion, np.broadcast_to(MOTION, lifted.motion.shape), atol=5e-3)
    unminded = lift_flows(*(replace(frame, late=0.0) for frame in scene.frames), scene.flows)
    assert np.median(np.abs(unminded.depth / scene.depth - 1)) > 0.015


def test_covariance_is_that_of_noisy_pixels() -> None:
    """200 samples of noise in every coordinate of both pictures spread as the first order says."""
    rng = np.random.default_rng(0)
    x, sigma, samples = np.array([30.0, 20.0]), 0.05, 2000
    from wideflow.geometry import triangulate

    y = x + SCENE.flows.stereo[20, 30]
    noise = rng.normal(size=(2, samples, 2)) * sigma
    points = triangulate(*SCENE.frames[0].views, x + noise[0], y + noise[1]).points
    expected = lift_flows(*SCENE.frames, SCENE.flows).covariance[20, 30] * sigma**2
    np.testing.assert_allclose(np.cov(points.T), expected, atol=0.15 * np.abs(expected).max())


def test_motion_covariance_adds_both_moments() -> None:
    lifted = lift_flows(*SCENE.frames, SCENE.flows)
    static = lift_flows(SCENE.frames[0], SCENE.frames[0], _still(SCENE.flows))
    np.testing.assert_allclose(static.motion_covariance, 2 * static.covariance, rtol=1e-4)
    assert np.abs(static.motion).max() < 1e-4
    assert (
        np.trace(lifted.motion_covariance, axis1=2, axis2=3) > np.trace(lifted.covariance, axis1=2, axis2=3)
    ).all()


def _still(flows: FlowLoop) -> FlowLoop:
    zero = np.zeros_like(flows.optical)
    return replace(flows, optical=zero, closure=zero)


def test_points_behind_a_camera_are_marked() -> None:
    stereo = SCENE.flows.stereo.copy()
    views = SCENE.frames[0].views
    behind = points_from_depth(views[0], np.full(SCENE.depth.shape, -2.0))[10, 10]
    local = views[1].R @ behind + views[1].t
    pixel = (views[1].camera.K @ local)[:2] / local[2]
    stereo[10, 10] = pixel - (10, 10)
    lifted = lift_flows(*SCENE.frames, replace(SCENE.flows, stereo=stereo))
    assert np.isnan(lifted.depth[10, 10])
    assert np.isnan(lifted.motion[10, 10]).all()
    assert np.isnan(lifted.covariance[10, 10]).all()
    assert lifted.confidence[10, 10] == 0
    assert np.isfinite(lifted.depth).sum() == lifted.depth.size - 1


def test_nearly_parallel_rays_are_marked() -> None:
    """The same flows under a tenth of a hundredth of the base: all rays are nearly parallel."""
    views = []
    for frame in SCENE.frames:
        a, b = frame.views
        centre = a.centre + 1e-3 * (b.centre - a.centre)
        views.append(View(b.camera, np.column_stack([a.R, -a.R @ centre])))
    frames = [RigFrame(k, (k, k), (SCENE.frames[k].views[0], views[k])) for k in range(2)]
    points = points_from_depth(frames[0].views[0], SCENE.depth)
    from wideflow.geometry import flow_between

    stereo = flow_between(points, *frames[0].views).astype(np.float32)
    lifted = lift_flows(*frames, replace(SCENE.flows, stereo=stereo, closure=-SCENE.flows.optical * 0))
    assert np.isnan(lifted.depth).all()
    assert (lifted.confidence == 0).all()


def test_every_doubt_lowers_confidence() -> None:
    def odds(flows: FlowLoop = SCENE.flows, **doubts: np.ndarray) -> float:
        sharp = {"visible": flows.stereo_visible, "noise": of(0.01)}
        evidence = MatchEvidence(**(sharp | doubts))
        confidence = float(lift_flows(*SCENE.frames, flows, evidence).confidence[20, 30])
        assert 0 < confidence < 1
        return confidence / (1 - confidence)

    def of(value: float) -> np.ndarray:
        return np.full(SCENE.depth.shape, value, np.float32)

    sure = odds(match_confidence=of(1), loop_error=of(0), moved=of(0), spread=of(0))
    assert sure > 10
    assert odds() == pytest.approx(sure, rel=1e-3)  # what is not told does not speak against a depth
    assert odds(match_confidence=of(0.1)) < 0.5 * sure
    assert odds(loop_error=of(np.inf)) < 0.8 * sure
    assert odds(moved=of(2)) < 0.2 * sure
    assert odds(noise=of(0.5)) < 0.1 * sure
    assert odds(spread=of(0.02)) < 0.1 * sure
    assert odds(visible=np.zeros(SCENE.depth.shape, bool)) < 0.6 * sure
    jump = SCENE.flows.stereo.copy()
    jump[:, 32:] -= (3, 0)  # a surface ends two pixels beside the pixel that is judged
    assert odds(replace(SCENE.flows, stereo=jump)) < 0.3 * sure


def test_plain_and_noisy_pictures_hold_a_match_less() -> None:
    """The noise of a match follows contrast and noise, not gain; only contrast along the line counts."""
    a, b = SCENE.pictures[:2]
    frame, stereo = SCENE.frames[0], SCENE.flows.stereo
    rng = np.random.default_rng(0)

    def noise_of(contrast: float, sigma: float, gain: float = 1.0) -> float:
        pair = [
            0.5 + contrast * (picture - 0.5) + sigma * rng.normal(size=picture.shape) for picture in (a, b)
        ]
        first, second = (picture.astype(np.float32) for picture in (pair[0], gain * pair[1]))
        return float(np.median(match_noise(first, second, frame, stereo)))

    clean = noise_of(1, 0.002)
    assert clean < 0.11
    assert noise_of(1, 0.1) > 1.5 * clean
    assert noise_of(0.05, 0.03) > 5 * noise_of(1, 0.03)
    assert noise_of(0, 0.03) > 1  # noise alone is no texture
    assert noise_of(1, 0.01, gain=0.7) == pytest.approx(noise_of(1, 0.01), rel=0.1)
    height, width = stereo.shape[:2]
    rows = np.broadcast_to(np.sin(np.arange(height))[:, None, None] / 4 + 0.5, (height, width, 3))
    rectified = rectified_frame((width, height), 60.0, (32.0, 24.0), 0.5)
    still = np.zeros_like(stereo)
    stripes = rows.astype(np.float32)
    assert match_noise(stripes, stripes, rectified, still).min() > 1
    across = np.ascontiguousarray(stripes.transpose(1, 0, 2)[:height, :])
    across = np.tile(across, (1, 2, 1))[:, :width]
    assert np.median(match_noise(across, across, rectified, still)) < 0.15


def test_flows_of_another_picture_are_refused() -> None:
    with pytest.raises(InputError, match="do not fit camera 'a'"):
        lift_flows(*SCENE.frames, plane_scene((60, 48)).flows)


def test_what_moves_between_the_two_exposures_is_trusted_less() -> None:
    """A wall of which the right half slides along the baseline: B's later picture shows another depth."""
    camera = Camera("a", 80, 60, np.array([[300.0, 0, 40], [0, 300, 30], [0, 0, 1]]), np.zeros(4))
    still = RigFrame(0, (0.0, 0.0), (View(camera, np.eye(3, 4)), View(camera, _beside(1.0))))
    stereo = np.zeros((60, 80, 2), np.float32)
    stereo[..., 0] = -300 * 1.0 / 10
    optical = np.zeros_like(stereo)
    optical[:, 40:, 0] = 300 * 0.2 / 10
    seen = np.ones((60, 80), bool)
    flows = FlowLoop(optical, stereo, np.zeros_like(stereo), seen, seen, seen)
    together, apart = (
        lift_flows(still, still, flows, MatchEvidence(seen, late=late)).confidence for late in (0.0, 0.1)
    )
    np.testing.assert_array_equal(apart[:, :30], together[:, :30])
    assert together[:, 50:].min() > 0.5
    assert apart[:, 50:].max() < 0.5  # 0.1 x 0.2 / 1: depth is off by 2 %


def _beside(x: float) -> np.ndarray:
    return np.column_stack([np.eye(3), [-x, 0, 0]])
