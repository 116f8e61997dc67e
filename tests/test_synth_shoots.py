"""Options of shoots: what moves covers what was asked, cameras go as they should, and the truth follows."""

import json
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from test_handheld import sample
from wideflow.errors import ConfigError
from wideflow.geometry import camera_to_world, ideal_camera, pixel_grid, project, unproject, world_to_camera
from wideflow.synth import SynthConfig, render
from wideflow.synth.camera.hands import hands
from wideflow.synth.camera.response import responses
from wideflow.synth.places.pattern import pattern
from wideflow.synth.studio import Studio
from wideflow.synth.suite import is_finished
from wideflow.types import View

SMALL = SynthConfig(size=(128, 72), photometric="off", frames=24)


@pytest.mark.parametrize(("share", "seed"), [(0.1, 3), (0.7, 5)])
def test_movers_cover_the_share_that_was_asked_with_the_stronger_texture(share: float, seed: int) -> None:
    studio = Studio(replace(SMALL, movers=share, seed=seed), 2, None)
    moving = [np.abs(studio.truth(0, frame).motion).max(axis=-1) > 1e-4 for frame in (3, 12, 20)]
    assert np.mean(moving) == pytest.approx(share, abs=0.03)
    contrast = np.hypot(*np.gradient(studio.picture(0, 12).mean(axis=-1)))
    assert np.median(contrast[moving[1]]) > 1.3 * np.median(contrast[~moving[1]])


def test_tripods_stand_and_turning_cameras_only_turn() -> None:
    for path, moves, turns in (("tripod", False, False), ("turn", False, True), ("hands", True, True)):
        for hand in hands(replace(SMALL, path=path, seed=7)):
            views = [hand.view(t / 30) for t in range(40)]
            way = np.ptp([view.centre for view in views], axis=0).max()
            cosines = [(np.trace(view.R @ views[0].R.T) - 1) / 2 for view in views]
            angle = np.degrees(np.arccos(np.clip(cosines, -1, 1))).max()
            assert (way > 0.01) == moves
            assert (angle > 1.0) == turns


def test_hands_tremble_as_far_as_asked_and_exposure_is_that_of_each_camera() -> None:
    def way(tremor: float) -> np.ndarray:
        hand = hands(replace(SMALL, tremor=tremor, seed=7))[0]
        return np.array([hand.view(t / 30).centre - hand.place for t in range(20)])

    assert np.allclose(way(0.5), 0.5 * way(1.0))
    plain = responses(SMALL, 1.0)
    brighter = responses(replace(SMALL, stops=(0.0, 1.0)), 1.0)
    assert brighter[0] == plain[0]
    assert brighter[1].balance == pytest.approx([2 * gain for gain in plain[1].balance])
    phones = [responses(replace(SMALL, photometric="on", stops=stops), 1.0)[1] for stops in ((0, 0), (0, -1))]
    assert phones[1].balance == pytest.approx([gain / 2 for gain in phones[0].balance])
    with pytest.raises(ConfigError, match="stops"):
        replace(SMALL, stops=(0, 4))
    with pytest.raises(ConfigError, match="tremor"):
        replace(SMALL, tremor=-1)


def test_who_walks_goes_sideways_together_and_keeps_the_scene_in_view() -> None:
    ways = []
    for hand in hands(replace(SMALL, path="walk", seed=8)):
        first, last = hand.view(0.0), hand.view(1.0)
        ways.append(first.R @ (last.centre - first.centre))
        assert 0.25 < abs(ways[-1][0]) < 0.6
        assert abs(ways[-1][2]) < 0.15
        assert first.R[2] @ last.R[2] > 0.98
    assert ways[0][0] * ways[1][0] > 0


def test_all_points_of_the_plane_lie_in_one() -> None:
    studio = Studio(replace(SMALL, place="plane", seed=6), 2, None)
    view = studio.hands[0].view(0.0)
    truth = studio.truth(0, 0)
    rays = unproject(ideal_camera(view.camera), pixel_grid(*view.camera.size))
    points = camera_to_world(view, truth.depth[..., None] * rays).reshape(-1, 3)
    assert np.isfinite(points).all()
    assert not truth.motion.any()
    thickness = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    assert thickness[2] / np.sqrt(len(points)) < 1e-3
    assert thickness[1] / np.sqrt(len(points)) > 0.3


