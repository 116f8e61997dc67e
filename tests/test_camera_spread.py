"""What uncertain cameras do to depth, and what confidence makes of it."""

import numpy as np
import pytest

from wideflow.geometry import camera_to_world, ideal_camera, pixel_grid, project, unproject, world_to_camera
from wideflow.lift import MatchEvidence, camera_spread, lift_stereo, tilt_words
from wideflow.types import Camera, RigFrame, View

SIZE = (240, 180)
# one standard deviation of: focal lengths of A and B (shares), k1 of A, turns of B about x, y, z (degrees)
DEVIATIONS = np.array([0.01, 0.01, 0.01, 0.1, 0.1, 0.1])
NOISE = 0.03  # px in every coordinate


def _filmed(off: np.ndarray) -> RigFrame:
    """Two lenses with distortion, about 10 degrees apart, as far off as ``off`` says in the units above."""
    focal_a, focal_b = 264 * (1 + off[:2])
    a = Camera("a", *SIZE, _K(focal_a), np.array([-0.05 + off[2], 0, 0, 0]))
    b = Camera("b", *SIZE, _K(focal_b), np.array([0.03, 0, 0, 0]))
    turn = _turn(np.array([0.01, -0.17, 0.02])) @ _turn(np.radians(off[3:]))
    centre = np.array([0.55, 0.03, 0.05])
    return RigFrame(0, (0.0, 0.0), (View(a, np.eye(3, 4)), View(b, np.column_stack([turn, -turn @ centre]))))


def _K(focal: float) -> np.ndarray:
    return np.array([[focal, 0, 119.5], [0, focal, 89.5], [0, 0, 1]])


def _turn(vector: np.ndarray) -> np.ndarray:
    import cv2

    return cv2.Rodrigues(vector)[0]


def _ideal(frame: RigFrame) -> RigFrame:
    """Without distortion, at two thirds of the size."""
    views = [View(ideal_camera(view.camera, (160, 120)), view.cam_from_world) for view in frame.views]
    return RigFrame(0, (0.0, 0.0), (views[0], views[1]))


def _matches(believed: RigFrame, true: RigFrame) -> tuple[np.ndarray, np.ndarray]:
    """Depth of a wavy world filmed by the true cameras, and its flow between the ideal pictures that are made
    with the believed ones.
    """
    ideal = _ideal(believed)
    grid = pixel_grid(*ideal.views[0].camera.size)
    raw = project(believed.views[0].camera, unproject(ideal.views[0].camera, grid))
    rays = unproject(true.views[0].camera, raw)
    depth = 3.2 + 0.8 * np.sin(4 * rays[..., 0] + 1) + 0.8 * np.cos(5 * rays[..., 1])
    points = camera_to_world(true.views[0], rays * depth[..., None])
    seen = project(true.views[1].camera, world_to_camera(true.views[1], points))
    target = project(ideal.views[1].camera, unproject(believed.views[1].camera, seen))
    return depth, (target - grid).astype(np.float32)


