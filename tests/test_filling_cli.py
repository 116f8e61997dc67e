"""`wideflow evaluate filling` and `wideflow match --fill`."""

import csv
from pathlib import Path

import cv2
import numpy as np
import pytest

import wideflow
from matching_scenes import texture
from shared_data import shared
from wideflow.cli import main
from wideflow.files import write_image


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_scene(folder: Path) -> None:
    """Two surfaces of different colour and flow; a band beside their border is occluded."""
    for name in ("clean", "final", "gt/occlusions", "gt/invalid"):
        (folder / name).mkdir(parents=True)
    picture, left = 0.05 * texture(40, 60, 1), np.arange(60)[None, :, None] < 30
    picture = (picture + np.where(left, np.float32([0.8, 0.2, 0.1]), np.float32([0.1, 0.3, 0.7]))).astype(
        np.float32
    )
    flow = np.where(left, np.float32([6, 0]), np.float32([-4, 2])).repeat(40, axis=0)
    occluded = np.zeros((40, 60), bool)
    occluded[5:35, 24:40] = True
    for name in ("clean", "final"):
        write_image(folder / name / "frame_0002.png", picture)
    wideflow.write_flow(folder / "gt/frame_0002.flo", flow)
    write_image(folder / "gt/occlusions/frame_0002.png", occluded)
    write_image(folder / "gt/invalid/frame_0002.png", np.zeros((40, 60), bool))


def test_the_experiment_writes_tables_and_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    write_scene(Path("sintel/toy"))
    assert main(["evaluate", "filling", "sintel", "-o", "out"]) == 0
    with open("out/table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["scene"], row["render"], row["frame"]) for row in rows] == [
        ("toy", "clean", "2"),
        ("toy", "final", "2"),
    ]
    for row in rows:
        assert float(row["laplacian_px"]) < 0.5 * float(row["diffusion_px"])
        assert float(row["occluded_percent"]) == pytest.approx(20)
        assert float(row["ratio"]) == pytest.approx(float(row["laplacian_px"]) / float(row["diffusion_px"]))
    assert Path("out/table.md").read_text().startswith("| scene | render | frame |")
    assert "</svg>" in Path("out/figure.svg").read_text()
    assert cv2.imread("out/toy_final_0002.png").shape == (80, 180, 3)
    assert "| toy | clean | 2 |" in capsys.readouterr().out
    assert main(["evaluate", "filling", "sintel/toy", "-o", "out", "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_sintel_reaches_what_was_asked() -> None:
    assert main(["evaluate", "filling", str(shared("sintel")), "-o", "out", "-q"]) == 0
    with open("out/table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = [row for row in rows if row["scene"] != "mean"]
    assert len(rows) == 4
    limits = {("easy", "clean"): 0.40, ("easy", "final"): 0.52, ("medium", "clean"): 0.48}
    for row in rows:
        assert float(row["ratio"]) < limits.get((row["scene"], row["render"]), 0.60)
        assert float(row["laplacian_degrees"]) < float(row["diffusion_degrees"])


def test_match_fills_what_leaves_the_frame(capsys: pytest.CaptureFixture[str]) -> None:
    wide = texture(80, 130, 3)
    write_image("a.png", wide[:, :100])
    write_image("b.png", wide[:, 12:112])
    words = "match a.png b.png -o flow.flo --kind optical --fill --mask mask.png"
    assert main(words.split()) == 0
    assert "occluded and filled" in capsys.readouterr().out
    flow = wideflow.read_flow("flow.flo")
    mask = cv2.imread("mask.png", cv2.IMREAD_UNCHANGED) > 0
    assert mask[:, :11].mean() > 0.9
    error = np.linalg.norm(flow - np.float32([-12, 0]), axis=2)
    assert np.isfinite(error).all()
    assert np.median(error[:, :11]) < 1


def test_match_fills_by_the_method_that_is_set() -> None:
    wide = texture(80, 130, 3)
    write_image("a.png", wide[:, :100])
    stretched = cv2.resize(wide[:, 12:112], (112, 80))  # so that the flow is not constant
    write_image("b.png", stretched[:, :100])
    words = ["match", "a.png", "b.png", "--kind", "optical", "--fill", "-q", "-o"]
    assert main([*words, "colour.flo"]) == 0
    assert main([*words, "diffusion.flo", "--set", "fill.method='diffusion'"]) == 0
    assert not np.array_equal(wideflow.read_flow("colour.flo"), wideflow.read_flow("diffusion.flo"))


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("evaluate filing sintel -o out", "there is no experiment 'filing'"),
        ("evaluate filling none -o out", "'none' is not a folder"),
        ("evaluate filling empty -o out", "no scene with a folder gt"),
        ("evaluate filling broken -o out", "frame_0002.png' does not exist"),
        ("evaluate filling other -o out", "another size"),
        ("evaluate filling sintel -o file", "cannot create the folder 'file'"),
        ("evaluate filling sintel", "missing option '--out'"),
        ("evaluate filling sintel -o out --set fill.lambda=1", "no setting fill.lambda"),
    ],
)
def test_a_mistake_is_one_sentence(command: str, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("sintel", "broken", "other"):
        write_scene(Path(name) / "toy")
    Path("empty").mkdir()
    Path("broken/toy/gt/occlusions/frame_0002.png").unlink()
    write_image("other/toy/clean/frame_0002.png", np.zeros((40, 61, 3), np.uint8))
    Path("file").write_text("")
    assert main([*command.split(), "-q"]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert error.count("\n") == 1
