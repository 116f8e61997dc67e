"""The renderer: its truth against closed forms, its pictures against its truth, and its promises."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from shared_data import shared
from test_handheld import assert_consistent, consistency, sample
from wideflow.errors import ConfigError, FileError, MissingExtraError
from wideflow.files import read_flow, read_image, read_rig
from wideflow.geometry import pixel_grid, truth_flows
from wideflow.handheld import HandheldScene, read_handheld
from wideflow.synth import SynthConfig, render
from wideflow.synth.camera.exposure import Shutter, render_picture, sample_rays
from wideflow.synth.camera.hands import CENTRE, hands
from wideflow.synth.camera.response import Response, develop, responses
from wideflow.synth.places import place
from wideflow.synth.studio import Studio
from wideflow.synth.things.mesh import Mesh, sphere, tube

SMALL = SynthConfig(size=(240, 136), photometric="off")


@pytest.fixture(scope="module", params=[1, 2], ids=["garden", "hall"])
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> HandheldScene:
    out = tmp_path_factory.mktemp("scene")
    render(out, replace(SMALL, seed=request.param, flows=True))
    return read_handheld(out)


def test_truth_and_pictures_are_consistent(scene: HandheldScene) -> None:
    assert scene.times(0) == scene.times(1) == [0, 1]
    for camera in (0, 1):
        assert_consistent(scene, camera, correlation=0.93)


def test_second_view_warped_by_true_flow_is_the_first() -> None:
    studio = Studio(replace(SMALL, size=(480, 270), frames=1, seed=2), 2, None)
    truth, rig = studio.truth(0, 0), studio.rig()
    flow = truth_flows(truth, rig.frame(0), rig.frame(1), 0).stereo
    warped = sample(studio.picture(1, 0), pixel_grid(480, 270) + flow)[truth.stereo_visible]
    picture = studio.picture(0, 0)[truth.stereo_visible].astype(float)
    assert np.corrcoef(warped.ravel(), picture.ravel())[0, 1] > 0.97


def test_same_checks_hold_for_the_shared_scene(scene: HandheldScene) -> None:
    theirs = consistency(read_handheld(shared("handheld/scene15")), 0)
    ours = consistency(scene, 0)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert abs(value - theirs[name]) < 0.12, (name, value, theirs[name])


def test_files_agree_with_each_other(scene: HandheldScene) -> None:
    rig = read_rig(scene.path / "rig.json")
    listed = json.loads((scene.path / "truth.json").read_text())
    assert listed["offset_seconds"] == 0
    for t in (0, 1):
        for c in (0, 1):
            np.testing.assert_array_equal(rig.frame(t).views[c].R, scene.rig.frame(t).views[c].R)
            np.testing.assert_array_equal(rig.frame(t).views[c].t, listed["cameras"][c][t]["t"])
            flows = scene.flows(c, t)
            np.testing.assert_array_equal(read_flow(scene.path / f"stereo{c}_000{t}.flo"), flows.stereo)
            np.testing.assert_array_equal(read_flow(scene.path / f"optical{c}_000{t}.flo"), flows.optical)


def test_something_moves_thirty_pixels(scene: HandheldScene) -> None:
    """About 30 px a frame at 960 pixels' width."""
    truth = scene.truth(0, 0)
    names = json.loads((scene.path / "scene.json").read_text())["objects"]
    still = np.isin(truth.object, [names.index("ground"), names.index("hills")])
    assert (truth.motion[still] == 0).all()
    moved = np.hypot(*np.moveaxis(scene.flows(0, 0).optical, -1, 0))[truth.object == names.index("ball")]
    assert 20 < np.median(moved) * 960 / 240 < 55


def test_meshes_face_outwards() -> None:
    shapes: list[Mesh] = [sphere(1.0), tube([(0, 0, 0), (0, 0, 1), (0, 0.2, 2)], 0.3)]
    for shape in shapes:
        a, b, c = (shape.vertices[shape.faces[:, i]] for i in range(3))
        volume = (np.cross(a, b) * c).sum() / 6
        assert volume > 0.3


