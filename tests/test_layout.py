"""Imports go one way: uses over the job, the job over the stages, and no stage knows another."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    """The contracts of this project over the package in a folder."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package's modules, to be spoiled."""
    shutil.copytree(
        ROOT / "src" / "wideflow",
        tmp_path / "wideflow",
        ignore=shutil.ignore_patterns("clips", "page", "__pycache__"),
    )
    return tmp_path


def test_the_package_keeps_its_layers(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "said"),
    [
        ("filling/occlusion.py", "from wideflow.matching import match", "filling is not allowed to import"),
        ("geometry/pose.py", "import wideflow.video.read", "geometry is not allowed to import"),
        ("pipeline/step/flows.py", "import wideflow.pipeline.tasks.plan", "step is not allowed to import"),
        ("synth/studio.py", "import wideflow.evaluate", "synth is not allowed to import wideflow.evaluate"),
    ],
)
def test_an_import_of_a_neighbour_or_upwards_is_found(copy: Path, module: str, line: str, said: str) -> None:
    path = copy / "wideflow" / module
    path.write_text(f"{path.read_text()}\n\ndef _later() -> None:\n    {line}\n")
    done = lint(copy)
    assert done.returncode == 1
    assert said in " ".join(done.stdout.split())


def test_a_new_room_must_have_its_place(copy: Path) -> None:
    (copy / "wideflow" / "attic.py").write_text("")
    done = lint(copy)
    assert done.returncode == 1
    assert "attic" in done.stdout
