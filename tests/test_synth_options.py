"""Rolling shutter, half frames, drift, lamps and tags of the renderer, each against what it must be."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wideflow.geometry import ideal_camera, inside_picture, pixel_grid, project, unproject
from wideflow.geometry.rolling import row_delay, row_poses
from wideflow.geometry.tags import find_tags, side_length
from wideflow.handheld import read_clip, read_handheld, read_truth
from wideflow.synth import SynthConfig
from wideflow.synth.camera.exposure import Shutter
from wideflow.synth.camera.response import Response, drifted, lamp
from wideflow.synth.places.tag_board import tag_board
from wideflow.synth.studio import Studio
from wideflow.synth.truth import render_truth
from wideflow.types import RigFrame, View

PLAIN = SynthConfig(seed=3, size=(48, 30), place="plane", photometric="off", angle=15)
ROLLING = replace(PLAIN, rolling_shutter=0.025, tremor=3.0, path="walk", frames=1)


@pytest.fixture(scope="module")
def rolling() -> Studio:
    return Studio(ROLLING, 1, None)


@pytest.fixture(scope="module")
def written(rolling: Studio, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rolling")
    rolling.write_cameras(out)
    rolling.write_truth(out)
    return out


def exact(studio: Studio, camera: int, time: float, row: float) -> View:
    """Where a camera is when it exposes a row of the picture of a time."""
    hand = studio.hands[camera]
    return hand.view(time + float(row_delay(hand.camera, row)))


@pytest.mark.parametrize("row", [0, 13, 29])
def test_truth_of_a_rolling_shutter_is_that_of_each_row(rolling: Studio, written: Path, row: int) -> None:
    truth, state = read_truth(written / "gt1_0000.npz"), rolling.scene.state(0.0)
    views = [exact(rolling, 1, time, row) for time in (0.0, 1 / ROLLING.fps)]
    other = rolling.hands[0].view(0.0)
    instant = render_truth(rolling.scene, (state, views[0], other), (state, views[1], other), 1)
    assert np.isfinite(truth.depth[row]).mean() > 0.9
    np.testing.assert_array_equal(truth.depth[row], instant.depth[row])
    middle = rolling.hands[1].view(0.0)
    global_one = render_truth(rolling.scene, (state, middle, other), (state, middle, other), 1)
    assert (np.abs(truth.depth[row] - global_one.depth[row]).max() > 1e-3) == (row != 13)


def test_flows_of_a_rolling_shutter_end_where_the_row_is_open(rolling: Studio, written: Path) -> None:
    scene = read_handheld(written)
    assert [camera.readout for camera in scene.rig.cameras] == [0.025, 0.025]
    flows, truth = scene.flows(0, 0), scene.truth(0, 0)
    lens, height = ideal_camera(rolling.hands[0].camera), rolling.hands[0].camera.height
    rays = unproject(lens, pixel_grid(*lens.size)) * truth.depth[..., None].astype(np.float64)
    for flow, camera, later in ((flows.stereo, 1, 0), (flows.optical, 0, 1), (flows.loop, 1, 1)):
        target = ideal_camera(rolling.hands[camera].camera)
        for row in (0, 13, height - 1):
            here = exact(rolling, 0, 0.0, row)
            points = (rays[row] - here.t) @ here.R
            for x in (5, 20, 40):
                end = pixel_grid(*lens.size)[row, x] + flow[row, x]
                there = exact(rolling, camera, later / ROLLING.fps, end[1])
                # the point is seen at the end of its flow by the camera as it is when that row is open
                seen = project(target, there.R @ points[x] + there.t)
                if inside_picture(target, end):
                    assert np.abs(seen - end).max() < 0.01


def test_poses_of_rows_follow_from_the_frames(rolling: Studio, written: Path) -> None:
    clip = read_clip(_with_video(written))
    assert [views[0].camera.readout for views in clip.views] == [0.025, 0.025]
    rig = rolling.rig()
    frames = rig.frames[0], rig.frames[1]
    bare = tuple(RigFrame(frame.index, frame.times, frame.views) for frame in frames)
    rows = np.arange(30)
    for which in (0, 1):
        true = np.stack([exact(rolling, 1, which / ROLLING.fps, row).cam_from_world for row in rows])
        near = np.abs(row_poses(frames, 1, rows, which) - true).max()
        far = np.abs(row_poses((bare[0], bare[1]), 1, rows, which) - true).max()
        still = np.abs(frames[which].views[1].cam_from_world - true).max()
        assert near < 0.1 * far
        assert far < still


def _with_video(folder: Path) -> Path:
    for name in ("a.mp4", "b.mp4"):
        (folder / name).touch()
    return folder


def test_half_a_frame_later_is_what_twice_the_rate_shows() -> None:
    late = Studio(replace(PLAIN, offset=0.5 / 30, frames=1, tremor=2.0), 1, None)
    quick = Studio(replace(PLAIN, fps=60.0, frames=2, tremor=2.0), 1, None)
    assert (late.picture(1, 0) == quick.picture(1, 1)).all()
    assert not (late.picture(1, 0) == quick.picture(1, 0)).all()
    assert late.config.time_of(1, 7) == pytest.approx(7.5 / 30, abs=1e-15)


def test_exposure_drifts_by_the_factor_asked_for() -> None:
    config = replace(PLAIN, exposure_drift=1.5, frames=9)
    start = Response((0.8, 1.0, 1.1))
    for camera in (0, 1):
        gains = np.array([drifted(start, config, camera, frame).balance for frame in range(9)])
        steps = np.diff(np.log(gains[:, 1]))
        assert abs(np.log(gains[-1, 1] / gains[0, 1])) == pytest.approx(np.log(1.5))
        assert (steps * steps[0] > 0).all()  # one way, without a jump
        assert np.abs(steps).max() < 0.1
        assert 0.02 < abs(np.log(gains[-1, 0] / gains[-1, 2]) - np.log(gains[0, 0] / gains[0, 2])) < 0.2
    assert drifted(start, PLAIN, 0, 5) is start


def test_a_lamp_brightens_rows_at_their_own_times() -> None:
    config = replace(PLAIN, lamp_flicker=0.4)
    whole = lamp(config, 0.1, Shutter(), 30)
    assert np.ptp(whole) == 0
    waves = lamp(config, 0.1, Shutter(readout=0.02), 30)  # two periods of 100 Hz
    assert waves == pytest.approx(
        1 + 0.4 * np.cos(_phase(waves) + 2 * np.pi * 2 * np.arange(30) / 30), abs=1e-3
    )
    assert waves[:15] == pytest.approx(waves[15:], abs=1e-5)
    assert lamp(config, 0.1, Shutter(open=0.01), 30) == pytest.approx(1, abs=1e-6)  # a whole period


def _phase(waves: np.ndarray) -> float:
    turn = np.exp(-2j * np.pi * 2 * np.arange(30) / 30)
    return float(np.angle((waves - 1) @ turn))


def test_the_tag_of_a_scene_has_its_size_and_is_seen() -> None:
    studio = Studio(replace(PLAIN, tag=0.3, size=(320, 180), frames=1), 1, None)
    (paper,) = (body for body in tag_board(0.3, 3, studio.hands) if body.name == "tag")
    wide = np.linalg.norm(np.ptp(paper.mesh.vertices, axis=0))
    assert wide == pytest.approx(0.3 * 10 / 8 * np.sqrt(2), rel=0.02)
    for camera in (0, 1):
        picture = studio.picture(camera, 0)
        found = find_tags(picture[..., 1].copy())
        assert list(found) == [7]
        focal = studio.hands[camera].camera.K[0, 0]
        assert side_length(found[7]) == pytest.approx(0.3 * focal / 3.0, rel=0.12)
