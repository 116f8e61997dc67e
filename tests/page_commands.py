"""The code blocks of README and docs, and a way to run their commands for real in seconds.

Commands are run as they stand, in order, in one folder. What takes long gets options behind its own that make
it shorter: fewer frames, smaller pictures, known cameras. The last of an option's values counts. A look
at the two videos, or their calibration, that several pages ask for is run for the first of them only.
"""

import re
import shlex
import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from wideflow.cli import main
from wideflow.demo import CLIPS
from wideflow.report.server import ViewServer

ROOT = Path(__file__).parents[1]
_FEW = ["--frames", "16:18"]
_OFFSET = ["--offset", str(float(np.load(CLIPS / "truth.npz")["offset"]))]
_ONCE = ("check", "calibrate")
_written: dict[str, dict[str, bytes]] = {}  # what lines of these commands have written, by name
_SHORTER = {
    "synth": ["--size", "96x54", "--frames", "2"],
    "calibrate": [*_OFFSET, "--frames", "16:28", "--set", "calibrate.dense_moments=2"],
    "run": [*_OFFSET, *_FEW, "--size", "120", "--rig", str(CLIPS / "rig.json"), "--preset", "fast"],
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of the code blocks of a page, in its order."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^ *```([^\n]*)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)


def command_lines(page: Path) -> list[str]:
    lines = [line for language, text in blocks(page) if language == "sh" for line in text.splitlines()]
    return [line for line in lines if shlex.split(line, comments=True)]


def prepare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy the two videos that the pages speak of; what is viewed is closed at once."""

    def interrupted(_: ViewServer) -> None:
        raise KeyboardInterrupt

    copy_clips(folder)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    monkeypatch.setattr(ViewServer, "serve_forever", interrupted)


def copy_clips(folder: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        shutil.copy(CLIPS / name, folder)


def run_line(line: str) -> None:
    """Run a line of a page, or check that what it names is there; fail if it does not work."""
    words = shlex.split(line, comments=True)
    if words[0] == "wideflow":
        if line in _written:
            for name, content in _written[line].items():
                Path(name).write_bytes(content)
            return
        before = set(Path().iterdir())
        assert main([*words[1:], *_shorter(words[1:]), "-q"]) == 0, line
        if words[1] in _ONCE:
            new = [path for path in set(Path().iterdir()) - before if path.is_file()]
            _written[line] = {path.name: path.read_bytes() for path in new}
    elif words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), line
    elif words[:2] == ["python", "-m"]:
        assert find_spec(words[2]), line
    elif words[:2] == ["pip", "install"]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert set(re.findall(r"\w+", words[2])) <= set(extras), line
    else:
        assert words[:2] == ["git", "clone"], line


def _shorter(words: list[str]) -> list[str]:
    if "--suite" in words:
        return []
    shorter = list(_SHORTER.get(words[0], []))
    if "--video" in words:
        shorter += ["--frames", "34"]  # synchronisation needs a second
    if "--workers" in words:
        shorter += ["--workers", "2"]
    return shorter