def test_angle_between_cameras_is_as_asked() -> None:
    for angle in (0.0, 5.0, 20.0, 45.0, 90.0):
        for seed in range(4):
            a, b = (hand.view(0.0).centre - CENTRE for hand in hands(SynthConfig(angle=angle, seed=seed)))
            found = np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1)))
            assert abs(found - angle) < 1e-3


def test_hands_move_smoothly_and_on_their_own() -> None:
    pair = hands(SynthConfig(seed=5))
    times = np.arange(60) / 30
    tracks_ = np.array([[hand.view(t).centre for t in times] for hand in pair])
    steps = np.linalg.norm(np.diff(tracks_, axis=1), axis=2)
    assert 1e-3 < steps.mean() < 0.03
    assert np.abs(np.diff(tracks_, 2, axis=1)).max() < 0.02
    moves = tracks_ - tracks_[:, :1]
    assert np.abs(moves[0] - moves[1]).max() > 0.02


def test_same_seed_same_bits_for_any_number_of_threads(tmp_path: Path) -> None:
    config = SynthConfig(
        seed=5, size=(64, 36), size_b=(36, 48), frames=1, photometric="strong", rolling_shutter=0.01,
        motion_blur=0.5, weak=0.2, overexpose=0.2, distortion=(-0.05, 0.02), offset=0.013,
    )  # fmt: skip
    for name, threads in (("one", 1), ("two", 3)):
        render(tmp_path / name, config, threads=threads)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert "cam1_0000.png" in files
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_sizes_may_differ_and_seeds_do(tmp_path: Path) -> None:
    pictures = []
    for seed in (0, 3):
        render(tmp_path / str(seed), SynthConfig(seed=seed, size=(96, 54), size_b=(40, 64), frames=1))
        scene = read_handheld(tmp_path / str(seed))
        assert scene.image(0, 0).shape == (54, 96, 3)
        assert scene.image(1, 0).shape == (*scene.truth(1, 0).depth.shape, 3) == (64, 40, 3)
        assert scene.truth(0, 0).stereo_visible.mean() > 0.15
        pictures.append(scene.image(0, 0))
    assert np.abs(pictures[0] - pictures[1]).mean() > 0.05


@pytest.fixture(scope="module")
def studio() -> Studio:
    return Studio(replace(SMALL, seed=0, size=(160, 90)), 2, None)


def linear(studio: Studio, shutter: Shutter, time: float = 0.0) -> np.ndarray:
    hand = studio.hands[0]
    return render_picture(studio.scene, hand, sample_rays(hand.camera), time, shutter, False, 2)


def test_rolling_shutter_bends_time_about_the_middle_row(studio: Studio) -> None:
    still, rolled = linear(studio, Shutter()), linear(studio, Shutter(readout=0.03))
    difference = np.abs(still - rolled).mean(axis=(1, 2))
    assert difference[30:60].mean() < 0.5 * difference[:15].mean()
    # The first band of rows is the scene as it was half a readout earlier.
    early = linear(studio, Shutter(), -0.03 * (1 - 15 / 90) / 2)
    assert np.abs(early[:15] - rolled[:15]).mean() < 0.35 * difference[:15].mean()


def test_motion_blur_is_the_mean_over_the_opening(studio: Studio) -> None:
    opening = 0.03
    blurred = linear(studio, Shutter(open=opening))
    times = opening * ((np.arange(8) + 0.5) / 8 - 0.5)
    mean = np.mean([linear(studio, Shutter(), t) for t in times], axis=0)
    sharp = linear(studio, Shutter())
    assert np.abs(blurred - mean).mean() < 0.5 * np.abs(sharp - mean).mean()


