"""``wideflow match``: files in, files out, and one sentence for every mistake."""

from pathlib import Path

import cv2
import numpy as np
import pytest

import wideflow
from matching_scenes import end_point_error, rendered, stereo_truth, texture, two_views, warped_pair
from wideflow.cli import main
from wideflow.files import read_image, write_image
from wideflow.geometry import pixel_grid, project, unproject
from wideflow.types import Camera, Rig, RigFrame, View

SIZES = ((80, 60), (72, 64))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of a stereo pair (frame 3 of its rig), of a motion, and some that are no use."""
    out = tmp_path_factory.mktemp("pictures")
    views = two_views(SIZES)
    for name, view in zip("ab", views, strict=True):
        write_image(out / f"{name}.png", rendered(view)[0])
    away = View(views[1].camera, np.column_stack([np.eye(3), (0, 0, 5)]))
    frames = (RigFrame(2, (0.0, 0.0), (views[0], away)), RigFrame(3, (0.1, 0.1), views))
    wideflow.write_rig(out / "rig.json", Rig((views[0].camera, views[1].camera), frames))
    first, second, _ = warped_pair(lambda grid: np.full_like(grid, (3, -2)), (80, 60))
    write_image(out / "before.png", first)
    write_image(out / "after.png", second)
    write_image(out / "other.png", texture(60, 80, 9))
    write_image(out / "dot.png", np.zeros((1, 1), np.uint8))
    (out / "text.png").write_text("not a picture")
    return out


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_stereo_with_a_rig(capsys: pytest.CaptureFixture[str]) -> None:
    words = "match a.png b.png -o stereo.flo --rig rig.json --frame 3 --mask hidden.png"
    assert main(words.split()) == 0
    views = two_views(SIZES)
    truth, seen = stereo_truth(views, tuple(rendered(view)[1] for view in views))
    flow = wideflow.read_flow("stereo.flo")
    assert np.mean(end_point_error(flow, truth)[seen] > 3) < 0.03
    mask = cv2.imread("hidden.png", cv2.IMREAD_UNCHANGED)
    assert mask.dtype == np.uint8
    assert mask.shape == seen.shape
    assert set(np.unique(mask)) == {0, 255}
    assert (mask[seen] == 0).mean() > 0.95
    assert (mask[~seen] == 255).mean() > 0.6
    captured = capsys.readouterr()
    assert captured.out == f"stereo.flo: flow of 80x60 pixels, {(mask > 0).mean():.0%} of them occluded\n"
    assert "the first run compiles" in captured.err
    assert "100 %  matched" in captured.err
    again = wideflow.match(read_image("a.png"), read_image("b.png"), views=views)
    assert np.array_equal(flow, again.forward.uv)


def test_optical_flow_as_kitti_png_and_silence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "before.png", "after.png", "-o", "flow.png", "--kind", "optical", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert np.median(wideflow.read_flow("flow.png"), axis=(0, 1)) == pytest.approx((3, -2), abs=0.2)


def test_settings_and_seed_reach_the_match() -> None:
    Path("my.toml").write_text("[match]\nseed = 5\nparticles = 2\n")
    pictures = ["match", "before.png", "after.png", "--kind", "optical", "--quiet"]

    def flow(*words: str) -> bytes:
        assert main([*pictures, "-o", "set.flo", *words]) == 0
        return Path("set.flo").read_bytes()

    usual = flow()
    assert flow("--seed", "0") == usual
    assert flow("--seed", "1") != usual
    assert flow("--config", "my.toml") == flow("--set", "match.particles=2", "--seed", "5")
    assert flow("--preset", "paper") != usual


def test_grey_alpha_and_16_bits() -> None:
    grey = cv2.imread("before.png", cv2.IMREAD_GRAYSCALE)
    cv2.imwrite("deep.png", grey.astype(np.uint16) * 257)
    cv2.imwrite("clear.png", np.dstack([grey, grey, grey, 255 - grey]))
    for name in ("deep.png", "clear.png"):
        assert main(f"match {name} {name} -o same.flo --kind optical -q".split()) == 0
        assert np.abs(wideflow.read_flow("same.flo")).max() < 0.05


def test_a_rig_with_distortion_is_undistorted_first(capsys: pytest.CaptureFixture[str]) -> None:
    """The pictures bent by a lens give nearly the flow of the straight ones."""
    views = two_views(SIZES)
    bent = []
    for name, view, k1 in zip("ab", views, (-0.2, 0.15), strict=True):
        camera = Camera(f"lens {name}", *view.camera.size, view.camera.K, np.array([k1, 0, 0, 0]))
        rays = unproject(camera, pixel_grid(*camera.size))
        there = project(view.camera, rays).astype(np.float32)
        picture = cv2.remap(rendered(view)[0], there[..., 0], there[..., 1], cv2.INTER_CUBIC)
        write_image(f"bent_{name}.png", picture)
        bent.append(View(camera, view.cam_from_world))
    wideflow.write_rig(
        "bent.json", Rig((bent[0].camera, bent[1].camera), (RigFrame(0, (0.0, 0.0), (bent[0], bent[1])),))
    )
    words = "match bent_a.png bent_b.png -o bent.flo --rig bent.json --mask bent_mask.png"
    assert main(words.split()) == 0
    assert "undistorting both pictures first" in capsys.readouterr().out
    flow = wideflow.read_flow("bent.flo")
    truth, seen = stereo_truth(views, tuple(rendered(view)[1] for view in views))
    middle = np.zeros_like(seen)
    middle[10:-10, 10:-10] = True
    error = end_point_error(flow, truth)[seen & middle]
    assert np.median(error) < 0.5
    assert np.mean(~(error < 3)) < 0.05
    unknown = np.isnan(flow[..., 0])
    mask = cv2.imread("bent_mask.png", cv2.IMREAD_UNCHANGED)
    assert (mask[unknown] == 255).all()
    assert main(["match", "a.png", "a.png", "-o", "bent.flo", "--rig", "bent.json", "-q"]) == 2
    assert "its calibration is for 72x64" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("match a.png none.png -o x.flo", ["'none.png' does not exist"]),
        ("match a.png text.png -o x.flo", ["'text.png' is not a PNG"]),
        ("match a.png other.png -o x.flo", ["agree on where the cameras stood", "--rig", "--kind optical"]),
        ("match dot.png dot.png -o x.flo --kind optical", ["1x1", "at least 8 pixels"]),
        ("match dot.png dot.png -o x.flo", ["1x1", "at least 8 pixels"]),
        ("match a.png b.png -o none/x.flo", ["'none/x.flo'", "directory does not exist"]),
        ("match a.png b.png -o x.jpg", ["'x.jpg'", ".flo or .png", "rename"]),
        ("match a.png b.png -o x", ["'x'", ".flo or .png"]),
        ("match a.png b.png -o x.flo --mask x.jpg", ["'x.jpg'", "a mask goes into .png"]),
        ("match a.png b.png -o x.flo --mask none/x.png", ["'none/x.png'", "directory does not exist"]),
        ("match a.png b.png -o x.png --mask x.png", ["both", "'x.png'"]),
        ("match a.png b.png -o x.flo --kind depth", ["--kind depth", "stereo nor optical"]),
        ("match a.png b.png -o x.flo --kind optical --rig rig.json", ["optical flow needs no cameras"]),
        ("match a.png b.png -o x.flo --frame 1", ["--frame 1", "--rig"]),
        ("match a.png b.png -o x.flo --rig rig.json --frame 7", ["no frame 7", "2 to 3"]),
        ("match a.png b.png -o x.flo --rig rig.json", ["no frame 0", "2 to 3"]),
        ("match a.png b.png -o x.flo --rig none.json", ["'none.json' does not exist"]),
        ("match b.png a.png -o x.flo --rig rig.json --frame 3", ["is 72x64", "calibration is for 80x60"]),
        ("match a.png b.png", ["missing option '--out'"]),
        ("match a.png -o x.flo", ["missing argument 'IMG2'"]),
        ("match a.png b.png -o x.flo --seed -1", ["--seed"]),
        ("match a.png b.png -o x.flo --preset papr", ["no preset 'papr'", "paper"]),
        ("match a.png b.png -o x.flo --set match.partcles=2", ["match.partcles", "match.particles"]),
    ],
)
def test_a_mistake_is_one_sentence(
    command: str, parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--quiet"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("wideflow: ")
    assert captured.err.count("\n") == 1
    for part in parts:
        assert part in captured.err
    assert not Path("x.flo").exists()


@pytest.mark.parametrize("out", ["none/x.flo", "x.jpg", "folder.flo"])
def test_where_nothing_can_be_written_nothing_is_computed(
    out: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder.flo").mkdir(exist_ok=True)
    called: list[object] = []
    monkeypatch.setattr("wideflow.matching.match", lambda *words, **_: called.append(words))
    assert main(["match", "a.png", "b.png", "-o", out]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert not called