def test_the_pattern_repeats_from_bay_to_bay() -> None:
    bodies = pattern(np.random.default_rng(0))
    windows = [body for body in bodies if body.name == "windows"]
    assert len(windows) > 40
    assert len({body.material for body in windows}) == 1
    front = [body.mesh.vertices for body in windows[:27:3]]  # the lowest row of the back wall
    steps = np.diff(front, axis=0)
    np.testing.assert_allclose(steps, np.broadcast_to(steps[0, 0], steps.shape), atol=1e-9)


def test_zoom_changes_the_lens_and_the_truth_follows(tmp_path: Path) -> None:
    config = replace(
        SMALL, path="tripod", place="plane", zoom=(1.5, 1.0), size=(192, 108), truth_frames=(5,), frames=6
    )
    render(tmp_path, config)
    listed = json.loads((tmp_path / "truth.json").read_text())["cameras"]
    focal = np.array([[view["K"][0][0] for view in views] for views in listed])
    assert focal[0, -1] / focal[0, 0] == pytest.approx(1.5 ** (5 / 6))
    assert (np.diff(focal[0]) > 0).all()
    assert (focal[1] == focal[1, 0]).all()
    studio = Studio(config, 2, None)
    first, last = (studio.hands[0].view(config.time_of(0, t)) for t in (0, 5))
    assert last.camera.K[0, 0] == focal[0, -1]
    depth = studio.truth(0, 5).depth[..., None]
    points = camera_to_world(last, depth * unproject(last.camera, pixel_grid(192, 108)))
    warped = _seen(studio, 0, first, points)
    picture = studio.picture(0, 5).astype(float)
    assert np.corrcoef(warped.ravel(), picture.ravel())[0, 1] > 0.95


def _seen(studio: Studio, frame: int, view: View, points: np.ndarray) -> np.ndarray:
    """What the picture ``frame`` of A shows at world points (H, W, 3)."""
    return sample(studio.picture(0, frame), project(view.camera, world_to_camera(view, points)))


def test_frame_rates_differ_and_clips_last_equally_long(tmp_path: Path) -> None:
    config = replace(
        SMALL, frames=15, fps_b=24.0, offset=0.1, size=(64, 36), video=True, sound=False, truth_frames=(4, 2)
    )
    render(tmp_path, config)
    for name, rate, count in (("a", 30, 15), ("b", 24, 12)):
        with av.open(str(tmp_path / f"{name}.mp4")) as container:
            assert not container.streams.audio
            assert float(container.streams.video[0].average_rate) == pytest.approx(rate)
            assert sum(1 for _ in container.decode(video=0)) == count
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert [len(views) for views in truth["cameras"]] == [15, 12]
    assert truth["fps_b"] == 24
    own = hands(config)[1].view(0.1 + 5 / 24)
    np.testing.assert_allclose(truth["cameras"][1][5]["R"], own.R)
    assert sorted(path.name for path in tmp_path.glob("gt*")) == [
        f"gt{c}_000{t}.npz" for c in (0, 1) for t in (2, 4)
    ]
    assert is_finished(tmp_path, config)
    assert not is_finished(tmp_path, replace(config, seed=1))


def test_options_that_are_off_leave_no_trace() -> None:
    """Scenes that were rendered before these options existed count as finished."""
    plain = SynthConfig().as_json()
    assert not {"movers", "path", "place", "zoom", "fps_b", "sound", "samples", "truth_frames"} & plain.keys()
    assert SynthConfig(movers=0.2, sound=False).as_json().keys() - plain.keys() == {"movers", "sound"}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("movers", 0.9),
        ("path", "fly"),
        ("place", "moon"),
        ("zoom", (0.0, 1.0)),
        ("fps_b", 0.5),
        ("samples", 3),
        ("truth_frames", (2,)),
    ],
)
def test_impossible_options_are_named(option: str, value: object) -> None:
    with pytest.raises(ConfigError, match=option):
        SynthConfig(**{option: value})  # type: ignore[arg-type]
