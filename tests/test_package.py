"""The package itself: what it offers, and what importing it costs."""

import subprocess
import sys

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
