"""From flows to depth, motion, their accuracy and how far to trust them."""

from dataclasses import replace

import numpy as np
import pytest

from refine_scenes import MOTION, plane_scene
from wideflow.errors import InputError
from wideflow.geometry import points_from_depth
from wideflow.refine import FlowLoop, lift_flows
from wideflow.types import RigFrame, View

SCENE = plane_scene((64, 48), (72, 50))


def test_true_flows_give_true_depth_and_motion() -> None:
    lifted = lift_flows(*SCENE.frames, SCENE.flows)
    np.testing.assert_allclose(lifted.depth, SCENE.depth, rtol=1e-4)
    np.testing.assert_allclose(lifted.motion, np.broadcast_to(MOTION, lifted.motion.shape), atol=3e-4)
    assert lifted.confidence.min() > 0.5
    assert lifted.depth.dtype == lifted.motion.dtype == lifted.confidence.dtype == np.float32


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
        confidence = float(lift_flows(*SCENE.frames, flows, **doubts).confidence[20, 30])
        assert 0 < confidence < 1
        return confidence / (1 - confidence)

    def of(value: float) -> np.ndarray:
        return np.full(SCENE.depth.shape, value, np.float32)

    sure = odds(match_confidence=of(1), loop_error=of(0), penalty=of(0))
    assert sure > 10
    assert odds(match_confidence=of(0.1), loop_error=of(0), penalty=of(0)) < 0.5 * sure
    assert odds(match_confidence=of(1), loop_error=of(np.inf), penalty=of(0)) < 0.5 * sure
    assert odds(match_confidence=of(1), loop_error=of(0), penalty=of(60)) < 0.5 * sure
    hidden = replace(SCENE.flows, stereo_visible=np.zeros(SCENE.depth.shape, bool))
    assert odds(hidden, match_confidence=of(1), loop_error=of(0), penalty=of(0)) < 0.1 * sure
    assert odds(penalty=of(np.nan)) > 0


def test_flows_of_another_picture_are_refused() -> None:
    with pytest.raises(InputError, match="do not fit camera 'a'"):
        lift_flows(*SCENE.frames, plane_scene((60, 48)).flows)
