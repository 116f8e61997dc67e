"""The command line: exit codes, sentences, options and progress."""

import errno
import io
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from wideflow import __version__
from wideflow.cli import main
from wideflow.cli.options import ConfigFile, Preset, Settings, parse_size
from wideflow.config import load_config
from wideflow.errors import FileError, InputError
from wideflow.progress import show_progress
from wideflow.synth import SynthConfig


def run_program(option: str, output: Any) -> subprocess.CompletedProcess[str]:
    """Run it as a process of its own, as the shell does, with its output buffered."""
    program = [sys.executable, "-c", "import sys; from wideflow.cli import main; sys.exit(main())", option]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(program, stdout=output, stderr=subprocess.PIPE, text=True, check=False, env=env)


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, SynthConfig, int | None]]:
    """What would have been rendered."""
    calls: list[tuple[Path, SynthConfig, int | None]] = []

    def render(out: Path, config: SynthConfig, progress: Any, threads: int | None) -> None:
        progress(1, 1, "done")
        calls.append((out, config, threads))

    monkeypatch.setattr("wideflow.cli.synth.render", render)
    return calls


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"wideflow {__version__}\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    captured = capsys.readouterr()
    assert "demo" in captured.out
    assert "synth" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("synht out", ["no such command 'synht'", "synth", "'wideflow --help'"]),
        ("synth", ["missing argument 'OUT'", "'wideflow synth --help'"]),
        ("synth out --fraems 3", ["no such option", "--fraems", "--frames"]),
        ("synth out --angle wide", ["invalid value for '--angle'"]),
        ("synth out --threads 0", ["invalid value for '--threads'"]),
        ("synth out more", ["unexpected extra argument", "more"]),
        ("synth out --angle", ["option '--angle' requires an argument"]),
        ("synth out --angle 120", ["angle", "between 0 and 90", "120"]),
        ("synth out --photometric loud", ["photometric", "off, on or strong", "loud"]),
        ("synth out --size 960", ["--size 960 is not a picture size", "960x540"]),
        ("synth out --size-b 96x0", ["size", "96"]),
        ("demo extra", ["unexpected extra argument", "extra"]),
    ],
)
def test_a_wrong_command_is_one_sentence_and_exit_code_2(
    command: str, parts: list[str], rendered: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("wideflow: ")
    assert captured.err.count("\n") == 1
    for part in parts:
        assert part in captured.err
    assert not rendered


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (FileError("'a\nb' is empty"), 2, "wideflow: 'a b' is empty\n"),
        (
            MemoryError(),
            2,
            "wideflow: there is not enough memory; use smaller pictures or close other programs\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "x.npz"),
            2,
            "wideflow: 'x.npz': the disk is full; free some space or choose another place\n",
        ),
        (PermissionError(errno.EACCES, "Permission denied"), 2, "wideflow: permission denied\n"),
        (KeyboardInterrupt(), 130, "wideflow: interrupted\n"),
        (BrokenPipeError(), 1, ""),
    ],
)
def test_what_goes_wrong_outside_is_one_sentence(
    error: BaseException,
    code: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def render(*_: Any) -> None:
        raise error

    monkeypatch.setattr("wideflow.cli.synth.render", render)
    assert main(["synth", "out", "--quiet"]) == code
    assert capsys.readouterr().err == sentence


@pytest.mark.parametrize("megabytes", [300, 500, 700, 1100, 1900])
def test_little_address_space_is_one_sentence(megabytes: int, tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="needs limits of processes")
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes * 10**6},) * 2)\n"
        "import sys; from wideflow.cli import main; sys.exit(main(['run', 'a.mp4', 'b.mp4', '-o', 'out']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert f"only {megabytes / 1000:.1f} GB of address space are allowed here" in ended.stderr


@pytest.mark.parametrize(
    "error",
    [
        ImportError("libx.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        MemoryError(),
    ],
)
def test_libraries_without_memory_are_one_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("wideflow.cli.app._run", fail)
    assert main(["view", "x"]) == 2
    assert "there is not enough memory" in capsys.readouterr().err


def test_a_mistake_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wideflow.cli.synth.render", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["synth", "out", "--quiet"])


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_reader_that_has_seen_enough(option: str) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = run_program(option, write)
    finally:
        os.close(write)
    assert done.returncode == 1
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_output_to_a_full_disk(option: str) -> None:
    with open("/dev/full", "w") as full:
        done = run_program(option, full)
    assert done.returncode == 2
    assert done.stderr == "wideflow: the disk is full; free some space or choose another place\n"


def test_missing_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "embreex"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "embreex", None)
    assert main(["synth", str(tmp_path), "--size", "32x18", "--frames", "1", "--quiet"]) == 2
    assert "pip install 'wideflow[synth]'" in capsys.readouterr().err


