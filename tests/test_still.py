"""What stands still takes the flow of a static world, and what moves keeps its own."""

from dataclasses import replace

import cv2
import numpy as np

from refine_scenes import plane_scene
from wideflow.geometry import static_flow
from wideflow.geometry.flow_loop import FlowLoop
from wideflow.lift import standing_still

SCENE = plane_scene((320, 200), (320, 200))
NOISE = 0.02  # px


def _matched(own: np.ndarray) -> tuple[FlowLoop, np.ndarray, np.ndarray]:
    """Flows of a scene that moves by ``own`` px (H, W, 2) in both cameras, noisy; and the static ones."""
    now, after = SCENE.frames
    optical, loop = (static_flow(now.views[0], view, 1 / SCENE.depth) for view in after.views)
    chance = np.random.default_rng(1)
    noise = [cv2.GaussianBlur(chance.normal(size=own.shape), (0, 0), 3) for _ in range(2)]
    rough = [(NOISE / each.std() * each + own).astype(np.float32) for each in noise]
    closure = loop + rough[1] - optical - rough[0] - SCENE.flows.stereo
    return replace(SCENE.flows, optical=optical + rough[0], closure=closure), optical, loop


def test_the_noise_of_what_stands_still_is_gone() -> None:
    flows, optical, loop = _matched(np.zeros((200, 320, 2)))
    found, share = standing_still(*SCENE.frames, np.float32(SCENE.depth), flows, 0.07)
    assert np.median(np.abs(found.optical - optical)) < 0.05 * NOISE
    assert np.median(np.abs(found.loop - loop)) < 0.05 * NOISE
    np.testing.assert_array_equal(found.stereo, flows.stereo)
    assert np.median(share) > 0.9


def test_what_moves_keeps_its_flow_also_where_it_turns() -> None:
    """A disc swings: its middle stands still for a moment, as does the wall behind it."""
    y, x = np.mgrid[:200, :320]
    disc = np.hypot(x - 160, y - 100) < 50
    own = np.where(disc[..., None], np.stack([(x - 160) / 25, 0 * x], axis=-1), 0)
    flows, optical, _ = _matched(own)
    found, share = standing_still(*SCENE.frames, np.float32(SCENE.depth), flows, 0.07)
    inside = np.hypot(x - 160, y - 100) < 40
    assert np.abs(found.optical - flows.optical)[inside].max() < 0.3 * NOISE
    outside = np.hypot(x - 160, y - 100) > 70
    assert np.median(np.abs(found.optical - optical)[outside]) < 0.05 * NOISE
    assert share[inside].max() < 0.3


def test_unknown_depth_and_a_setting_of_none_leave_flows_as_they_are() -> None:
    flows, _, _ = _matched(np.zeros((200, 320, 2)))
    depth = np.float32(SCENE.depth)
    depth[:100] = np.nan
    found, share = standing_still(*SCENE.frames, depth, flows, 0.07)
    np.testing.assert_allclose(found.loop[:100], flows.loop[:100], atol=1e-4)
    np.testing.assert_array_equal(found.optical[:100], flows.optical[:100])
    assert not share[:100].any()
    same, share = standing_still(*SCENE.frames, depth, flows, 0)
    assert same is flows
    assert not share.any()
