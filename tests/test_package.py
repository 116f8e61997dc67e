"""The package itself: what it offers, and what importing it costs."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

import wideflow

HEAVY = {"numpy", "cv2", "numba", "scipy", "av", "trimesh", "embreex"}


def loaded_after(code: str) -> set[str]:
    """Heavy packages that a fresh Python has loaded after running ``code``."""
    report = f"{code}\nimport sys; print('loaded:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stdout.rpartition("loaded:")[2].split())


@pytest.mark.parametrize("module", ["wideflow", "wideflow.config", "wideflow.cli", "wideflow.progress"])
def test_light_modules_load_nothing_heavy(module: str) -> None:
    assert loaded_after(f"import {module}") == set()


def test_help_loads_nothing_heavy_but_its_own_colours() -> None:
    assert loaded_after("from wideflow.cli import main; main(['--help']); main(['synth', '--help'])") <= {
        "rich"
    }


def test_the_check_above_can_fail() -> None:
    assert "numpy" in loaded_after("from wideflow import Camera")


def imported_from_elsewhere(code: str) -> set[str]:
    """Top packages that a module imports, anywhere in it, beside its own and Python's."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names} - {"wideflow", *sys.stdlib_module_names}


def test_what_is_imported_is_declared() -> None:
    home = Path(wideflow.__file__).parent
    project = tomllib.loads((home.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = chain.from_iterable(
        needs for extra, needs in project["optional-dependencies"].items() if extra not in ("dev", "docs")
    )
    declared = {_plain(need) for need in (*project["dependencies"], *extras)}
    brings = packages_distributions()
    for path in home.rglob("*.py"):
        for name in imported_from_elsewhere(path.read_text(encoding="utf-8")):
            assert declared & {_plain(each) for each in brings.get(name, [name])}, f"{name} in {path}"


def _plain(requirement: str) -> str:
    """The name of a distribution as all of them can be compared."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", requirement)[0]).lower()


def test_an_import_within_a_function_counts() -> None:
    assert imported_from_elsewhere("def f():\n    from numcodecs import blosc\nimport os.path") == {
        "numcodecs"
    }


def test_all_names_are_there() -> None:
    for name in wideflow.__all__:
        assert getattr(wideflow, name).__name__ == name
        assert name in dir(wideflow)
    assert wideflow.Camera is wideflow.types.Camera
    namespace: dict[str, object] = {}
    exec("from wideflow import *", namespace)
    assert set(wideflow.__all__) <= set(namespace)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="module 'wideflow' has no attribute 'Camra'"):
        _ = wideflow.Camra
    with pytest.raises(ImportError, match="cannot import name 'Camra'"):
        exec("from wideflow import Camra")