def _errors(found: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Relative, up to a common factor."""
    change = np.log(found / depth)
    return change - np.median(change)


BELIEVED = _filmed(np.zeros(6))
ALTERNATIVES = [_filmed(row) for row in np.diag(DEVIATIONS)]


@pytest.mark.parametrize("direction", range(len(DEVIATIONS)))
def test_spread_is_the_error_that_wrong_cameras_make(direction: int) -> None:
    """The world is filmed by other cameras than believed: depth errs by what the spread predicts."""
    true = _filmed(np.diag(DEVIATIONS)[direction])
    depth, flow = _matches(BELIEVED, true)
    visible = np.ones(depth.shape, bool)
    found = lift_stereo(_ideal(BELIEVED), flow, MatchEvidence(visible)).depth
    actual = np.abs(_errors(found, depth))
    spread = camera_spread(BELIEVED, _ideal(BELIEVED), flow, [true])
    assert spread.dtype == np.float32
    assert np.percentile(actual, 95) > 3e-4  # there is something to predict
    np.testing.assert_allclose(spread, actual, atol=0.1 * np.percentile(actual, 95))


def test_no_doubt_no_spread() -> None:
    _, flow = _matches(BELIEVED, BELIEVED)
    assert not camera_spread(BELIEVED, _ideal(BELIEVED), flow, []).any()
    assert camera_spread(BELIEVED, _ideal(BELIEVED), flow, [BELIEVED]).max() < 1e-6


def test_independent_directions_add_up() -> None:
    _, flow = _matches(BELIEVED, BELIEVED)
    alone = [camera_spread(BELIEVED, _ideal(BELIEVED), flow, [rig]) for rig in ALTERNATIVES]
    together = camera_spread(BELIEVED, _ideal(BELIEVED), flow, ALTERNATIVES)
    np.testing.assert_allclose(together, np.sqrt(np.square(alone).sum(axis=0)), rtol=1e-3)


def test_a_longer_baseline_is_no_error() -> None:
    """Two videos do not tell the scale."""
    a, b = BELIEVED.views
    longer = RigFrame(0, (0.0, 0.0), (a, View(b.camera, np.column_stack([b.R, 1.3 * b.t]))))
    _, flow = _matches(BELIEVED, BELIEVED)
    assert camera_spread(BELIEVED, _ideal(BELIEVED), flow, [longer]).max() < 1e-6


def test_matches_without_depth_do_not_spoil_those_around() -> None:
    _, flow = _matches(BELIEVED, BELIEVED)
    clean = camera_spread(BELIEVED, _ideal(BELIEVED), flow, ALTERNATIVES)
    flow[40:60, 40:60] = 900  # behind the cameras
    spoilt = camera_spread(BELIEVED, _ideal(BELIEVED), flow, ALTERNATIVES)
    # the median over the picture is that of other pixels
    np.testing.assert_allclose(spoilt[:, 80:], clean[:, 80:], atol=2e-3)
    assert np.isinf(spoilt[50, 50])


def test_confidence_holds_for_cameras_as_uncertain_as_told() -> None:
    """Worlds filmed by cameras that are off at random: above 0.8, 90 % are within a percent.

    Whoever does not tell the uncertainty of the cameras claims more than is true.
    """
    rng = np.random.default_rng(5)
    claimed: dict[bool, list[np.ndarray]] = {True: [], False: []}
    right: list[np.ndarray] = []
    for _ in range(24):
        depth, flow = _matches(BELIEVED, _filmed(DEVIATIONS * rng.normal(size=6)))
        flow += rng.normal(size=flow.shape).astype(np.float32) * NOISE * np.sqrt(2)
        noise = np.full(depth.shape, NOISE, np.float32)
        spread = camera_spread(BELIEVED, _ideal(BELIEVED), flow, ALTERNATIVES)
        for told in (True, False):
            evidence = MatchEvidence(np.ones(depth.shape, bool), noise=noise, spread=spread if told else None)
            lifted = lift_stereo(_ideal(BELIEVED), flow, evidence)
            claimed[told].append(lifted.confidence)
            assert (lifted.judged.tilt > 0.002) == told
        right.append(np.abs(_errors(lifted.depth, depth)) < 0.01)
    truth, told, untold = np.stack(right), np.stack(claimed[True]), np.stack(claimed[False])
    assert truth[told > 0.8].mean() > 0.9
    assert (told > 0.8).mean() > 0.1
    assert told.mean() == pytest.approx(truth.mean(), abs=0.06)
    assert truth[untold > 0.8].mean() < 0.6


def test_tilt_is_said_in_words() -> None:
    assert tilt_words(0.031) == "depth may be tilted by 3 %, since the cameras are known no better"
    assert "1.4 %" in (tilt_words(0.0141) or "")
    assert tilt_words(0.001) is None
