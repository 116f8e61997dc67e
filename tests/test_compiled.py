"""The compiler's cache sees every edit, lives where it can, and arithmetic is exact."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import wideflow
from wideflow.matching import pmbp

PACKAGE = Path(wideflow.__file__).parent
CONSTANT = "STEP = {}\n"
HELPER = """
from wideflow.compiled import njit
from wideflow.constant import STEP

@njit(inline="always")
def helper(x):
    return {} * x + STEP
"""
KERNEL = """
import sys
from wideflow.compiled import njit
from wideflow.helper import helper

@njit()
def kernel(x):
    return helper(x)

print(kernel(1.0), sum(kernel.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of the same name with two functions in two files, and a constant in a third."""
    folder = tmp_path / "wideflow"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name in ("compiled.py", "threads.py"):
        shutil.copy(PACKAGE / name, folder)
    (folder / "constant.py").write_text(CONSTANT.format(1))
    (folder / "helper.py").write_text(HELPER.format(10))
    (folder / "kernel.py").write_text(KERNEL)
    return folder


def run(package: Path, **environment: str) -> tuple[list[float], str]:
    """Answer of the kernel and cached functions used, and what was said."""
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-m", "wideflow.kernel"],
        cwd=package.parent,
        env={**clean, "PYTHONPATH": str(package.parent), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()], done.stderr


def test_an_edit_in_another_file_is_compiled(package: Path) -> None:
    assert run(package) == ([11, 0], "")
    assert run(package) == ([11, 1], "")  # kept
    (package / "helper.py").write_text(HELPER.format(20))
    assert run(package) == ([21, 0], "")
    (package / "constant.py").write_text(CONSTANT.format(2))
    assert run(package) == ([22, 0], "")


def test_without_a_folder_to_write_to_it_says_one_sentence(package: Path, tmp_path: Path) -> None:
    (package / "__pycache__").write_text("no folder")
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "temporary").mkdir()
    place = {"TMPDIR": str(tmp_path / "temporary")}
    answer, said = run(package, **nowhere, **place)
    assert answer == [11, 0]
    assert said.count("\n") == 1
    assert "compiled code is kept in" in said
    assert run(package, **nowhere, **place)[0] == [11, 1]
    (folder,) = (tmp_path / "temporary").iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    # what others can write is never run
    folder.chmod(0o777)
    answer, said = run(package, **nowhere, **place)
    assert answer == [11, 0]
    assert said.count("\n") == 1
    assert "cannot be kept" in said


def test_no_message_comes_from_beyond_the_picture() -> None:
    """A neighbour outside has NaN for its flow; what it says of any label is the truncation."""
    heard = np.full((4, 3, 3), np.nan, np.float32)
    heard[..., 2] = 0
    told = pmbp._message(heard, 0, np.float32(1), np.float32(2), np.float32(0.1), np.float32(0.5))
    assert told == np.float32(0.5)


def test_the_arithmetic_of_compiled_code_does_not_depend_on_what_it_is_compiled_with() -> None:
    found = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        if (
            re.search(r"@(njit|kernel|over_rows)\(", path.read_text(encoding="utf-8"))
            and path.name != "compiled.py"
        ):
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            for value in vars(importlib.import_module(name)).values():
                value = getattr(value, "loop", value)  # of one that is split over rows
                if isinstance(value, Dispatcher):
                    found += 1
                    assert not value.targetoptions.get("fastmath"), f"{name}.{value.__name__}"
    assert found > 50
