"""What the README, the examples and the help texts tell people to do works."""

import re
import runpy
import shlex
from pathlib import Path

import cv2
import pytest
import typer

from matching_scenes import rendered, two_views
from page_commands import ROOT, blocks, command_lines, prepare, run_line
from result_scenes import perfect_result
from wideflow.cli import app, demo, main, match
from wideflow.files import read_ply, read_rig, write_image

README = ROOT / "README.md"
SMALL = ["--size", "96x54", "--frames", "2", "--quiet"]


@pytest.mark.xdist_group("pages")  # which share what they have computed
def test_commands_and_python_of_the_readme_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, monkeypatch)
    run = set()
    for language, text in blocks(README):
        if language == "python":
            exec(compile(text, "README.md", "exec"), {})
        for line in text.splitlines() if language == "sh" else ():
            if line != demo.EXAMPLE:  # has a test of its own
                run_line(line)
            run.add(line.split()[1])
    assert set(app.COMMANDS) - run == {"evaluate"}  # of which the docs tell
    assert "| visible |" in capsys.readouterr().out
    assert cv2.readOpticalFlow("stereo.flo").shape == (54, 96, 2)
    assert cv2.readOpticalFlow("optical.flo").shape == (54, 96, 2)
    assert Path("step/result.zarr").is_dir()
    assert cv2.imread("occluded.png").shape == (54, 96, 3)
    assert len(read_ply("clouds/points.0000.ply").xyz) > 1000
    assert len(read_rig("rig.json").frames) == 12
    for video in ("phones/a.mp4", "phones/b.mp4"):
        assert Path(video).stat().st_size > 1000


def parse(words: list[str]) -> None:
    """Fail if the command does not know the words."""
    command = typer.main.get_command(app.app).commands[words[0]]
    command.make_context(words[0], words[1:])


def test_the_two_commands_come_first_and_exist() -> None:
    first = [line.split("#")[0].strip() for line in command_lines(README)[:2]]
    assert first == ["make demo", "make test"]


def test_links_and_pictures_exist() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert len(targets) >= 4
    for target in targets:
        assert (ROOT / target).is_file(), target
    assert (ROOT / "docs/images/synth.jpg").stat().st_size < 200_000
    assert (ROOT / "docs/images/demo.webp").stat().st_size < 2_000_000


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"Example: {app.COMMANDS[name].EXAMPLE}" in text
    assert app.COMMANDS[name].EXAMPLE.startswith(f"wideflow {name}")


@pytest.mark.parametrize("name", app.COMMANDS)
def test_the_example_of_each_command_is_accepted(name: str) -> None:
    parse(shlex.split(app.COMMANDS[name].EXAMPLE)[1:])


def test_the_example_of_match_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["synth", "scene", *SMALL]) == 0
    assert main(match.EXAMPLE.split()[1:]) == 0
    assert cv2.readOpticalFlow("stereo.flo").shape == (54, 96, 2)


def test_examples_run(tmp_path: Path) -> None:
    example = runpy.run_path(str(ROOT / "examples/00_render_ground_truth.py"))
    picture = example["ground_truth_picture"](tmp_path, (96, 54))
    assert cv2.imread(str(picture)).shape == (360, 960, 3)
    example = runpy.run_path(str(ROOT / "examples/01_match_two_pictures.py"))
    views = two_views()
    for number, view in enumerate(views):
        write_image(tmp_path / f"{number}.png", rendered(view)[0])
    example["match_picture"](tmp_path / "0.png", tmp_path / "1.png", tmp_path / "match.jpg")
    assert cv2.imread(str(tmp_path / "match.jpg")).shape == (480, 960, 3)
    example = runpy.run_path(str(ROOT / "examples/02_scene_flow_of_four_pictures.py"))
    assert example["moving_points"](tmp_path / "points.ply", (160, 90)) < 0.02
    assert read_ply(tmp_path / "points.ply").velocity is not None
    perfect_result(tmp_path / "perfect")
    example = runpy.run_path(str(ROOT / "examples/04_read_and_export.py"))
    means = example["take_out"](tmp_path / "perfect" / "out", tmp_path / "taken")
    assert list(means) == ["moment 0", "moment 1", "moment 2"]
    assert (tmp_path / "taken" / "colmap" / "images").is_dir()
