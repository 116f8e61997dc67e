"""Scene flow of four pictures: against rendered truth, and as the files that `wideflow frames` writes."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray

import wideflow
from wideflow.cli import main
from wideflow.evaluate.metrics import flow_scores, motion_scores
from wideflow.files import write_rig
from wideflow.handheld import HandheldScene, read_handheld
from wideflow.pipeline import compute_step, outputs
from wideflow.storage.result import Result
from wideflow.storage.schema import ARRAYS
from wideflow.synth import SynthConfig, render
from wideflow.types import Camera, Rig, RigFrame, SceneFlow

A, B = (320, 180), (240, 160)

_STEPS = tuple(name for name, described in ARRAYS.items() if described.of_step)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> HandheldScene:
    """Two cameras of different size."""
    folder = tmp_path_factory.mktemp("frames") / "scene"
    render(folder, SynthConfig(angle=10, size=A, size_b=B, seed=4, distortion=(-0.03, 0.02)))
    return read_handheld(folder)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> HandheldScene:
    folder = tmp_path_factory.mktemp("frames") / "tiny"
    render(folder, SynthConfig(angle=10, size=(128, 72), seed=5))
    return read_handheld(folder)


def four(scene: HandheldScene) -> list[np.ndarray]:
    return [scene.image(camera, t) for t in (0, 1) for camera in (0, 1)]


def paths(scene: HandheldScene) -> list[str]:
    return [str(scene.path / f"cam{camera}_{t:04d}.png") for t in (0, 1) for camera in (0, 1)]


@pytest.fixture(scope="module")
def result(scene: HandheldScene, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("frames") / "out"
    assert main(["frames", *paths(scene), "--rig", str(scene.path / "rig.json"), "-o", str(out)]) == 0
    return out


def test_what_is_written_agrees_with_the_truth(scene: HandheldScene, result: Path) -> None:
    found = xarray.open_zarr(result / "result.zarr", consolidated=False)
    truth, flows = scene.truth(0, 0), scene.flows(0, 0)
    seen = truth.stereo_visible & truth.optical_visible & truth.loop_visible
    assert flow_scores(found.stereo_flow.values[0], flows.stereo, truth.stereo_visible).visible.bad[3] < 10
    optical = flow_scores(found.optical_flow_a.values[0], flows.optical, truth.optical_visible).visible
    assert optical.median < 0.2
    for t, seen_at in ((0, seen), (1, scene.truth(0, 1).stereo_visible)):
        true = scene.truth(0, t).depth
        error = np.abs(found.depth.values[t] / true - 1)[seen_at]
        assert np.isfinite(error).mean() > 0.999  # a completed flow may lead behind the cameras
        assert np.nanmedian(error) < 0.015
    motion = motion_scores(found.motion.values[0], truth.motion, seen, (0.05,)).visible
    assert motion.median < 0.02
    hidden = np.isfinite(truth.depth) & ~truth.stereo_visible
    assert found.occluded.values[0][hidden].mean() > 0.6
    assert found.occluded.values[0][truth.stereo_visible].mean() < 0.2


def test_the_surer_half_has_few_of_the_errors(scene: HandheldScene, result: Path) -> None:
    found = xarray.open_zarr(result / "result.zarr", consolidated=False)
    true, confidence = scene.truth(0, 0).depth, found.confidence.values[0]
    known = np.isfinite(true)
    wrong = ~(np.abs(found.depth.values[0] - true) <= 0.02 * true)[known]
    sure = confidence[known] >= np.median(confidence[known])
    assert np.count_nonzero(wrong & sure) < 0.25 * np.count_nonzero(wrong)
    assert 0 <= confidence.min() <= confidence.max() <= 1


def test_the_store_names_its_dimensions_and_units(result: Path) -> None:
    found = xarray.open_zarr(result / "result.zarr", consolidated=False)
    assert found.stereo_flow.dims == ("time", "y", "x", "xy")
    assert found.optical_flow_b.dims == ("step", "y_b", "x_b", "xy")
    assert found.motion.dims == ("step", "y", "x", "xyz")
    assert found.motion.shape == (1, 180, 320, 3)
    assert found.optical_flow_b.shape == (1, 160, 240, 2)
    assert found.depth.shape == (2, 180, 320)
    assert found.depth.attrs["units"] == "world units"
    assert found.stereo_flow.encoding["chunks"] == (1, 180, 320, 2)
    rig = wideflow.read_rig(result / "rig.json")
    assert [camera.is_pinhole for camera in rig.cameras] == [True, True]
    assert len(rig.frames) == 2
    assert "refine" in (result / "timings.json").read_text()


def test_static_cameras_and_a_still_scene_move_nothing(tiny: HandheldScene) -> None:
    a, b = tiny.image(0, 0), tiny.image(1, 0)
    still = Rig(tiny.rig.cameras, tiny.rig.frames[:1])
    found = wideflow.scene_flow(a, b, a, b, still)
    assert isinstance(found, SceneFlow)
    trusted = found.confidence > 0.3
    assert trusted.mean() > 0.2
    assert np.nanmedian(np.linalg.norm(found.motion[trusted], axis=-1)) < 0.005
    assert np.abs(found.optical_flow_a).max() < 0.5


def test_static_cameras_are_a_rig_of_one_frame(tiny: HandheldScene, tmp_path: Path) -> None:
    write_rig(tmp_path / "still.json", Rig(tiny.rig.cameras, tiny.rig.frames[:1]))
    a, b = paths(tiny)[:2]
    words = ["frames", a, b, a, b, "--rig", str(tmp_path / "still.json"), "-o", str(tmp_path / "out"), "-q"]
    assert main(words) in (0, 3)
    found = Result(tmp_path / "out")
    assert [frame.index for frame in found.rig.frames] == [0, 1]
    assert (
        found.rig.frames[1].views[0].cam_from_world.tobytes()
        == tiny.rig.frames[0].views[0].cam_from_world.tobytes()
    )
    assert np.isfinite(found.points(1)).any()


def test_frames_are_a_run_of_two_moments(tiny: HandheldScene, tmp_path: Path) -> None:
    """Bit for bit, with lenses that have distortion."""
    rig = Rig(*_bent(tiny.rig))
    write_rig(tmp_path / "rig.json", rig)
    for camera, name in enumerate("ab"):
        (tmp_path / name).mkdir()
        for t in (0, 1):
            shutil.copy(paths(tiny)[2 * t + camera], tmp_path / name / f"{t}.png")
    # the clip of two moments is too short to speak for or against its rig
    words = [str(tmp_path / "a"), str(tmp_path / "b"), "--fps", "10", "--offset", "0", "--no-report"]
    for name in ("stereo/000001", "optical_b/000000"):  # voices that are wrong, to be heard by both
        (tmp_path / "flows" / name).parent.mkdir(parents=True)
        wideflow.write_flow(tmp_path / "flows" / f"{name}.flo", np.full((72, 128, 2), 2, np.float32))
    known = ["--rig", str(tmp_path / "rig.json"), "--proposals", str(tmp_path / "flows"), "-q"]
    assert main(["run", *words, *known, "--anyway", "-o", str(tmp_path / "run")]) in (0, 3)
    assert main(["frames", *paths(tiny), *known, "-o", str(tmp_path / "frames")]) in (0, 3)
    one, two = Result(tmp_path / "run"), Result(tmp_path / "frames")
    for name in ARRAYS:
        for t in range(2 - (name in _STEPS)):
            assert one.array(name, t).tobytes() == two.array(name, t).tobytes(), (name, t)
    assert (tmp_path / "run/rig.json").read_bytes() == (tmp_path / "frames/rig.json").read_bytes()
    assert one.timings["frames"][0].keys() == two.timings["frames"][0].keys()


def _bent(rig: Rig) -> tuple[tuple[Camera, Camera], tuple[RigFrame, ...]]:
    """The cameras with principal points that binary numbers round, and with some distortion."""
    shift = np.array([[0, 0, 0.3], [0, 0, -0.7], [0, 0, 0]])
    a, b = (
        replace(camera, K=camera.K + shift, distortion=np.array([0.01, -0.003, 0.001, 0]))
        for camera in rig.cameras
    )
    frames = (
        replace(frame, views=(replace(frame.views[0], camera=a), replace(frame.views[1], camera=b)))
        for frame in rig.frames[:2]
    )
    return (a, b), tuple(frames)


def test_pictures_of_another_size_than_the_rig(tiny: HandheldScene) -> None:
    a0, b0, a1, b1 = four(tiny)
    with pytest.raises(wideflow.WideflowError, match="is 128x60, its calibration is for 128x72"):
        wideflow.scene_flow(a0[:60], b0, a1, b1, tiny.rig)


@pytest.mark.parametrize("other", ["plain", "noise"])
def test_nothing_in_common_is_refused_or_not_trusted(tiny: HandheldScene, other: str) -> None:
    a0, b0, a1, b1 = four(tiny)
    noise = np.random.default_rng(0).random((2, *b0.shape), np.float32)
    b0, b1 = (np.zeros_like(b0), np.zeros_like(b1)) if other == "plain" else noise
    try:
        trusted = wideflow.scene_flow(a0, b0, a1, b1, tiny.rig).confidence
    except wideflow.WideflowError as error:
        trusted = np.zeros(1) if "nothing in common" in str(error) else np.ones(1)
    assert np.median(trusted) < 0.2


def test_bad_arguments_are_one_sentence(
    scene: HandheldScene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = str(scene.path / "rig.json")
    (tmp_path / "file").write_text("")
    one = scene.rig.frames[0]
    write_rig(tmp_path / "late.json", Rig(scene.rig.cameras, (replace(one, index=7), replace(one, index=8))))
    for arguments, said in (
        ([*paths(scene), "--rig", rig, "-o", str(tmp_path / "file")], "it is a file"),
        ([*paths(scene)[:3], str(tmp_path / "no.png"), "--rig", rig, "-o", str(tmp_path / "o")], "no.png"),
        ([*paths(scene), "--rig", str(tmp_path / "late.json"), "-o", str(tmp_path / "o")], "no frame 0"),
        ([*paths(scene), "--rig", str(tmp_path / "no.json"), "-o", str(tmp_path / "o")], "no.json"),
        ([*paths(scene), "--rig", rig, "--proposals", str(tmp_path), "-o", str(tmp_path / "o")], "holds no"),
    ):
        assert main(["frames", *arguments]) == 2
        message = capsys.readouterr().err
        assert said in message
        assert "Traceback" not in message
    assert not (tmp_path / "o").exists()


def test_a_full_disk_keeps_the_older_result(
    tiny: HandheldScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = compute_step(tuple(four(tiny)), (tiny.rig.frame(0), tiny.rig.frame(1)))
    outputs.write_step(tmp_path, step)
    before = Result(tmp_path).depth(1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wideflow.storage.disk.Disk.sync", full)
    with pytest.raises(wideflow.WideflowError, match="the disk is full"):
        outputs.write_step(tmp_path, step)
    assert np.array_equal(Result(tmp_path).depth(1), before, equal_nan=True)
    assert [path.name for path in tmp_path.glob(".*")] == [".lock"]


def test_a_result_gives_its_arrays_on_demand(scene: HandheldScene, result: Path) -> None:
    found = Result(result)
    assert (len(found), found.size_a, found.size_b) == (2, A, B)
    points, depth = found.points(1), found.depth(1)
    known = np.isfinite(depth)
    view = found.rig.frame(1).views[0]
    assert np.allclose((points @ view.R.T + view.t)[known][:, 2], depth[known], rtol=1e-4)
    assert found.picture_b(0).shape == (160, 240, 3)
    assert found.picture_b(0).dtype == np.uint8
    with pytest.raises(wideflow.WideflowError, match="has 1 steps, numbered from 0; there is no 1"):
        found.motion(1)
    with pytest.raises(wideflow.WideflowError, match="holds no result"):
        Result(scene.path)