def test_synth_defaults_are_those_of_the_renderer(rendered: list[Any]) -> None:
    assert main(["synth", "out", "--quiet"]) == 0
    assert rendered == [(Path("out"), SynthConfig(), None)]


def test_every_field_of_the_renderer_has_an_option(rendered: list[Any]) -> None:
    config = SynthConfig(
        angle=33, frames=7, fps=25, size=(640, 360), size_b=(320, 240), seed=5, speed=0.5,
        photometric="strong", offset=-0.43, rolling_shutter=0.02, motion_blur=0.4, weak=0.2, overexpose=0.1,
        distortion=(-0.05, 0.01), video=True, flows=True, movers=0.3, path="walk", place="hall",
        zoom=(1.2, 1.1), fps_b=24.0, sound=False, tremor=0.5, stops=(0.2, -1.0),
        tag=0.2, exposure_drift=1.5, lamp_flicker=0.3,
    )  # fmt: skip
    words = ["synth", "out", "--threads", "1"]
    for field in fields(SynthConfig):
        if field.name in ("samples", "truth_frames"):
            continue  # for benchmarks of many small clips, from Python only
        value = getattr(config, field.name)
        assert value != field.default, f"the test must change {field.name}"
        text = {
            "size": ["640x360"],
            "size_b": ["320x240"],
            "distortion": ["-0.05", "0.01"],
            "video": [],
            "flows": [],
            "zoom": ["1.2", "1.1"],
            "stops": ["0.2", "-1.0"],
            "sound": [],
        }.get(field.name, [str(value)])
        option = "no-sound" if field.name == "sound" else field.name.replace("_", "-")
        words += [f"--{option}", *text]
    assert main(words) == 0
    assert rendered == [(Path("out"), config, 1)]


def test_quiet_says_nothing(rendered: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synth", "out", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["synth", "out"]) == 0
    captured = capsys.readouterr()
    assert "gt0_" in captured.out  # where the result is, and what it is
    assert "100 %  done" in captured.err


def test_sizes() -> None:
    assert parse_size("--size", "960x540") == (960, 540)
    assert parse_size("--size", " 960 X 540 ") == (960, 540)
    for wrong in ("960", "960x", "x540", "960x540x3", "-960x540", "9.5x10", "960x5٤0", "", "9" * 5000 + "x1"):
        with pytest.raises(InputError, match="is not a picture size"):
            parse_size("--size", wrong)


def test_shared_options_reach_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("[match]\ncoarsest = 64\n")
    app = typer.Typer()

    @app.command()
    def command(
        config: ConfigFile = None, set_: Settings = None, preset: Preset = "default",
        other: Annotated[bool, typer.Option("--other")] = False,
    ) -> None:  # fmt: skip
        print(load_config(config, set_ or (), preset) == load_config(settings=expected), other)

    expected = ["match.coarsest=64", "match.particles=5", "match.seed=9"]
    words = ["--config", str(tmp_path / "my.toml"), "--set", "match.particles=5", "--set", "match.seed=9"]
    assert CliRunner().invoke(app, [*words, "--other"]).stdout == "True True\n"


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_a_line_every_tenth_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress() as progress:
        for done in range(1001):
            progress(done, 1000, f"step {done}")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{10 * k:3d} %  step {100 * k}" for k in range(11)]


def test_progress_of_nothing_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress() as progress:
        progress(0, 0, "nothing to do")
    assert "nothing to do" in capsys.readouterr().err


def test_progress_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    with show_progress() as progress:
        progress(1, 2, "half of [all]")
        progress(2, 2, "done")
    text = screen.getvalue()
    assert "━" in text
    assert "100%" in text
    assert "\x1b[" in text


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_plain_on_a_dumb_terminal_and_silent_if_quiet(
    quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    with show_progress(quiet) as progress:
        progress(1, 1, "done")
    assert screen.getvalue() == ("" if quiet else "100 %  done\n")