def test_speed_is_a_factor_on_time() -> None:
    for normal, slow in zip(place(0, 1.0)[0], place(0, 0.25)[0], strict=True):
        assert (normal.pose is None) == (slow.pose is None)
        if normal.pose is not None and slow.pose is not None:
            np.testing.assert_allclose(normal.pose(0.1), slow.pose(0.4), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_photometric_difference_grows_and_off_is_none(seed: int) -> None:
    gaps = []
    for mode in ("off", "on", "strong"):
        a, b = responses(SynthConfig(photometric=mode, seed=seed), 1.0)
        light = np.linspace(0.02, 0.9, 50, dtype=np.float32)[:, None, None].repeat(3, 2)
        pair = [develop(light, replace(phone, noise=0.0), (0,)).astype(float) for phone in (a, b)]
        gaps.append(np.abs(pair[0] - pair[1]).mean())
        assert (a.noise == 0) == (mode == "off")
    assert gaps[0] == 0
    assert 4 < gaps[1] < 0.75 * gaps[2]


def test_response_off_is_a_plain_gamma() -> None:
    light = np.random.default_rng(0).random((20, 30, 3)).astype(np.float32)
    wanted = np.floor(np.clip(1.5 * light, 0, 1) ** (1 / 2.2) * 255 + 0.5)
    found = develop(light, Response((1.5, 1.5, 1.5)), (0,))
    assert np.abs(found.astype(int) - wanted).max() <= 1


def test_noise_has_its_deviation_and_its_seed() -> None:
    grey = np.full((100, 100, 3), 0.4, np.float32)
    response = Response((1.0, 1.0, 1.0), gamma=1.0, noise=0.03)
    a, b, c = (develop(grey, response, (s,)).astype(float) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    assert a.std() / 255 == pytest.approx(0.7 * 0.03 * np.sqrt(0.42), rel=0.1)


def test_a_third_is_blown_out_or_plain(studio: Studio) -> None:
    rich = studio.picture(0, 0)
    blown = Studio(replace(studio.config, overexpose=0.33), 2, None).picture(0, 0)
    white = [(picture.min(axis=2) >= 254).mean() for picture in (rich, blown)]
    assert white[0] < 0.05
    assert 0.23 < white[1] < 0.45
    weak = Studio(replace(studio.config, weak=0.4), 2, None).picture(0, 0)
    detail = [
        cv2.blur(np.abs(cv2.Laplacian(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), cv2.CV_32F)), (5, 5))
        for picture in (rich, weak)
    ]
    assert 0.2 < (detail[1] < 0.5 * detail[0]).mean() < 0.5


def test_pictures_of_b_are_later_by_the_offset(tmp_path: Path) -> None:
    """B's picture taken 1.5 frames late is the one that an unshifted run takes then."""
    base = replace(SMALL, size=(96, 54), seed=2, fps=30.0, speed=2.0)
    render(tmp_path / "late", replace(base, offset=1.5 / 30, frames=1))
    render(tmp_path / "early", replace(base, fps=20.0, frames=2))  # its second picture is at 1 / 20 s
    np.testing.assert_array_equal(
        read_image(tmp_path / "late" / "cam1_0000.png"), read_image(tmp_path / "early" / "cam1_0001.png")
    )


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"angle": 91}, "angle"),
        ({"angle": float("nan")}, "angle"),
        ({"frames": 0}, "frames"),
        ({"fps": 0}, "fps"),
        ({"seed": -1}, "seed"),
        ({"speed": -0.1}, "speed"),
        ({"photometric": "some"}, "off, on or strong"),
        ({"rolling_shutter": 0.05}, "rolling_shutter"),
        ({"motion_blur": 1.1}, "motion_blur"),
        ({"weak": -0.1}, "weak"),
        ({"overexpose": 2}, "overexpose"),
        ({"distortion": (0.5, 0.0)}, "distortion"),
        ({"size": (8, 8)}, "size"),
        ({"size_b": (10000, 100)}, "size_b"),
        ({"size": (97, 54), "video": True}, "even"),
    ],
)
def test_impossible_settings_are_named(wrong: dict[str, object], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        SynthConfig(**wrong)  # type: ignore[arg-type]


def test_progress_counts_every_step(tmp_path: Path) -> None:
    calls: list[tuple[int, int, str]] = []
    render(tmp_path, replace(SMALL, size=(32, 18), frames=1), lambda *call: calls.append(call))
    assert [call[0] for call in calls] == list(range(6))
    assert {call[1] for call in calls} == {5}
    assert calls[-1][2] == "done"


def test_what_the_user_can_cause_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="file"):
        render(tmp_path / "file", SMALL)
    monkeypatch.setitem(sys.modules, "embreex.rtcore_scene", None)
    with pytest.raises(MissingExtraError, match=r"wideflow\[synth\]"):
        render(tmp_path / "out", SMALL)
